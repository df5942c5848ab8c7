"""Find the dimension at which an LWE key in blocks with at most one 1 each is as hard as a key of independent bits.

    python tools/measure/block_binary.py 608 -12.76

The arguments are the dimension of a key of independent bits, and log2 of the noise over the torus of 2^64 points.
Prints, for blocks of 2 to 5, the least dimension at which each attack costs as much as on that key. tools/estimate
takes its columns from here. Attacks, in gates by the sieving cost of MATZOV's report (2022) or another model, under
the geometric series assumption:

- bdd: reduction and one shortest vector, with the secret's covariance scaled to 1 (determinant p^(b+1) per block,
  p = 1/(b+1));
- dual: the dual hybrid attack of MATZOV's report, with the entropy of blocks for guessed coordinates;
- hybrid: a meet in the middle over some blocks, which always succeeds with free memory, then reduction and Babai's
  algorithm for the others. A lower bound of the attack's cost, by some 30 bits for independent bits.

A unit of a ring of degree d rotates the secret, so one reduction has d targets. In one of them k given blocks are zero,
with the least k such that (b+1)^k >= d, and count as known. With tables the d targets share one; without, the attempts
are not counted, to the attacker's favour.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from math import e, erf, log, log2, pi, sqrt

MODULUS_LOG = 64.0
# a progressive sieve takes PROGRESSIVE times as long as its last step
PROGRESSIVE = 1 / (1 - 2**-0.292)
# log2 of the gates of a product and a sum in the guesses of the dual attack
PRODUCT, SUM = 10, log2(160)


class Secret:
    """Blocks of b coordinates of which at most one is 1; all b + 1 cases have the same probability."""

    def __init__(self, b: int) -> None:
        p = 1 / (b + 1)
        self.block = b
        # geometric mean over the axes of the covariance; standard deviation of a coordinate
        self.scaled, self.sigma = p ** ((b + 1) / (2 * b)), sqrt(p * (1 - p))
        self.entropy = log(b + 1) / b


def log_delta(beta: int) -> float:
    return log2((beta / (2 * pi * e)) * (pi * beta) ** (1 / beta)) / (2 * (beta - 1))


def total(*logs: float) -> float:
    most = max(logs)
    return most + log2(sum(2 ** (x - most) for x in logs))


class Matzov:
    """Gates of a sieve in dimension x: 2^(slope x + offset)."""

    slope, offset = 0.29613500308205365, 20.387885985467914

    def sieve(self, dimension: float) -> float:
        return log2(PROGRESSIVE) + self.slope * dimension + self.offset

    def shortest(self, beta: int) -> float:
        return self.sieve(beta - beta * log(4 / 3) / log(beta / (2 * pi * e)))

    def reduction(self, beta: int, dimension: int) -> float:
        return log2(PROGRESSIVE * max(dimension - beta, 1)) + self.shortest(beta)


class Sieve:
    """2^(slope beta + offset) per call, with 8 d calls; a single call without an offset (core-SVP)."""

    def __init__(self, slope: float, offset: float | None = None) -> None:
        self.slope, self.offset = slope, offset

    def sieve(self, dimension: float) -> float:
        return self.slope * dimension + (self.offset or 0)

    shortest = sieve

    def reduction(self, beta: int, dimension: int) -> float:
        return self.sieve(beta) + (0 if self.offset is None else log2(8 * dimension))


MATZOV = Matzov()
CORE_SVP, CORE_SVP_QUANTUM, QUANTUM = Sieve(0.292), Sieve(0.265), Sieve(0.265, 16.4)


def lattice(n: int, noise: float, secret: Secret, delta: float) -> tuple[int, float]:
    """The best dimension, and log2 of the root of the volume."""
    scale = noise - log2(secret.scaled)
    samples = max(1, int(sqrt(n * (MODULUS_LOG - scale) / delta)) - n)
    dimension = samples + n + 1
    return dimension, (samples * MODULUS_LOG + n * scale) / dimension


def known(secret: Secret, targets: int) -> int:
    """Coordinates that are zero in one of the targets."""
    return secret.block * math.ceil(log2(targets) / log2(secret.block + 1))


def bdd(n: int, noise: float, secret: Secret, model: Matzov | Sieve = MATZOV, targets: int = 1) -> float:
    def found(size: int, dimension: int, root: float, delta: float) -> bool:
        return 0.5 * log2(size) + noise <= root + (2 * size - dimension - 1) * delta

    best, n = math.inf, n - known(secret, targets)
    for beta in range(100, 900):
        delta = log_delta(beta)
        dimension, root = lattice(n, noise, secret, delta)
        sizes = range(beta, min(dimension, beta + 120))
        size = next((x for x in sizes if found(x, dimension, root, delta)), None)
        if size is not None:
            best = min(best, total(model.reduction(beta, dimension), model.shortest(size)))
            if size == beta:
                return best
    return best


def dual(n: int, noise: float, secret: Secret, model: Matzov | Sieve = MATZOV, targets: int = 1) -> float:
    n -= known(secret, targets)

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
        sampling = max(0.0, vectors - 0.2075 * sieved) + total(model.reduction(beta, dimension), model.sieve(sieved))
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


def hybrid(
    n: int, noise: float, secret: Secret, model: Matzov | Sieve = MATZOV, targets: int = 1, coarse: int = 4
) -> float:
    best, n = math.inf, n - known(secret, targets)
    for blocks in range(0, int(0.7 * n / secret.block), 1 + 5 // secret.block if coarse > 1 else 1):
        left = n - blocks * secret.block
        guesses = (blocks * log2(secret.block + 1) + log2(targets)) / 2
        for beta in range(100, 600, coarse):
            delta = log_delta(beta)
            dimension, root = lattice(left, noise, secret, delta)
            cost = total(model.reduction(beta, dimension), guesses + log2(dimension**2 / 2**1.06))
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


def columns(dimension: int, log2_sigma: float, degree: int, block: int) -> dict[str, dict[str, object]]:
    """The columns of tools/estimate: the cheapest attack and its cost, rounded down to a tenth."""
    noise, secret = log2_sigma + MODULUS_LOG, Secret(block)
    fine = partial(hybrid, coarse=1)

    def least(model: Matzov | Sieve, targets: int, tables: bool = True) -> dict[str, object]:
        attacks = {"bdd": bdd, "dual_hybrid": dual, "bdd_mitm_hybrid": fine} if tables else {"bdd": bdd}
        costs = {name: attack(dimension, noise, secret, model, targets) for name, attack in attacks.items()}
        best = min(costs, key=costs.get)
        return {"attack": best, "bits": math.floor(10 * costs[best]) / 10}

    return {
        "bits": least(MATZOV, 1),
        "without_tables": least(MATZOV, 1, False),
        "with_rotations": least(MATZOV, degree),
        "with_rotations_without_tables": least(MATZOV, degree, False),
        "core_svp": least(CORE_SVP, degree),
        "core_svp_quantum": least(CORE_SVP_QUANTUM, degree),
        "quantum": least(QUANTUM, degree),
    }


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
