"""Keys of toy sets, made once."""

from __future__ import annotations

import os
import secrets
import signal
from functools import lru_cache

import homaes
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers import modes as aes_modes

AES_KEY = bytes(range(16))

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


class World:
    """Keys of a set, and an AES key under it in both directions."""

    def __init__(self, name: str) -> None:
        self.set = name
        self.keys = homaes.keygen(name, accept_insecure=True)
        self.wrapped = self.keys.secret.wrap(AES_KEY)
        self.reverse = self.keys.secret.wrap(AES_KEY, direction="decrypt")


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


MANY = os.environ.get("HOMAES_MANY") == "1"
