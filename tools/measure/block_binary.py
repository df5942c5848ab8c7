"""How long an LWE key must be whose bits come in blocks with at most one 1 each, to resist as much as a key of independent bits.

    python tools/measure/block_binary.py 608 -12.76

The arguments are the dimension of the key of independent bits and log2 of the noise, as a fraction of the torus of 2^64 points.
Attacks, all in gates by the cost of sieving of MATZOV's report (2022), lattices reduced as the geometric series assumption says:

- bdd: reduction and one shortest vector, with the secret's covariance scaled to 1 (that of a block has the determinant p^(b+1), p = 1/(b+1));
- dual: the dual hybrid attack of MATZOV's report; guessed coordinates have the entropy of blocks;
- hybrid: some blocks by a meet in the middle that always succeeds and whose memory is free, the others by reduction and Babai's
  algorithm. That is a lower bound of the attack's cost, by some 30 bits for independent bits.

Prints, for blocks of 2 to 5, the shortest dimension at which each attack costs as much as on the key of independent bits.
"""

from __future__ import annotations

import math
import sys
from math import e, erf, log, log2, pi, sqrt

MODULUS_LOG = 64.0
# gates of a sieve in dimension x: 2^(SLOPE x + OFFSET); a progressive one takes PROGRESSIVE times the last step
SLOPE, OFFSET = 0.29613500308205365, 20.387885985467914
PROGRESSIVE = 1 / (1 - 2**-0.292)
# log2 of the gates of a product and of a sum in the guesses of the dual attack
PRODUCT, SUM = 10, log2(160)


class Secret:
    """Blocks of b coordinates, one of which or none is 1, all with the same probability."""

    def __init__(self, b: int) -> None:
        p = 1 / (b + 1)
        self.block = b
        # geometric mean over the axes of the covariance; of a coordinate
        self.scaled, self.sigma = p ** ((b + 1) / (2 * b)), sqrt(p * (1 - p))
        self.entropy = log(b + 1) / b


def log_delta(beta: int) -> float:
    return log2((beta / (2 * pi * e)) * (pi * beta) ** (1 / beta)) / (2 * (beta - 1))


def total(*logs: float) -> float:
    most = max(logs)
    return most + log2(sum(2 ** (x - most) for x in logs))


def sieve(dimension: float) -> float:
    return log2(PROGRESSIVE) + SLOPE * dimension + OFFSET


def shortest(beta: int) -> float:
    return sieve(beta - beta * log(4 / 3) / log(beta / (2 * pi * e)))


def reduction(beta: int, dimension: int) -> float:
    return log2(PROGRESSIVE * max(dimension - beta, 1)) + shortest(beta)


def lattice(n: int, noise: float, secret: Secret, delta: float) -> tuple[int, float]:
    """The best dimension, and log2 of the root of the volume."""
    scale = noise - log2(secret.scaled)
    samples = max(1, int(sqrt(n * (MODULUS_LOG - scale) / delta)) - n)
    dimension = samples + n + 1
    return dimension, (samples * MODULUS_LOG + n * scale) / dimension


def bdd(n: int, noise: float, secret: Secret) -> float:
    def found(size: int, dimension: int, root: float, delta: float) -> bool:
        return 0.5 * log2(size) + noise <= root + (2 * size - dimension - 1) * delta

    best = math.inf
    for beta in range(100, 900):
        delta = log_delta(beta)
        dimension, root = lattice(n, noise, secret, delta)
        sizes = range(beta, min(dimension, beta + 120))
        size = next((x for x in sizes if found(x, dimension, root, delta)), None)
        if size is not None:
            best = min(best, total(reduction(beta, dimension), shortest(size)))
            if size == beta:
                return best
    return best


def dual(n: int, noise: float, secret: Secret) -> float:
    def cost(beta: int, sieved: int, samples: int, p: int, blocks: int, transformed: int) -> float:
        guessed = blocks * secret.block
        left = n - guessed - transformed
        if min(left - 50, beta - 60, sieved - 40, samples - 50, blocks, transformed) < 0:
            return math.inf
        dimension = samples + left
        length = (samples * noise + left * (log2(secret.scaled) + MODULUS_LOG)) / dimension
        length += 0.5 * log2(4 / 3 * sieved / (2 * pi * e)) + log_delta(beta) * (dimension - sieved)
        turns = min(length + log2(pi) - MODULUS_LOG, 4)
        vectors = 4 * 2 ** (2 * turns) + transformed / 3 * (secret.sigma * pi / p) ** 2
        vectors += log(guessed * secret.entropy + transformed * log(p) + log(2))
        vectors /= log(2)
        sampling = max(0.0, vectors - 0.2075 * sieved) + total(reduction(beta, dimension), sieve(sieved))
        transform = PRODUCT + log2(max(transformed, 1)) + (transformed + 1) * log2(p)
        guessing = guessed * secret.entropy / log(2) + total(transform, 2 + SUM + vectors)
        return total(sampling, guessing)

    best = math.inf
    singles = [[(i, s)] for i in (0, 1, 2, 4, 5) for s in (1, -1)]
    pairs = [
        [(i, s), (j, t)]
        for i, j in ((0, 1), (4, 5), (0, 4), (0, 5), (1, 4), (1, 5))
        for s in (1, -1)
        for t in (1, -1)
    ]
    for p in (2, 3, 4, 5, 7):
        at = [350, 350, n, p, 15 // secret.block, 25]
        here = cost(*at)
        for step in (40, 16, 8, 4, 2, 1):
            moved = True
            while moved:
                moved = False
                for move in singles + pairs:
                    there = list(at)
                    for i, sign in move:
                        there[i] += sign * step
                    if (found := cost(*there)) < here - 1e-9:
                        at, here, moved = there, found, True
        best = min(best, here)
    return best


def hybrid(n: int, noise: float, secret: Secret) -> float:
    best = math.inf
    for blocks in range(0, int(0.7 * n / secret.block), 1 + 5 // secret.block):
        left = n - blocks * secret.block
        guesses = blocks * log2(secret.block + 1) / 2
        for beta in range(100, 420, 4):
            delta = log_delta(beta)
            dimension, root = lattice(left, noise, secret, delta)
            cost = total(reduction(beta, dimension), guesses + log2(dimension**2 / 2**1.06))
            if cost >= best:
                break
            chance = 0.0
            for i in range(dimension - 1, -1, -1):
                half = 2 ** (root + (dimension - 1 - 2 * i) * delta - noise - log2(2 * sqrt(2)))
                if half > 5 or chance < -40:
                    break
                chance += log2(max(erf(half), 1e-300))
            if chance > -40:
                best = min(best, cost - chance)
    return best


def main() -> None:
    dimension, noise = int(sys.argv[1]), float(sys.argv[2]) + MODULUS_LOG
    attacks = [bdd, dual, hybrid]
    wanted = [attack(dimension, noise, Secret(1)) for attack in attacks]
    print(f"independent bits, {dimension}:", *(f"{a.__name__} {x:.1f}" for a, x in zip(attacks, wanted)))
    for block in range(2, 6):
        secret, found = Secret(block), []
        for attack, bits in zip(attacks, wanted):
            low, high = dimension // block, 3 * dimension // (2 * block)
            while high - low > 1:
                middle = (low + high) // 2
                enough = attack(middle * block, noise, secret) >= bits
                low, high = (low, middle) if enough else (middle, high)
            found.append(high * block)
        print(f"blocks of {block}:", *(f"{a.__name__} {n}" for a, n in zip(attacks, found)), flush=True)


if __name__ == "__main__":
    main()
