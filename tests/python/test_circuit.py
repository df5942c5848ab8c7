"""Computing on results of BGV: every operation against the field in the clear, and files of what was computed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache, partial, reduce
from pathlib import Path

import homaes
import numpy as np
import numpy.typing as npt
import pytest
from homaes.bgv import Circuit, Vector

from conftest import AES_KEY, BGV, CTR, TOYS, at_once, ctr, interrupted, refused, world_of

SET = TOYS["bgv"]
SLOTS = 16
SCAN = "bgv/toy-4369"
MESSAGE = bytes((7 * i * i + i // 16) % 256 for i in range(16 * SLOTS))
Clear = npt.NDArray[np.uint8]


def times(a: int, b: int) -> int:
    """The product in the field of AES (FIPS-197, 4.2)."""
    out = 0
    while b:
        out ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return out


def power(a: int, k: int) -> int:
    return reduce(times, [a] * k, 1)


def each(f: Callable[..., int], *columns: Clear | bytes) -> Clear:
    return np.array([f(*(int(x) for x in row)) for row in zip(*columns)], dtype=np.uint8)


def column(i: int, message: bytes = MESSAGE) -> Clear:
    return np.frombuffer(message, dtype=np.uint8).reshape(-1, 16)[:, i]


@lru_cache(None)
def results(message: bytes = MESSAGE, levels: int = 8, name: str = SET) -> homaes.Ciphertexts:
    keys = world_of(name).keys
    wrapped = keys.secret.wrap(AES_KEY, levels_left=levels)
    with homaes.Transcipher(keys.eval, wrapped) as transcipher:
        return transcipher.run(ctr(message), CTR)


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(world_of(SET).keys.eval)


def opened(vector: Vector, circuit: Circuit, folder: Path) -> Clear:
    """All slots."""
    path = folder / "one.hcv"
    homaes.save_values(path, {"v": vector}, circuit, force=True)
    found = world_of(SET).keys.secret.open_values(path)["v"]
    assert found.dtype == np.uint8 and len(found) == SLOTS
    return found


def test_sums_and_products(circuit: Circuit, tmp_path: Path) -> None:
    s = circuit.load(results())
    assert (s.layout, s.blocks, len(s), s.place(3, 5)) == ("sliced", 16, 16, (5, 3))
    assert [v.level for v in s] == [s.level] * 16
    a, b, v, w = column(0), column(1), s[0], s[1]
    public = bytes(range(100, 116))
    array = np.frombuffer(public, np.uint8)
    for vector, expected in [
        (v, a),
        (s[-1], column(15)),
        (v ^ w, a ^ b),
        (v ^ 0x1D, a ^ 0x1D),
        (0x1D ^ v, a ^ 0x1D),
        *((given, a ^ array) for given in (v ^ public, public ^ v, array ^ v)),
        (v ^ b"\x01", a ^ np.eye(1, 16, dtype=np.uint8)[0]),
        (v * w, each(times, a, b)),
        (v * 0x1D, each(lambda x: times(x, 0x1D), a)),
        (np.uint8(3) * v, each(lambda x: times(x, 3), a)),
        *((given, each(times, a, public)) for given in (public * v, v * array)),
        *((v.frobenius(k), each(lambda x, k=k: power(x, 2 ** (k % 8)), a)) for k in [3, 9, -1]),
        (circuit.combine([(v, 0x1D), (w, 2), (v, 1)]), each(lambda x, y: times(x, 0x1C) ^ times(y, 2), a, b)),
    ]:
        assert list(opened(vector, circuit, tmp_path)) == list(expected)
    product = v * w
    assert product.level < v.level and product.multiplications_left == product.level - 1
    assert 0 < product.capacity_bits < v.capacity_bits and product.failure_log2 <= -64


def test_comparisons_and_masks(circuit: Circuit, tmp_path: Path) -> None:
    s, a, slots = circuit.load(results()), column(4), np.arange(16)
    other = a.copy()
    other[5] ^= 1
    masks = [circuit.equals_public(s[i], column(i) ^ (slots == i)) for i in range(3)]
    block = MESSAGE[16 * 9 : 16 * 10]
    for vector, expected in [
        (circuit.equals_byte(s[4], int(a[3])), a == a[3]),
        (circuit.equals_public(s[4], other), a == other),
        (circuit.equals_public(s[4], a.tobytes()), a == a),
        (circuit.is_zero(s[4] ^ int(a[2])), a == a[2]),
        (circuit.is_nonzero(s[4] ^ int(a[2])), a != a[2]),
        (circuit.all(masks), slots > 2),
        (~circuit.all(iter(masks)), slots <= 2),
        (circuit.any(circuit.not_(m) for m in masks), slots <= 2),
        (circuit.equals_block(s, block), slots == 9),
        (circuit.equals_block(list(s), bytes(16)), slots < 0),
    ]:
        assert list(opened(vector, circuit, tmp_path)) == list(expected.astype(np.uint8))


def test_slots_move_and_are_summed(circuit: Circuit, tmp_path: Path) -> None:
    v, a = circuit.load(results())[0], column(0)
    assert [circuit.places(axis) for axis in ("e3", "e5", "e257")] == [2, 4, 1]
    assert circuit.slots == SLOTS
    back = circuit.rotate(circuit.rotate(v, "e5", 1), axis="e5", steps=-1)
    assert list(opened(back, circuit, tmp_path)) == list(a)
    moved = opened(circuit.rotate(v, "e5", 3), circuit, tmp_path)
    assert list(moved) != list(a) and sorted(moved) == sorted(a)
    total = opened(circuit.sum_slots(v, axes=("e3", "e5")), circuit, tmp_path)
    sums = {int(x) for x in total}
    # one sum for each of the two classes, which together are all slots
    assert len(sums) <= 2 and reduce(lambda x, y: x ^ y, sums) == np.bitwise_xor.reduce(a)
    once = circuit.equals_byte(v, int(a[0]))
    some = opened(circuit.any_slots(once, ["e3", "e5"]), circuit, tmp_path)
    assert some[0] == 1 and set(some) <= {0, 1}
    every = opened(circuit.all_slots(once, ["e5"]), circuit, tmp_path)
    assert not every.any()


@BGV
def test_many_batches(name: str, tmp_path: Path) -> None:
    keys = world_of(name).keys
    circuit = Circuit(keys.eval)
    message = bytes(i % 251 for i in range(16 * 40 - 3))
    ct = results(message, name=name)
    assert keys.secret.decrypt(ct) == message
    batches = list(ct)
    assert [(b.number, b.blocks) for b in batches] == [(0, 16), (1, 16), (2, 8)]
    assert all(b.layout == "sliced" and b.level == ct.level for b in batches)
    assert {b.multiplications_left for b in batches} == {ct.multiplications_left}
    assert min(b.capacity_bits for b in batches) == ct.capacity_bits
    assert max(b.noise_bits for b in batches) == ct.noise_bits
    assert "Batch 2 of 8 blocks" in repr(batches[2])
    with pytest.raises(homaes.ParametersError, match="another number of batches"):
        circuit.load(ct)
    found = [circuit.equals_byte(circuit.load(batch)[2], message[16 * 20 + 2]) for batch in ct]
    homaes.save_values(tmp_path / "v", {"found": found}, circuit)
    values = keys.secret.open_values(tmp_path / "v")["found"]
    clear = [message[16 * block + 2] == message[16 * 20 + 2] for block in range(39)]
    assert list(values[:39]) == clear and len(values) == 48


def test_the_packed_layout(tmp_path: Path) -> None:
    name = "bgv/toy-21845"
    keys = world_of(name).keys
    message = bytes(range(32))
    wrapped = keys.secret.wrap(AES_KEY, layouts=["packed"], levels_left=2)
    with homaes.Transcipher(keys.eval, wrapped) as transcipher:
        ct = transcipher.run(ctr(message), CTR)
    circuit = Circuit(keys.eval, threads=2)
    assert circuit.threads == 2 and "toy-21845, 2 threads" in repr(circuit)
    s = circuit.load(ct)
    assert (s.layout, len(s)) == ("packed", 1)
    homaes.save_values(tmp_path / "v", {"all": s.packed ^ 1}, circuit)
    slots = keys.secret.open_values(tmp_path / "v")["all"]
    for block in range(2):
        for byte in range(16):
            number, slot = s.place(block, byte)
            assert number == 0 and slots[slot] == message[16 * block + byte] ^ 1
    refused(
        (homaes.ParametersError, "packed", lambda: s[0]),
        (IndexError, "", lambda: s.place(0, 16)),
        (IndexError, "", lambda: s.place(10**6, 0)),
    )


def test_what_does_not_go_together(circuit: Circuit) -> None:
    second = Circuit(world_of(SET).keys.eval)
    v, tfhe = circuit.load(results())[0], world_of(TOYS["tfhe"])
    for keys in (homaes.keygen(SET, accept_insecure=True), world_of(SCAN).keys):
        wrong = Circuit(keys.eval)
        with pytest.raises(homaes.KeyMismatchError) as error:
            wrong.load(results())
        assert error.value.found and error.value.expected and error.value.remedy
        refused((homaes.KeyMismatchError, "vector", lambda: wrong.is_zero(v)))
    refused(
        (homaes.ParametersError, "another Circuit", lambda: v ^ second.load(results())[0]),
        (homaes.ParametersError, "another Circuit", lambda: second.is_zero(v)),
        (homaes.ParametersError, "expected one of BGV", lambda: Circuit(tfhe.keys.eval)),
        (homaes.KeyMismatchError, "", lambda: circuit.load(tfhe.run(bytes(16)))),
        (TypeError, "pickle", lambda: pickle.dumps(v)),
    )


def test_wrong_arguments(circuit: Circuit) -> None:
    s = circuit.load(results())
    v, w = s[0], s[1]
    one, encrypted = "at least one", "encrypted vector"
    refused(
        (IndexError, "below 16", lambda: s[16]),
        (IndexError, "below 16", lambda: s[-17]),
        (homaes.ParametersError, "sliced, expected packed", lambda: s.packed),
        (ValueError, "found 256, expected 0 to 255", lambda: v ^ 256),
        (ValueError, "found -1", lambda: v * -1),
        (TypeError, "unsupported", lambda: v ^ "x"),
        (TypeError, "unsupported", lambda: v * 1.5),
        (TypeError, r"does not add encrypted vectors.*v \^ w is their sum", lambda: v + v),
        (TypeError, r"v \^ w", lambda: sum([v, v])),
        (homaes.ParametersError, "17", lambda: v ^ bytes(17)),
        (ValueError, "256", lambda: circuit.equals_byte(v, 256)),
        (ValueError, "found 15 bytes", lambda: circuit.equals_block(s, bytes(15))),
        (homaes.ParametersError, "found 1", lambda: circuit.equals_block([v], bytes(16))),
        (homaes.ParametersError, one, lambda: circuit.all([])),
        (ValueError, "e3, e5 or e257", lambda: circuit.rotate(v, "e7", 1)),
        (TypeError, "str", lambda: circuit.sum_slots(v, "e3")),
        (TypeError, "expected a Vector", lambda: circuit.all([v, 3])),  # type: ignore[list-item]
        (TypeError, "int", lambda: circuit.load(5)),
        (ValueError, "1 to 1024", lambda: Circuit(world_of(SET).keys.eval, threads=0)),
        # Python does not look into vectors
        (TypeError, encrypted, lambda: v and w),
        (TypeError, encrypted, lambda: v == w),
        (TypeError, encrypted, lambda: v != 1),
        (TypeError, encrypted, lambda: v < w),
        (TypeError, encrypted, lambda: v in [w]),
    )


def test_levels_run_out(circuit: Circuit) -> None:
    v, *others = circuit.load(results(levels=2))
    with pytest.raises(homaes.NoiseError, match="levels_left") as error:
        circuit.equals_block([v, *others], bytes(16))
    assert (error.value.needed, error.value.left) == (7, 2)
    for factor in (others[0], bytes(range(16))):
        product = v
        with pytest.raises(homaes.NoiseError) as error:
            while True:
                product = product * factor
        assert error.value.remedy and str(error.value).endswith(f"; {error.value.remedy}")


BLOCK = """
keys = homaes.keygen(sys.argv[1], accept_insecure=True)
wrapped = keys.secret.wrap(bytes(16), levels_left=8)
c = homaes.bgv.Circuit(keys.eval, threads=1)
s = c.load(homaes.Transcipher(keys.eval, wrapped).run(bytes(16), modes.CTR(bytes(16))))
begun()
while True:
    c.equals_block(s, bytes(16))
