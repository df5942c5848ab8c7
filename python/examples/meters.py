"""Total, count and mean of encrypted meter readings by kind: python meters.py [SET], for real data bgv/aes256+8."""

import secrets
import struct
import sys

import homaes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from homaes import modes

name = sys.argv[1] if len(sys.argv) > 1 else "bgv/toy-255"
keys = homaes.keygen(name, accept_insecure="toy" in name)  # client: keys, 2,048 records of id, kind and reading
aes_key, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
readings = [(i, secrets.choice(b"EGW"), secrets.randbelow(2**32)) for i in range(2048)]
sealed = AESGCM(aes_key).encrypt(nonce, b"".join(struct.pack(">Qc3xI", i, bytes([k]), r) for i, k, r in readings), None)
wrapped = keys.secret.wrap(aes_key, levels_left=14)
with homaes.Transcipher(keys.eval, wrapped, layout="sliced") as server:  # server: sealed, wrapped and keys.eval
    results = server.run(sealed, modes.GCM(nonce))
for kind in b"EGW":
    wanted = ["sum u32be@12/16", "count"]
    totals = homaes.totals(results, keys.eval, wanted, where=[f"u8@8 == {kind}"])  # server
    total, count = (int(numbers[0]) for numbers in keys.secret.open_values(totals).values())  # client
    assert (total, count) == (sum(r for _, k, r in readings if k == kind), sum(k == kind for _, k, _ in readings))
    print(f"kind {kind:c}: {count} readings, total {total}, mean {total / count:.1f}")
