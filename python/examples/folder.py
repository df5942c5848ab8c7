"""Transcipher a folder of AES-GCM files into one file of FHE ciphertexts, and decrypt it.

Each file is nonce ‖ ciphertext ‖ tag. They form one message, so they share batches:

    python folder.py --set bgv/aes128 FOLDER OUT.hct

Without FOLDER the example makes up some files. It also makes up the key, so that it can check the result.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
from pathlib import Path

import homaes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from homaes import modes

NONCE_BYTES = 12


def client(texts: dict[str, bytes], aes_key: bytes) -> dict[str, bytes]:
    """Encrypt each text under its own nonce."""
    sealed = {}
    for name, text in texts.items():
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed[name] = nonce + AESGCM(aes_key).encrypt(nonce, text, None)
    return sealed


def server(
    eval_key: homaes.EvalKey,
    wrapped: homaes.WrappedKey,
    sealed: dict[str, bytes],
    out: Path,
) -> homaes.Ciphertexts:
    """Run AES under encryption, without the secret key or the AES key."""
    message = homaes.Message.of_parts(
        (name, memoryview(data)[NONCE_BYTES:], modes.GCM(data[:NONCE_BYTES]))
        for name, data in sealed.items()
    )
    with homaes.Transcipher(eval_key, wrapped) as transcipher:
        return transcipher.run(message, out=out, progress=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="bgv/toy-255", help="parameter set; the default protects nothing")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("out", nargs="?", type=Path)
    args = parser.parse_args()
    if args.folder is None:
        texts = {f"{number}.txt": b"mail number %d" % number for number in range(20)}
    else:
        files = sorted(path for path in args.folder.iterdir() if path.is_file())
        texts = {path.name: path.read_bytes() for path in files}
    toys = {card.name for card in homaes.sets() if card.purpose == "toy"}
    keys = homaes.keygen(args.set, accept_insecure=args.set in toys)
    aes_key = secrets.token_bytes(16)
    sealed = client(texts, aes_key)
    with tempfile.TemporaryDirectory() as folder:
        out = args.out or Path(folder) / "out.hct"
        ct = server(keys.eval, keys.secret.wrap(aes_key), sealed, out)
        for name, text in texts.items():
            assert keys.secret.decrypt(ct, part=name, aes_key=aes_key) == text
    print(f"{len(texts)} files, {ct.bytes} bytes in {ct.batches} batches: all came back")


if __name__ == "__main__":
    main()
