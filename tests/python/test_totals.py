"""Totals of columns and integers against NumPy."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import homaes
import numpy as np
import pytest
from conftest import AES_KEY, BGV, TOYS, ctr, refused, world_of, CTR
from homaes.bgv import Circuit

RECORD = np.dtype([("kind", "u1"), ("level", "i1"), ("amount", ">u2"), ("big", "<i4"), ("rest", "u1", 8)])


@lru_cache(None)
def results(name: str = TOYS["bgv"]) -> tuple[np.ndarray, homaes.Ciphertexts]:
    rng = np.random.default_rng(1)
    records = np.frombuffer(rng.integers(0, 256, 16 * 40, dtype=np.uint8).tobytes(), RECORD).copy()
    records["kind"] %= 3
    keys = world_of(name).keys
    wrapped = keys.secret.wrap(AES_KEY, levels_left=17)
    with homaes.Transcipher(keys.eval, wrapped, layout="sliced") as t:
        return records, t.run(ctr(records.tobytes()), CTR)


@BGV
def test_totals(name: str, tmp_path: Path) -> None:
    records, ct = results(name)
    keys = world_of(name).keys
    wanted = ["sum u16be@2/16", "sum i32le@4", "count", "dot u16be@2 u16be@2"]
    for where, chosen in [([], records), (["u8@0 == 2", "i8@1 >= 0"], records[(records["kind"] == 2) & (records["level"] >= 0)])]:
        totals = homaes.totals(ct, keys.eval, wanted, where=where)
        totals.save(tmp_path / "t.hcv", force=True)
        opened = keys.secret.open_values(tmp_path / "t.hcv")
        amount = chosen["amount"].astype(np.int64)
        assert [int(x[0]) for x in opened.values()] == [
            amount.sum(),
            chosen["big"].sum(dtype=np.int64),
            len(chosen),
            (amount**2).sum() % 65536,
        ]
        assert [x.dtype.kind for x in opened.values()] == ["u", "i", "u", "u"]
    first = homaes.totals(ct, keys.eval, ["sum u8@0/16"], records=3)
    assert [int(x[0]) for x in keys.secret.open_values(first).values()] == [records["kind"][:3].sum()]
    refused(
        (ValueError, "'sum COLUMN', 'count' or 'dot", lambda: homaes.totals(ct, keys.eval, ["mean u8@0"])),
        (ValueError, "expected a type", lambda: homaes.totals(ct, keys.eval, ["sum u24@0"])),
        (ValueError, "one of == != <", lambda: homaes.totals(ct, keys.eval, ["count"], where=["u8@0 = 1"])),
        (TypeError, "", lambda: homaes.totals(ct, keys.eval, "count")),  # type: ignore[arg-type]
        (homaes.KeyMismatchError, "", lambda: homaes.totals(ct, world_of("bgv/toy-4369").keys.eval, wanted)),
    )


def test_integers(tmp_path: Path) -> None:
    records, ct = results()
    keys = world_of(TOYS["bgv"]).keys
    circuit = Circuit(keys.eval)
    state = circuit.load(next(iter(ct)))
    kind, level = records["kind"][:16].astype(int), records["level"][:16].astype(int) % 256
    a, b = circuit.integers(state[0], 12), circuit.integers(state[1], 12)
    mask = circuit.mask_integers(circuit.below_byte(state[1], 100), 12)
    assert (a.bits, a.room_bits > 0, a.failure_log2 <= -64) == (12, True, True)
    values = {
        "sum": (a + b, kind + level),
        "difference": (a - b, kind - level),
        "scaled": (-3 * b, -3 * level),
        "product": (a * b, kind * level),
        "below": (mask, level < 100),
    }
    path = tmp_path / "integers.hcv"
    homaes.save_values(path, {label: x for label, (x, _) in values.items()}, circuit, signed=True)
    opened = keys.secret.open_values(path)
    for label, (_, want) in values.items():
        assert ((opened[label].astype(int) - want) % 4096 == 0).all(), label
    total = a.sum_slots(["e3", "e5", "e257"])
    homaes.save_values(path, {"total": total}, circuit, force=True)
    by_class = keys.secret.open_values(path)["total"]
    assert by_class[0] == kind[:8].sum() and by_class[8] == kind[8:].sum()
    assert repr(a).startswith("<homaes.bgv.Integers of 12 bits, bgv/toy-255, level ")
    with pytest.raises(TypeError):
        a + 1  # type: ignore[operator]
    refused(
        (homaes.ParametersError, "another Circuit", lambda: a + Circuit(keys.eval).integers(state[0], 12)),
        (ValueError, "expected 1 to 255", lambda: circuit.below_byte(state[0], 0)),
    )
