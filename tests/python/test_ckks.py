"""Bytes under a link key, decrypted by nothing but NumPy and docs/FORMAT.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parents[2] / "interop" / "lattigo" / "testdata"


def test_exported_arrays_hold_every_byte(tmp_path: Path) -> None:
    homaes = Path(sys.executable).parent / "homaes"
    exported = tmp_path / "m.npz"
    subprocess.run([homaes, "export", "--to", "npz", "-o", exported, GOLDEN / "toy.hrl"], check=True)
    link = json.loads((GOLDEN / "toy.key").read_text())
    message = np.frombuffer((GOLDEN / "toy.bytes").read_bytes(), np.uint8)
    with np.load(exported) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    assert found["link"].tobytes().hex() == link["id"]
    n, t = link["dimension"], 1 << int(found["log2_t"])
    assert found["rlwe"].shape == (-(-len(message) // n), 2, n) and found["rlwe"].dtype == np.uint32
    z = np.unpackbits(np.frombuffer(bytes.fromhex(link["bits"]), np.uint8), bitorder="little")
    numbers = []
    for mask, body in found["rlwe"].astype(np.int64):
        product = np.convolve(mask, z)  # modulo X^n + 1
        product = product[:n] - np.append(product[n:], 0)
        numbers.append((((body - product) % (1 << 32)) / (1 << 32) * t)[found["place"]])
    error = (np.concatenate(numbers)[: int(found["bytes"])] - message + t / 2) % t - t / 2
    assert len(error) == len(message) == 1500 and abs(error).max() < 0.1
