"""LWE ciphertexts leave for other libraries: decrypted here by nothing but NumPy and docs/FORMAT.md."""

from __future__ import annotations

from functools import lru_cache

import homaes
import numpy as np
import numpy.typing as npt
import pytest
from conftest import TOYS, ctr, refused, world_of

MESSAGE = bytes((5 * i * i + 1) % 256 for i in range(16 * 33 - 5))


@lru_cache(None)
def results(name: str) -> homaes.Ciphertexts:
    return world_of(name).run(ctr(MESSAGE))


def glwe_key(name: str, dimension: int) -> npt.NDArray[np.uint64]:
    """The last bits of the one record of a secret key's file."""
    file = world_of(name).keys.secret.to_bytes()
    start = 76 + file[11] + 16
    body = file[start + 18 : start + 18 + int.from_bytes(file[start + 10 : start + 18], "little")]
    bits = np.unpackbits(np.frombuffer(body, np.uint8), bitorder="little")
    # in these sets the bits fill the last byte
    return bits[len(bits) - dimension :].astype(np.uint64)


def phases(name: str, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    masks, bodies = rows[:, :-1], rows[:, -1]
    with np.errstate(over="ignore"):
        found: npt.NDArray[np.uint64] = bodies - masks @ glwe_key(name, masks.shape[1])
    return found


def test_bits_are_what_the_format_says() -> None:
    name = TOYS["tfhe"]
    ct = results(name)
    blocks = [batch.blocks for batch in ct]
    assert blocks == [32, 1]
    plain = b""
    for batch in ct:
        rows = ct.lwe(batch)
        assert rows.dtype == np.uint64 and rows.shape == (128 * batch.blocks, 257)
        assert not rows.flags.writeable and np.array_equal(rows, ct.lwe(batch.number))
        found = phases(name, rows)
        bits = (found + np.uint64(1 << 62)) >> np.uint64(63)
        # nothing is near the border between 0 and 1
        away = (found - (bits << np.uint64(63))).astype(np.int64)
        assert np.abs(away).max() < 1 << 60
        plain += np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()
    assert plain[: len(MESSAGE)] == MESSAGE


def test_digits_of_base_16() -> None:
    name = "tfhe/nibble-toy"
    batch = next(iter(results(name)))
    rows = batch.lwe()
    assert rows.shape[0] == 32 * batch.blocks
    digits = (phases(name, rows) + np.uint64(1 << 58)) >> np.uint64(59)
    pairs = digits.reshape(-1, 2)
    assert (pairs[:, 0] + 16 * pairs[:, 1]).astype(np.uint8).tobytes() == MESSAGE[: 16 * 32]


def test_what_is_refused() -> None:
    ct, tfhe = world_of(TOYS["bgv"]).run(bytes(16)), results(TOYS["tfhe"])
    with pytest.raises(homaes.ParametersError, match="bgv/toy-255") as error:
        ct.lwe(0)
    assert (error.value.found, error.value.expected) == ("bgv/toy-255", "a set of TFHE")
    refused(*((IndexError, "expected 0 to 1", lambda number=number: tfhe.lwe(number)) for number in (2, -1)))
