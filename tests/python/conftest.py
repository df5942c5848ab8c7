"""Keys of toy sets, made once."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import homaes
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers import modes as aes_modes
from homaes import modes

AES_KEY = bytes(range(16))
CTR = modes.CTR(bytes(16))

# where the tests were started in the background of a shell, processes that they start would ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

# Ray listens on more than the loopback interface: nobody but these tests has the token
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

#: The fastest toy set of each scheme.
TOYS = {
    "bgv": "bgv/toy-255",
    "tfhe": "tfhe/toy",
    "ntru": "ntru/toy-255",
    "dghv": "dghv/micro",
}

#: A toy set of BGV whose AES runs in another ring than circuits on its results: a batch of AES gives two of results.
TWO_RINGS = "bgv/toy-k-255"

#: For tests that both must pass.
BGV = pytest.mark.parametrize("name", [TOYS["bgv"], TWO_RINGS])


class World:
    """Keys of a set, and an AES key under it in both directions."""

    def __init__(self, name: str) -> None:
        self.set = name
        self.keys = homaes.keygen(name, accept_insecure=True)
        self.wrapped = self.keys.secret.wrap(AES_KEY)
        self.reverse = self.keys.secret.wrap(AES_KEY, direction="decrypt")

    def run(self, data: Any, mode: Any = CTR, out: Path | None = None, **how: Any) -> homaes.Ciphertexts:
        with homaes.Transcipher(self.keys.eval, self.wrapped) as t:
            return t.run(data, None if isinstance(data, homaes.Message) else mode, out, **how)

    def save(self, folder: Path, data: bytes) -> None:
        """The keys, and AES ciphertext ``c``."""
        self.keys.eval.save(folder / "eval.hek")
        self.wrapped.save(folder / "key.hwk")
        (folder / "c").write_bytes(data)


def plan(folder: Path = Path(), name: str = "job", **more: Any) -> homaes.Job:
    """A job of what ``World.save`` wrote."""
    how: dict[str, Any] = {"eval_key": folder / "eval.hek", "wrapped_key": folder / "key.hwk"}
    return homaes.Job.plan(folder / "c", CTR, **how, out=folder / name, **more)


def python(program: str | Path, *words: str, **how: Any) -> subprocess.CompletedProcess[Any]:
    """Runs a Python program: a file, or its text."""
    line = [program] if isinstance(program, Path) else ["-c", program]
    return subprocess.run([sys.executable, *line, *words], capture_output=True, **how)


def refused(*calls: tuple[type[BaseException], str, Callable[[], object]]) -> None:
    """Each call raises this exception with this in its message."""
    for kind, word, call in calls:
        with pytest.raises(kind, match=word or None):
            call()


def at_once(*calls: Callable[[], object]) -> list[Any]:
    """What the calls return, each in its own thread."""
    found: list[Any] = []
    threads = [threading.Thread(target=lambda call=call: found.append(call())) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


CHILD = """
import os, sys, time
import homaes
from homaes import modes
def begun(*_):
    print("begun", flush=True)
try:
{}
except KeyboardInterrupt:
    print(time.time(), flush=True)
    {}
    sys.exit(3)
"""


def interrupted(work: str, *words: str, after: str = "", pause: float = 0.0, ends: float = 2.0) -> int:
    """Starts Python for some work, and sends it Ctrl-C a while after it called ``begun``. The exception must come
    within a second, and the end within ``ends``. Returns its exit code: 3, unless ``after`` ends it."""
    line = [sys.executable, "-c", CHILD.format(textwrap.indent(work, "    "), after), *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "begun\n"
        time.sleep(pause)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        raised = float(next(line for line in child.stdout if line != "begun\n"))
        assert raised - sent < 1, f"{raised - sent:.2f} s to the exception"
        code = child.wait()
        assert time.time() - sent < ends
        return code


@lru_cache(None)
def world_of(name: str) -> World:
    return World(name)


@pytest.fixture
def world() -> World:
    return world_of(TOYS["bgv"])


def encrypt(mode: aes_modes.Mode, message: bytes, aad: bytes = b"") -> tuple[bytes, bytes]:
    """Ciphertext, and the tag of GCM."""
    encryptor = Cipher(algorithms.AES(AES_KEY), mode).encryptor()
    if aad:
        encryptor.authenticate_additional_data(aad)
    out = encryptor.update(message) + encryptor.finalize()
    return out, getattr(encryptor, "tag", b"")


def ctr(message: bytes, nonce: bytes = bytes(16)) -> bytes:
    return encrypt(aes_modes.CTR(nonce), message)[0]
