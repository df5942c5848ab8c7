"""Apply a table to bytes of homaes with OpenFHE's functional bootstrapping (Python wheel `openfhe` 1.6.1, numpy).

    fbt.py m.npz link.key [message] [--log-n 12]   bytes that homaes wrote (`export --to npz`), and what they are
    fbt.py [--log-n 12] [--noise -20]              synthetic ciphertexts with a key of their own

It plays both sides: the client makes `to_sk` from link key and secret key, the server has ciphertexts and `to_sk`.
The wheel cannot set the polynomials of a key or ciphertext, so `with_polys` edits their JSON. C++ has setters for both.
OpenFHE checks its 128-bit table at --log-n 16. Smaller rings only test the interface. OMP_NUM_THREADS limits threads.
"""
import argparse, json, sys, time
import numpy as np
import openfhe as o

P, Q = 256, 1 << 47                     # plaintext modulus; nominal RLWE modulus, as long as the CKKS primes
BUDGET, AFTER, SCALE = [3, 3], 0, 32    # levels of the two transforms, levels left, divisor of the table


def bitrev(n):
    r = np.zeros(1, dtype=np.int64)
    while len(r) < n:
        r = np.concatenate([2 * r, 2 * r + 1])
    return r


def ntt(a, q, psi):
    """OpenFHE's evaluation form: entry i is a(psi^(2 bitrev(i) + 1)) modulo q."""
    n, m = len(a), 1
    powers = [1]
    for _ in range(n - 1):
        powers.append(powers[-1] * psi % q)
    w = np.array(powers, dtype=object)[bitrev(n)]
    a = np.array([int(c) % q for c in a], dtype=object)
    while m < n:
        a = a.reshape(m, 2, -1)
        u, v = a[:, 0], a[:, 1] * w[m:2 * m, None] % q
        a = np.stack([(u + v) % q, (u - v) % q], axis=1)
        m *= 2
    return [int(c) for c in a.reshape(-1)]


def dicts(x):
    if isinstance(x, dict):
        yield x
    for y in x.values() if isinstance(x, dict) else x:
        if isinstance(y, (dict, list)):
            yield from dicts(y)


