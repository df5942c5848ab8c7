"""Computing on results of BGV: every operation against the field in the clear."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from functools import lru_cache, partial, reduce
from pathlib import Path

import homaes
import numpy as np
import numpy.typing as npt
import pytest
from homaes.bgv import Circuit, Vector

from conftest import AES_KEY, CTR, TOYS, at_once, ctr, interrupted, refused, world_of

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

    def check(vector: Vector, expected: Clear | bytes) -> None:
        assert list(opened(vector, circuit, tmp_path)) == list(expected)

    check(v, a)
    check(s[-1], column(15))
    check(v ^ w, a ^ b)
    check(v ^ 0x1D, a ^ 0x1D)
    check(0x1D ^ v, a ^ 0x1D)
    for given in (v ^ public, public ^ v, np.frombuffer(public, np.uint8) ^ v):
        check(given, each(lambda x, y: x ^ y, a, public))
    check(v ^ b"\x01", each(lambda x, y: x ^ y, a, b"\x01" + bytes(15)))
    check(v * w, each(times, a, b))
    check(v * 0x1D, each(lambda x: times(x, 0x1D), a))
    check(np.uint8(3) * v, each(lambda x: times(x, 3), a))
    check(public * v, each(times, a, public))
    check(v * np.frombuffer(public, np.uint8), each(times, a, public))
    for k in [3, 9, -1]:
        check(v.frobenius(k), each(lambda x: power(x, 2 ** (k % 8)), a))
    check(circuit.combine([(v, 0x1D), (w, 2), (v, 1)]), each(lambda x, y: times(x, 0x1C) ^ times(y, 2), a, b))
    product = v * w
    assert product.level < v.level and product.multiplications_left == product.level - 1
    assert 0 < product.capacity_bits < v.capacity_bits and product.failure_log2 <= -64


def test_comparisons_and_masks(circuit: Circuit, tmp_path: Path) -> None:
    s = circuit.load(results())
    a = column(4)

    def check(vector: Vector, expected: npt.NDArray[np.bool_]) -> None:
        assert list(opened(vector, circuit, tmp_path)) == list(expected.astype(np.uint8))

    check(circuit.equals_byte(s[4], int(a[3])), a == a[3])
    other = a.copy()
    other[5] ^= 1
    check(circuit.equals_public(s[4], other), a == other)
    check(circuit.equals_public(s[4], a.tobytes()), a == a)
    check(circuit.is_zero(s[4] ^ int(a[2])), a == a[2])
    check(circuit.is_nonzero(s[4] ^ int(a[2])), a != a[2])
    masks = [circuit.equals_public(s[i], column(i) ^ (np.arange(16) == i)) for i in range(3)]
    clear = [np.arange(16) != i for i in range(3)]
    check(circuit.all(masks), clear[0] & clear[1] & clear[2])
    check(~circuit.all(iter(masks)), ~(clear[0] & clear[1] & clear[2]))
    check(circuit.any(circuit.not_(m) for m in masks), ~clear[0] | ~clear[1] | ~clear[2])
    block = MESSAGE[16 * 9 : 16 * 10]
    check(circuit.equals_block(s, block), np.arange(16) == 9)
    check(circuit.equals_block(list(s), bytes(16)), np.zeros(16, dtype=bool))


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


def test_many_batches(circuit: Circuit, tmp_path: Path) -> None:
    message = bytes(i % 251 for i in range(16 * 40 - 3))
    ct = results(message)
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
    values = world_of(SET).keys.secret.open_values(tmp_path / "v")["found"]
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
    other = Circuit(homaes.keygen(SET, accept_insecure=True).eval)
    larger = Circuit(world_of(SCAN).keys.eval)
    v, tfhe = circuit.load(results())[0], world_of(TOYS["tfhe"])
    for wrong in [other, larger]:
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
        (homaes.ParametersError, "17", lambda: v * bytes(17)),
        (homaes.ParametersError, "17", lambda: circuit.equals_public(v, bytes(17))),
        (ValueError, "256", lambda: circuit.equals_byte(v, 256)),
        (ValueError, "found 15 bytes", lambda: circuit.equals_block(s, bytes(15))),
        (homaes.ParametersError, "found 1", lambda: circuit.equals_block([v], bytes(16))),
        (homaes.ParametersError, one, lambda: circuit.all([])),
        (homaes.ParametersError, one, lambda: circuit.any([])),
        (homaes.ParametersError, one, lambda: circuit.combine([])),
        (ValueError, "e3, e5 or e257", lambda: circuit.rotate(v, "e7", 1)),
        (ValueError, "e3, e5 or e257", lambda: circuit.sum_slots(v, ["x"])),
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


def test_levels_run_out() -> None:
    circuit = Circuit(world_of(SET).keys.eval)
    s = circuit.load(results(levels=2))
    with pytest.raises(homaes.NoiseError) as error:
        circuit.equals_block(s, bytes(16))
    assert (error.value.needed, error.value.left) == (7, 2)
    assert isinstance(error.value, ArithmeticError)
    assert error.value.remedy is not None and "levels_left" in error.value.remedy
    v = s[0]
    with pytest.raises(homaes.NoiseError):
        while True:
            v = v * s[1]
    with pytest.raises(homaes.NoiseError) as error:
        while True:
            v = v * bytes(range(16))
    assert str(error.value).endswith(f"; {error.value.remedy}")


INTERRUPTED = """
import os, signal, sys, threading, time
import homaes
from homaes import modes
keys = homaes.keygen(sys.argv[1], accept_insecure=True)
wrapped = keys.secret.wrap(bytes(16), levels_left=8)
mode = modes.CTR(bytes(16))
if sys.argv[2] == "block":
    c = homaes.bgv.Circuit(keys.eval, threads=1)
    s = c.load(homaes.Transcipher(keys.eval, wrapped).run(bytes(16), mode))
print("begun", flush=True)
try:
    while sys.argv[2] == "block":
        c.equals_block(s, bytes(16))
    homaes.scan(bytes(100000), mode, keys.eval, wrapped, {"a": b"abc"}, threads=1)
except KeyboardInterrupt:
    print(time.time(), flush=True)
    time.sleep(0.5)
    ticks = os.times().user
    time.sleep(1)
    # and nothing works on behind it
    sys.exit(os.times().user - ticks > 0.2)
"""


@pytest.mark.parametrize(("name", "what", "pause"), [(SET, "block", 0.3), (SCAN, "scan", 2)])
def test_ctrl_c_ends_an_operation(name: str, what: str, pause: float) -> None:
    assert interrupted(INTERRUPTED, name, what, pause=pause, ends=4) == 0


def test_other_threads_of_python_run(circuit: Circuit) -> None:
    s = circuit.load(results())
    assert len(at_once(*(partial(circuit.is_zero, s[i]) for i in range(4)))) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_is_told(circuit: Circuit) -> None:
    v = circuit.load(results())[0]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            v ^ 1
        except ValueError as error:
            code = 0 if "forked" in str(error) else 2
        del v, circuit
        os._exit(code)
    start = time.monotonic()
    while time.monotonic() - start < 30:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, 9)
    pytest.fail("the child hangs")
