"""A scan against the search in the clear: patterns at awkward places, and what is not there."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

import homaes
import numpy as np
import pytest
from conftest import AES_KEY, BGV, CTR, TOYS, ctr, encrypt, refused, world_of
from cryptography.hazmat.primitives.ciphers import modes as aes_modes
from homaes import modes

SET = "bgv/toy-4369"
#: Two runs of 128 blocks to a batch, of which the last three are the first ones of the next run.
OWN = 16 * (128 - 3)
PATTERNS = {"long": b"more than a block's 16", "short": b"\x00\xffx"}


@lru_cache(None)
def wrapped(levels: int = 8, direction: str = "encrypt") -> homaes.WrappedKey:
    secret = world_of(SET).keys.secret
    return secret.wrap(AES_KEY, levels_left=levels, direction=direction)


def test_every_place(tmp_path: Path) -> None:
    length = 2 * OWN + 777
    message = bytearray(np.random.default_rng(1).integers(128, 250, length, dtype=np.uint8))
    # the start, within a block, across blocks, across runs, across batches, the end
    places = {
        "long": [0, 100, 500, OWN - 30, 2 * OWN - 1, length - len(PATTERNS["long"])],
        "short": [60, 63, 79, OWN + 77, 2 * OWN - 4, 2 * OWN + 100],
    }
    for label, found in places.items():
        for at in found:
            message[at : at + len(PATTERNS[label])] = PATTERNS[label]
    # in all but one bit
    message[200:222] = PATTERNS["long"]
    message[211] ^= 0x10
    keys, path = world_of(SET).keys, tmp_path / "x.hcv"
    homaes.scan(ctr(bytes(message)), CTR, keys.eval, wrapped(), PATTERNS).save(path)
    opened = keys.secret.open_values(path)
    about, *labels = opened
    assert about.startswith(f"homaes scan of {length} bytes, ") and len(opened[about]) == 0
    assert labels == list(PATTERNS)
    assert all(opened[label].dtype == np.uint16 and len(opened[label]) == 2 * 256 for label in labels)
    assert [v["width"] for v in homaes.inspect(path).details["values"]] == [16] * 3
    assert homaes.matches(opened, PATTERNS, SET) == places
    refused(
        (homaes.ParametersError, "all answers of one search", lambda: homaes.matches(opened, {"a": b"x"}, SET)),
        (homaes.ParametersError, "did you mean", lambda: homaes.matches(opened, PATTERNS, "bgv/toy-4368")),
        (homaes.ParametersError, "at least one pattern", lambda: homaes.matches({}, {}, SET)),
        (homaes.ParametersError, "expected a set of BGV", lambda: homaes.matches({}, {"a": b"b"}, "tfhe/toy")),
    )


@BGV
def test_several_batches_none_and_other_modes(name: str) -> None:
    small, patterns = world_of(name), {"one": b"x", "other": b"y"}
    secret = small.keys.secret
    data, _ = encrypt(aes_modes.CBC(bytes(16)), b"x" + bytes(510) + b"x")
    reverse = secret.wrap(AES_KEY, levels_left=8, direction="decrypt")
    values = homaes.scan(data, modes.CBC(bytes(16)), small.keys.eval, reverse, patterns, threads=1)
    assert "homaes.Values" in repr(values)
    empty = homaes.scan(b"", CTR, small.keys.eval, secret.wrap(AES_KEY, levels_left=8), patterns)
    for given, ones in ((values.to_bytes(), [0, 511]), (empty, [])):
        found = homaes.matches(secret.open_values(given), patterns, small.set)
        assert found == {"one": ones, "other": []}


def test_what_is_refused() -> None:
    keys, small, tfhe = world_of(SET).keys, world_of(TOYS["bgv"]), world_of(TOYS["tfhe"])
    scan = partial(homaes.scan, bytes(16), CTR, keys.eval, wrapped())
    other = partial(homaes.scan, bytes(16), CTR, keys.eval, patterns={"a": b"x"})
    with pytest.raises(homaes.ParametersError, match='"empty"') as error:
        scan({"a": b"x", "empty": b""})
    assert error.value.expected and error.value.remedy
    with pytest.raises(homaes.NoiseError) as noise:
        other(wrapped(2))
    assert (noise.value.needed, noise.value.left) == (7, 2)
    refused(
        (homaes.KeyMismatchError, "", lambda: other(wrapped(direction="decrypt"))),
        (homaes.KeyMismatchError, "", lambda: other(small.wrapped)),
        (homaes.ParametersError, "tfhe/toy", lambda: homaes.scan(b"", CTR, tfhe.keys.eval, tfhe.wrapped, {"a": b"x"})),
        (TypeError, "", lambda: scan({"a": 5})),  # type: ignore[dict-item]
        (homaes.ParametersError, "does not begin with", lambda: scan({"homaes scan of 3": b"x"})),
    )