def with_polys(obj, read, polys):
    """A copy of a key or ciphertext whose polynomials are `polys` (signed integer coefficients)."""
    doc = json.loads(o.Serialize(obj, o.JSON))
    root = {d["cm"]["v"]: d["ru"]["v"] for d in dicts(doc) if "cm" in d and isinstance(d["cm"]["v"], int)}
    places = [d for d in dicts(doc) if isinstance(d.get("v"), list) and isinstance(d.get("m"), dict)
              and len(d["v"]) == len(polys[0])]             # one for each polynomial and prime
    for i, d in enumerate(places):
        d["v"] = ntt(polys[i * len(polys) // len(places)], d["m"]["v"], root[d["m"]["v"]])
    return read(json.dumps(doc), o.JSON)


def synthetic(n, count, noise, rng):
    z = rng.integers(0, 2, n)
    msg = rng.integers(0, 256, (count, n))
    mask = rng.integers(0, 1 << 32, (count, n))
    place = rng.permutation(n)
    body = np.rint(rng.normal(0, 2.0 ** (32 + noise), (count, n))).astype(np.int64)
    body[:, place] += msg << 24
    for i in range(count):
        full = np.convolve(mask[i], z)
        body[i] += full[:n] - np.append(full[n:], 0)
    rlwe = np.stack([mask, body % (1 << 32)], axis=1).astype(np.uint32)
    data = {"rlwe": rlwe, "place": place, "log2_t": 8, "bytes": count * n}
    return data, z, msg.reshape(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("npz", nargs="?")
    ap.add_argument("link", nargs="?")
    ap.add_argument("message", nargs="?")
    ap.add_argument("--first", type=int, default=0, help="number of the first RLWE ciphertext; a run takes N/n of them")
    ap.add_argument("--log-n", type=int, default=12)
    ap.add_argument("--noise", type=float, default=-20)
    args = ap.parse_args()
    big, start, expected = 1 << args.log_n, time.time(), None
    if args.npz:
        try:
            data, key = dict(np.load(args.npz)), json.load(open(args.link))
            z = np.frombuffer(bytes.fromhex(key["bits"]), np.uint8)
        except (OSError, TypeError, ValueError, KeyError) as error:
            sys.exit(f"not an export of homaes and its link.key: {error}")
        if bytes(data["link"]).hex() != key["id"]:
            sys.exit(f"{args.link}: another link key than {args.npz} names")
        z = np.unpackbits(z, bitorder="little").astype(np.int64)
        n = len(z)
        data["rlwe"] = data["rlwe"][args.first:args.first + big // n]
        data["bytes"] = min(int(data["bytes"]) - args.first * n, len(data["rlwe"]) * n)
        if args.message:
            expected = np.fromfile(args.message, np.uint8)[args.first * n:][:data["bytes"]].astype(np.int64)
    else:
        data, z, expected = synthetic(2048, big // 2048, args.noise, np.random.default_rng(1))
    if int(data["log2_t"]) != 8:
        sys.exit(f"bytes modulo 2^{int(data['log2_t'])}, expected 2^8: make the bridge with --bridge ckks:8")
    words = data["rlwe"].astype(np.int64)
    count, _, n = words.shape
    step = big // n

    table = np.random.default_rng(7).permutation(256) - 128     # any 256 values; small ones keep the error small
    coeffs = o.GetHermiteTrigCoefficients(lambda x: int(table[x % P]), P, 1, SCALE)
    depth = AFTER + o.CryptoContext.GetFBTDepth(BUDGET, coeffs, P, 1, o.SPARSE_ENCAPSULATED)
    par = o.CCParamsCKKSRNS()
    for name, value in [("SecretKeyDist", o.SPARSE_ENCAPSULATED), ("RingDim", big),
                        ("SecurityLevel", o.HEStd_128_classic if big >= 1 << 16 else o.HEStd_NotSet),
                        ("ScalingModSize", 47), ("FirstModSize", 47), ("ScalingTechnique", o.FIXEDMANUAL),
                        ("NumLargeDigits", 3), ("BatchSize", big // 2), ("MultiplicativeDepth", depth)]:
        getattr(par, "Set" + name)(value)
    cc = o.GenCryptoContext(par)
    for f in (o.PKE, o.KEYSWITCH, o.LEVELEDSHE, o.ADVANCEDSHE, o.FHE):
        cc.Enable(f)
    keys = cc.KeyGen()

    embedded = np.zeros(big, dtype=np.int64)                    # z(X^(N/n))
    embedded[::step] = z
    link = with_polys(keys.secretKey, o.DeserializePrivateKeyString, [embedded])
    to_sk = cc.KeySwitchGen(link, keys.secretKey)
    cc.EvalFBTSetup(coeffs, big // 2, P, P, Q, keys.publicKey, [0, 0], BUDGET, AFTER, 0, 1)
    cc.EvalBootstrapKeyGen(keys.secretKey, big // 2)
    cc.EvalMultKeyGen(keys.secretKey)
    print(f"depth {depth}, keys made in {time.time() - start:.1f} s", flush=True)

    rlwe = o.SchemeletRLWEMP
    elements = rlwe.GetElementParams(keys.secretKey, depth)
    q0 = elements.GetModulus()
    polys = np.zeros((2, big), dtype=object)                    # sum over i of X^i c_i(X^(N/n)), rounded to q0
    for i in range(count):
        for row, poly in enumerate((words[i, 1], -words[i, 0])):
            polys[row, i::step] = [(2 * int(c) * q0 + (1 << 32)) >> 33 for c in poly]
    blank = rlwe.EncryptCoeff([0] * big, Q, P, keys.secretKey, elements)
    blank = rlwe.ConvertRLWEToCKKS(cc, blank, keys.publicKey, Q, big // 2, depth)
    ct = cc.KeySwitch(with_polys(blank, o.DeserializeCiphertextString, list(polys)), to_sk)

    order = (np.arange(count)[:, None] + np.asarray(data["place"])[None, :] * step).reshape(-1)[:int(data["bytes"])]

    def read(c, p):                                             # in the order of the message
        polys = rlwe.ConvertCKKSToRLWE(c, Q)
        return np.array(rlwe.DecryptCoeff(polys, Q, p, keys.secretKey, elements, big // 2, big))[order]

    fine = read(ct, P << 20)
    plain = (fine + (1 << 19) >> 20) % P
    noise = (fine + (1 << 19)) % (1 << 20) / 2.0 ** 20 - 0.5
    print(f"before: noise 2^{np.log2(noise.std() / P):.2f} of the torus, largest {abs(noise).max():.2g} of a unit")
    if expected is not None:
        print("bytes wrong before the table:", int((plain != expected).sum()), "of", plain.size)
        plain = expected
    start = time.time()
    out = cc.EvalFBT(ct, coeffs, 8, q0, SCALE, 0, 1)
    print(f"EvalFBT in {time.time() - start:.1f} s")
    fine = read(out, P << 16)
    noise = ((fine - (table[plain] << 16) + (1 << 23)) % (1 << 24) - (1 << 23)) / 2.0 ** 16
    print(f"after: {int((abs(noise) >= 0.5).sum())} of {plain.size} wrong; error {noise.std():.2g} of a unit, largest "
          f"{abs(noise).max():.2g}")


if __name__ == "__main__":
    main()
