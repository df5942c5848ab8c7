"""A scan against the search in the clear: patterns at awkward places, and what is not there."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import homaes
import numpy as np
import pytest
from homaes import modes

from conftest import AES_KEY, TOYS, ctr, encrypt, world_of
from cryptography.hazmat.primitives.ciphers import modes as aes_modes

SET = "bgv/toy-4369"
#: Two runs of 128 blocks to a batch, of which the last three are the first ones of the next run.
OWN = 16 * (128 - 3)
PATTERNS = {
    "long": b"a pattern across blocks of 16 bytes",
    "short": b"\x00\xffx",
    "nearly": b"nearly there",
    "absent": bytes(range(40)),
}


@lru_cache(None)
def wrapped(levels: int = 8, direction: str = "encrypt") -> homaes.WrappedKey:
    secret = world_of(SET).keys.secret
    return secret.wrap(AES_KEY, levels_left=levels, direction=direction)


def scanned(message: bytes, patterns: dict[str, bytes]) -> dict[str, list[int]]:
    keys = world_of(SET).keys
    values = homaes.scan(ctr(message), modes.CTR(bytes(16)), keys.eval, wrapped(), patterns)
    return homaes.matches(keys.secret.open_values(values), patterns, SET)


def in_the_clear(message: bytes, pattern: bytes) -> list[int]:
    places = range(len(message) - len(pattern) + 1)
    return [at for at in places if message[at : at + len(pattern)] == pattern]


def test_every_place(tmp_path: Path) -> None:
    length = 2 * OWN + 777
    message = bytearray(np.random.default_rng(1).integers(128, 250, length, dtype=np.uint8))
    long, short, nearly = PATTERNS["long"], PATTERNS["short"], PATTERNS["nearly"]
    # the start, within a block, across blocks, across runs, across batches, the end
    places = [0, 100, 500, OWN - 30, 2 * OWN - 1, length - len(long)]
    for at in places:
        message[at : at + len(long)] = long
    for at in [60, 63, 79, OWN + 77, 2 * OWN - 4, 2 * OWN + 100]:
        message[at : at + len(short)] = short
    # in all but one bit of one byte
    for at, byte in [(200, 0), (301, 11), (2 * OWN - 60, 5), (400, 3)]:
        message[at : at + len(nearly)] = nearly
        message[at + byte] ^= 0x10
    # in all but what is behind the end
    message[-len(nearly) + 1 - len(long) : -len(long)] = nearly[:-1]
    text = bytes(message)
    keys = world_of(SET).keys
    values = homaes.scan(ctr(text), modes.CTR(bytes(16)), keys.eval, wrapped(), PATTERNS)
    values.save(tmp_path / "x.hcv")
    opened = keys.secret.open_values(tmp_path / "x.hcv")
    about, *labels = opened
    assert about.startswith(f"homaes scan of {length} bytes, ") and len(opened[about]) == 0
    assert labels == list(PATTERNS)
    assert all(opened[label].dtype == np.uint16 for label in labels)
    assert {len(opened[label]) for label in labels} == {2 * 256}
    assert [v["width"] for v in homaes.inspect(tmp_path / "x.hcv").details["values"]] == [16] * 5
    found = homaes.matches(opened, PATTERNS, SET)
    # not all, others, too few numbers
    for values, patterns in [
        (opened, {"short": PATTERNS["short"]}),
        (opened, {**PATTERNS, "absent": b"another"}),
        ({label: opened[label] for label in labels}, PATTERNS),
        ({**opened, "long": opened["long"][:9]}, PATTERNS),
    ]:
        with pytest.raises(homaes.ParametersError, match="all answers of one search"):
            homaes.matches(values, patterns, SET)
    assert found["long"] == places
    assert found == {label: in_the_clear(text, pattern) for label, pattern in PATTERNS.items()}
    assert len(found["short"]) == 6 and found["nearly"] == found["absent"] == []


def test_short_messages_and_other_modes() -> None:
    keys = world_of(SET).keys
    patterns = {"one": b"x", "longer": b"xyz" * 9}
    assert scanned(b"", patterns) == {"one": [], "longer": []}
    cbc = aes_modes.CBC(bytes(16))
    message = b"x" + bytes(30) + b"x"
    values = homaes.scan(
        encrypt(cbc, message)[0],
        modes.CBC(bytes(16)),
        keys.eval,
        wrapped(direction="decrypt"),
        patterns,
        threads=1,
    )
    opened = keys.secret.open_values(values.to_bytes())
    assert homaes.matches(opened, patterns, SET) == {"one": [0, 31], "longer": []}
    assert "homaes.Values" in repr(values)


def test_what_is_refused() -> None:
    keys, mode = world_of(SET).keys, modes.CTR(bytes(16))

    def scan(patterns: dict[str, bytes], levels: int = 8, data: bytes = bytes(16)) -> None:
        homaes.scan(data, mode, keys.eval, wrapped(levels), patterns)

    for patterns, text in [
        ({}, "at least one pattern"),
        ({"a": b"x", "empty": b""}, '"empty"'),
        ({"long": bytes(16 * 128)}, '"long"'),
        ({"": b"x"}, "1 to 256 bytes"),
    ]:
        with pytest.raises(homaes.ParametersError, match=text) as error:
            scan(patterns)
        assert error.value.expected and error.value.remedy
    with pytest.raises(homaes.NoiseError) as noise:
        scan({"a": b"x"}, levels=2)
    assert (noise.value.needed, noise.value.left) == (7, 2)
    with pytest.raises(homaes.KeyMismatchError):
        homaes.scan(bytes(16), mode, keys.eval, wrapped(direction="decrypt"), {"a": b"x"})
    small = world_of(TOYS["bgv"])
    with pytest.raises(homaes.KeyMismatchError):
        homaes.scan(bytes(16), mode, keys.eval, small.wrapped, {"a": b"x"})
    with pytest.raises(homaes.ParametersError, match="found 2 bytes, expected 1 to 1"):
        homaes.scan(bytes(16), mode, small.keys.eval, small.wrapped, {"a": b"xy"})
    tfhe = world_of(TOYS["tfhe"])
    with pytest.raises(homaes.ParametersError, match="tfhe/toy"):
        homaes.scan(bytes(16), mode, tfhe.keys.eval, tfhe.wrapped, {"a": b"x"})
    with pytest.raises(FileNotFoundError):
        homaes.scan("none.aes", mode, keys.eval, wrapped(), {"a": b"x"})
    with pytest.raises(TypeError):
        scan({"a": 5})  # type: ignore[dict-item]
    with pytest.raises(homaes.ParametersError, match="all answers of one search"):
        homaes.matches({}, {"a": b"x"}, SET)
    with pytest.raises(homaes.ParametersError):
        homaes.matches({"a": np.zeros(1, np.uint16)}, {"a": b"x"}, "bgv/none")
    with pytest.raises(homaes.ParametersError, match="does not begin with"):
        scan({"homaes scan of 3": b"x"})


INTERRUPTED = """
import os, signal, sys, threading, time
import homaes
from homaes import modes
keys = homaes.keygen("bgv/toy-4369", accept_insecure=True)
wrapped = keys.secret.wrap(bytes(16), levels_left=8)
at = []
def stop():
    at.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(float(sys.argv[1]), stop).start()
try:
    homaes.scan(bytes(100000), modes.CTR(bytes(16)), keys.eval, wrapped, {"a": b"abc"}, threads=1)
except KeyboardInterrupt:
    after = time.monotonic() - at[0]
    time.sleep(1)
    ticks = os.times().user
    time.sleep(1)
    print(after, os.times().user - ticks)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix")
@pytest.mark.parametrize("seconds", [0.3, 2])
def test_ctrl_c_ends_a_scan(seconds: float) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(seconds)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    after, worked = (float(x) for x in run.stdout.split())
    # and nothing works on behind it
    assert after < 1 and worked < 0.2