"""
SEARCH = """
keys = homaes.keygen(sys.argv[1], accept_insecure=True)
wrapped = keys.secret.wrap(bytes(16), levels_left=8)
begun()
homaes.scan(bytes(100000), modes.CTR(bytes(16)), keys.eval, wrapped, {"a": b"abc"}, threads=1)
"""
# nothing works on behind it
AFTER = "time.sleep(0.5); ticks = os.times().user; time.sleep(1); sys.exit(os.times().user - ticks > 0.2)"


@pytest.mark.parametrize(("name", "work", "pause"), [(SET, BLOCK, 0.3), (SCAN, SEARCH, 2)])
def test_ctrl_c_ends_an_operation(name: str, work: str, pause: float) -> None:
    assert interrupted(work, name, after=AFTER, pause=pause, ends=4) == 0


def test_other_threads_of_python_run(circuit: Circuit) -> None:
    s = circuit.load(results())
    assert len(at_once(*(partial(circuit.is_zero, s[i]) for i in range(4)))) == 4


def test_values_come_back(circuit: Circuit, tmp_path: Path) -> None:
    world = world_of(SET)
    s = circuit.load(results())
    path = tmp_path / "x.hcv"
    homaes.save_values(path, {"é 1": s[3], "two": (s[i] for i in (5, 6)), "none": []}, circuit)
    for source in [path, str(path), path.read_bytes(), bytearray(path.read_bytes())]:
        found = world.keys.secret.open_values(source)
        assert list(found) == ["é 1", "two", "none"]
        assert list(found["é 1"]) == list(column(3))
        assert list(found["two"]) == [*column(5), *column(6)]
        assert found["none"].size == 0 and found["two"].dtype == np.uint8
        found["two"][0] = 1
    inspection = homaes.inspect(path)
    assert inspection.kind == "computed values (.hcv)" and inspection.set == SET
    assert inspection.details["values"] == [
        {"label": "é 1", "form": "bgv slots", "count": 16, "width": 8, "ciphertexts": 1},
        {"label": "two", "form": "bgv slots", "count": 32, "width": 8, "ciphertexts": 2},
        {"label": "none", "form": "bgv slots", "count": 0, "width": 8, "ciphertexts": 0},
    ]


def test_a_file_appears_whole_or_not_at_all(circuit: Circuit, tmp_path: Path) -> None:
    v, path, other = circuit.load(results())[0], tmp_path / "x.hcv", Circuit(world_of(SET).keys.eval)
    save = partial(homaes.save_values, path)
    with pytest.raises(homaes.ParametersError, match="1 to 256 bytes") as error:
        save({"good": v, "a\nb": v}, circuit)
    assert error.value.expected is not None and error.value.remedy
    assert list(tmp_path.iterdir()) == []
    save({"a": v}, circuit)
    before = path.read_bytes()
    refused(
        (FileExistsError, "x.hcv", lambda: save({"b": v}, circuit)),
        (homaes.ParametersError, "another Circuit", lambda: save({"b": v}, other, force=True)),
    )
    assert path.read_bytes() == before
    save({"b": v}, circuit, force=True)
    assert list(world_of(SET).keys.secret.open_values(path)) == ["b"]


def test_values_that_are_refused(circuit: Circuit, tmp_path: Path) -> None:
    secret, v, path = world_of(SET).keys.secret, circuit.load(results())[0], tmp_path / "x.hcv"
    homaes.save_values(path, {"a": v}, circuit)
    other = homaes.keygen(SET, accept_insecure=True).secret
    refused(
        (homaes.FileFormatError, "expected computed values", lambda: secret.open_values(results().to_bytes())),
        (homaes.KeyMismatchError, "", lambda: other.open_values(path)),
        (TypeError, "", lambda: homaes.save_values(path, {"a": 3}, circuit)),  # type: ignore[dict-item]
        (FileNotFoundError, "", lambda: homaes.save_values(tmp_path / "no" / "x.hcv", {"b": v}, circuit)),
    )


def test_finished_results_are_small_and_decrypt(circuit: Circuit, tmp_path: Path) -> None:
    large = results()
    small = large.finish(tmp_path / "small.hct")
    assert (small.level, small.multiplications_left) == (1, 0)
    assert 10 * len(small.to_bytes()) < len(large.to_bytes())
    assert world_of(SET).keys.secret.decrypt(small) == MESSAGE
    refused(
        (FileExistsError, "small.hct", lambda: large.finish(tmp_path / "small.hct")),
        (homaes.NoiseError, "for decryption alone", lambda: circuit.load(small)[0]),
        (ValueError, "have one form", lambda: world_of(TOYS["tfhe"]).run(bytes(16)).finish(tmp_path / "tfhe.hct")),
    )
