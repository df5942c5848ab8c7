"""A demonstration that the installation works."""

from __future__ import annotations

import time

from . import modes
from ._homaes import Transcipher, keygen

__all__ = ["demo"]

# NIST SP 800-38A, F.5.1: AES-128 in counter mode
_KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
_COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
_PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
_CIPHER = bytes.fromhex(
    "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
    "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"
)


def demo(set: str = "bgv/aes128", *, quiet: bool = False) -> None:
    """Make keys of ``set``, wrap an AES key, transcipher a published AES ciphertext, decrypt and compare.

    Raises ``AssertionError`` if the message does not come back.
    """

    def tell(what: str, start: float) -> None:
        if not quiet:
            print(f"{what}: {time.monotonic() - start:.2f} s")

    start = time.monotonic()
    secret, eval_key = keygen(set)
    tell(f"keys of {set}", start)
    start = time.monotonic()
    wrapped = secret.wrap(_KEY)
    tell("AES key wrapped", start)
    start = time.monotonic()
    with Transcipher(eval_key, wrapped) as transcipher:
        ciphertexts = transcipher.run(_CIPHER, modes.CTR(_COUNTER))
    tell(f"{len(_CIPHER)} bytes of AES-128-CTR transciphered", start)
    start = time.monotonic()
    found = secret.decrypt(ciphertexts)
    tell("decrypted", start)
    if found != _PLAIN:
        raise AssertionError(
            "the decrypted bytes differ from the published ones; please report it"
        )
    if not quiet:
        print("the message is the one of NIST SP 800-38A, F.5.1")
