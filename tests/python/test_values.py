"""Files of what was computed: written whole or not at all, read by the owner of the key alone."""

from __future__ import annotations

from pathlib import Path

import homaes
import numpy as np
import pytest
from homaes.bgv import Circuit

from conftest import TOYS, refused, world_of
from test_circuit import SET, column, results


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(world_of(SET).keys.eval)


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
    with pytest.raises(homaes.ParametersError, match="1 to 256 bytes") as error:
        homaes.save_values(path, {"good": v, "a\nb": v}, circuit)
    assert error.value.expected is not None and error.value.remedy
    assert list(tmp_path.iterdir()) == []
    homaes.save_values(path, {"a": v}, circuit)
    before = path.read_bytes()
    with pytest.raises(FileExistsError) as exists:
        homaes.save_values(path, {"b": v}, circuit)
    assert exists.value.filename == str(path)
    refused(
        (homaes.ParametersError, "another Circuit", lambda: homaes.save_values(path, {"b": v}, other, force=True))
    )
    assert path.read_bytes() == before
    homaes.save_values(path, {"b": v}, circuit, force=True)
    assert list(world_of(SET).keys.secret.open_values(path)) == ["b"]


def test_what_is_refused(circuit: Circuit, tmp_path: Path) -> None:
    secret, v, path = world_of(SET).keys.secret, circuit.load(results())[0], tmp_path / "x.hcv"
    homaes.save_values(path, {"a": v}, circuit)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    other = homaes.keygen(SET, accept_insecure=True).secret
    refused(
        (homaes.FileFormatError, "", lambda: secret.open_values(data)),
        (homaes.FileFormatError, "expected computed values", lambda: secret.open_values(results().to_bytes())),
        (homaes.KeyMismatchError, "", lambda: world_of(TOYS["tfhe"]).keys.secret.open_values(path)),
        (homaes.KeyMismatchError, "", lambda: other.open_values(path)),
        (FileNotFoundError, "", lambda: secret.open_values(tmp_path / "none")),
        (TypeError, "", lambda: homaes.save_values(path, {"a": 3}, circuit)),  # type: ignore[dict-item]
        (FileNotFoundError, "", lambda: homaes.save_values(tmp_path / "no" / "x.hcv", {"b": v}, circuit)),
    )
