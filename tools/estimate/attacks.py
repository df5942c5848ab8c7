"""Cost of attacks on LWE, from the published formulas. Python 3.9 or later and numpy, nothing else.

All costs are log2 of a number of operations. Sources, by the letters used below:

[ACW]   Albrecht, Curtis, Wunder: Exploring trade-offs in batch bounded distance decoding (SAC 2019)
[ADPS]  Alkim, Ducas, Poeppelmann, Schwabe: Post-quantum key exchange, a new hope (USENIX 2016): condition of uSVP, core-SVP
[APS]   Albrecht, Player, Scott: On the concrete hardness of learning with errors (2015), the paper of the lattice-estimator
[BDGL]  Becker, Ducas, Gama, Laarhoven: New directions in nearest neighbor searching (SODA 2016)
[BG]    Bai, Galbraith: Lattice decoding attacks on binary LWE (ACISP 2014): scaling of a small secret
[C]     Chen: Reduction de reseau et securite concrete (thesis, 2013): root-Hermite factor; the geometric series assumption (GSA) is
        Schnorr's (2003), the cost of enumeration is Chen and Nguyen's (BKZ 2.0, 2012)
[D]     Ducas: Shortest vector from lattice sieving (Eurocrypt 2018): dimensions for free
[HG]    Howgrave-Graham: A hybrid lattice-reduction and meet-in-the-middle attack against NTRU (CRYPTO 2007)
[L]     Laarhoven, Mosca, van de Pol (2015), Laarhoven (thesis, 2015): quantum sieving
[LN]    Liu, Nguyen: Solving BDD by enumeration (RSA 2013)
[M]     MATZOV: Report on the security of LWE (2022): cost of sieving, Theorem 7.6
[SC]    Son, Cheon: Revisiting the hybrid attack on sparse secret LWE (2019): success of meeting in the middle
[W]     Wunderer: Revisiting the hybrid attack (2016): success of Babai's nearest plane
"""

import math
from dataclasses import dataclass, replace

import numpy as np

LN2 = math.log(2)
INF = float("inf")


@dataclass(frozen=True)
class Lwe:
    """LWE with unlimited samples."""

    n: int
    log2_q: float
    sigma: float  # standard deviation of the error, as a number modulo q
    secret: object  # number of coefficients +-1 of a sparse secret; "ternary" or "binary": uniform

    @property
    def ln_q(self):
        return self.log2_q * LN2

    @property
    def weight(self):
        return {"binary": self.n // 2, "ternary": 2 * self.n // 3}.get(self.secret, self.secret)

    @property
    def signs(self):
        """Values of a coefficient that is not zero."""
        return 1 if self.secret == "binary" else 2

    @property
    def secret_sigma(self):
        return 0.5 if self.secret == "binary" else math.sqrt(self.weight / self.n)

    @property
    def xi(self):
        """Scale of the secret's coordinates, which makes them as large as the error [BG]."""
        return max(1.0, self.sigma / self.secret_sigma)


@dataclass(frozen=True)
class Shifts:
    """One lattice reduction serves several targets, because multiplication by a unit only rotates the secret.

    `count` targets are tried and `good` of them are as sparse as the secret. `extra` redundant coordinates are guessed besides, which
    makes all of them good (README.md). `shared`: they share the table of a meet-in-the-middle.
    """

    count: float = 1
    good: float = 1
    extra: int = 0
    shared: bool = True


ONE = Shifts()


# Lattice reduction


def ln_delta(beta):
    """ln of the root-Hermite factor that BKZ with block size beta >= 40 reaches [C]."""
    return math.log(beta / (2 * math.pi * math.e) * (math.pi * beta) ** (1 / beta)) / (2 * (beta - 1))


class Matzov:
    """List-decoding sieve in classical gates: fit of [M] to the circuits of Albrecht et al. (Asiacrypt 2020), progressive BKZ."""

    name = "MATZOV"
    slope, offset = 0.29613500308205365, 20.387885985467914
    log2_progressive = -math.log2(1 - 2**-slope)

    def __call__(self, beta, d):
        beta, d = np.asarray(beta, float), np.asarray(d, float)
        gates = self.log2_progressive + self.slope * (beta - self.free(beta)) + self.offset
        sieve = self.log2_progressive + np.log2(np.maximum(d - beta, 1)) + gates
        small = np.maximum(beta, 2)  # the fit does not hold for tiny blocks: enumeration [C]
        enumeration = 0.270188776350190 * small * np.log(small) - 1.0192050451318417 * small + 16.10253135200765
        enumeration = enumeration + math.log2(100) + np.log2(np.where(beta < d, 8 * d, 1))
        return np.logaddexp2(3 * np.log2(d), np.where(beta < 20, enumeration, sieve))

    @staticmethod
    def free(beta):
        """Dimensions for free [D]."""
        return np.maximum(beta * math.log(4 / 3) / np.log(np.maximum(beta, 18) / (2 * math.pi * math.e)), 0)

    def short_vectors(self, beta, d, log2_count):
        """Reduction, then one sieve of about the same cost on the first block: [M], as Guo and Johansson (2021)."""
        inner = beta - math.floor(self.free(beta))
        extra = np.log2(np.maximum(d - beta, 1)) + self.log2_progressive
        sieve = np.minimum(d, np.floor(inner + extra / self.slope))
        once = np.logaddexp2(self(beta, d), self.log2_progressive + self.slope * sieve + self.offset)
        return once + log2_ceil(log2_count - 0.2075 * sieve)


@dataclass(frozen=True)
class Sieve:
    """2^(slope beta + offset) for a call; 8 d calls and LLL [C], or one call alone where `offset` is None (core-SVP, [ADPS])."""

    name: str
    slope: float
    offset: object = None

    def __call__(self, beta, d):
        beta, d = np.asarray(beta, float), np.asarray(d, float)
        if self.offset is None:
            return self.slope * beta + 0 * d
        slope = np.where((beta <= 90) & (self.name == "BDGL16"), 0.387, self.slope)
        return np.logaddexp2(3 * np.log2(d), slope * beta + self.offset + np.log2(np.where(beta < d, 8 * d, 1)))

    def short_vectors(self, beta, d, log2_count):
        return self(beta, d) + log2_ceil(log2_count - 0.2075 * beta)


MATZOV = Matzov()
BDGL16 = Sieve("BDGL16", 0.292, 16.4)
CORE_SVP = Sieve("ADPS16", 0.292)
CORE_SVP_QUANTUM = Sieve("ADPS16 quantum", 0.265)
QUANTUM = Sieve("LaaMosPol14", 0.265, 16.4)


def log2_ceil(log2_x):
    """log2 of 2^x rounded up to a whole number, at least 1."""
    return np.log2(np.ceil(np.exp2(np.clip(log2_x, 0, 1000))))


# Attacks without guessing


def usvp(lwe, model=MATZOV):
    """The smallest block size for which the embedded secret is found as a shortest vector [ADPS], [BG]."""

    def dimension(beta):
        delta = ln_delta(beta)
        d = np.arange(max(lwe.n, beta + 1), math.ceil(math.sqrt(lwe.n * lwe.ln_q / delta)) + 1, dtype=float)
        ln_volume = math.log(lwe.sigma) + lwe.n * math.log(lwe.xi) + lwe.ln_q * (d - lwe.n - 1)
        found = delta * (2 * beta - d - 1) + ln_volume / d >= math.log(lwe.sigma) + 0.5 * math.log(beta)
        return int(d[np.argmax(found)]) if found.any() else None

    low, high = 40, 80
    while dimension(high) is None:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if dimension(middle) else (middle + 1, high)
    d = dimension(low)
    return {"attack": "usvp", "bits": round(float(model(low, d)), 2), "beta": low, "d": d}


def bdd(lwe, model=MATZOV, fixed=0):
    """Reduction, then one closest-vector search in a larger block [LN]. `fixed` coordinates are known after 2^fixed tries."""
    lwe = replace(lwe, n=lwe.n - fixed, secret=lwe.secret)
    shifts = Shifts(2.0**fixed, 1, 0)
    return hybrid(lwe, model, "bdd", shifts, guess=False)


# The hybrid attack


class Profile:
    """The sum of g(y + i s) over i >= 0, where g vanishes for large y: Euler-Maclaurin on a table of g and its integral."""

    def __init__(self, g):
        self.y = np.linspace(-6, 40, 46001)
        self.g = np.array([g(y) for y in self.y])
        areas = 0.5 * (self.g[1:] + self.g[:-1]) * (self.y[1] - self.y[0])
        self.integral = np.append(np.cumsum(areas[::-1])[::-1], 0)

    def total(self, y, step):
        g, integral = (np.interp(y, self.y, t, left=-1e9) for t in (self.g, self.integral))
        return integral / step + g / 2


def ln_babai(y):
    """ln of the probability that a coordinate of the error is in half a Gram-Schmidt norm of sigma e^y [W]."""
    return math.log(max(math.erf(math.exp(y) / math.sqrt(8)), 1e-300)) if y < 5 else 0.0


def ln_meet(y):
    """ln of the probability that both halves are rounded alike in such a coordinate [SC]."""
    x = math.exp(y) / math.sqrt(2)
    p = math.erf(x) + (math.exp(-x) - 1) / (math.sqrt(math.pi) * x)
    return math.log(p) if p > 0 else -1e6


BABAI, MEET = Profile(ln_babai), Profile(ln_meet)
LN_FACTORIAL = np.concatenate([[0], np.cumsum(np.log(np.arange(1, 1 << 17)))])
LN_GAMMA = np.array([math.lgamma(k / 2 + 1) for k in range(4096)])


def ln_binomial(n, k):
    n, k = np.asarray(n).astype(int), np.asarray(k).astype(int)
    none = (k < 0) | (k > n)
    k = np.where(none, 0, k)
    return np.where(none, -INF, LN_FACTORIAL[n] - LN_FACTORIAL[k] - LN_FACTORIAL[n - k])


def svp_dimension(lwe, d, ln_volume, delta):
    """The largest block in which the target's projection is no longer the shortest vector, and one more [LN]."""

    def longer(k):
        ln_block = k / d * ln_volume - (d - k) * k * delta + math.log(lwe.sigma)
        m = k + 1
        gaussian = 2 / m * (ln_block - m / 2 * math.log(math.pi) + LN_GAMMA[m.astype(int)])
        return gaussian < np.log(lwe.sigma**2 * m)

    low, high = np.zeros_like(d), np.minimum(d, 1754)
    never = longer(high)
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        low, high = np.where(longer(middle), middle, low), np.where(longer(middle), high, middle)
    return np.where(never, INF, low + 1)


def hybrid_costs(lwe, model, beta, zeta, d, search, shifts, exponent, whole):
    """Costs for arrays of zeta, guessed coordinates, and d, dimension of the lattice part; and what goes with them.

    A guess costs one nearest plane ("babai", [HG], [W]) or one closest-vector search ("bdd", [ACW]). "tables" meets in the middle: the
    square root of the guesses, the memory not counted. `exponent` replaces 1/2 or 1 as exponent of the number of guesses.
    """
    zeta, d = np.broadcast_arrays(np.asarray(zeta, float), np.asarray(d, float))
    delta, lattice = ln_delta(beta), lwe.n - zeta
    reduction = model(beta, d)
    ln_volume = (d - lattice) * lwe.ln_q + lattice * math.log(lwe.xi)
    last = ln_volume / d - (d - 1) * delta - math.log(lwe.sigma)  # last Gram-Schmidt norm by the GSA, over sigma
    if search == "bdd":
        eta = np.maximum(svp_dimension(lwe, d, ln_volume, delta), 21)  # below, success needs a probability [W]
        block = np.where(np.isfinite(eta), eta, 2)
        once = np.logaddexp2(model(block + 1, block + 1), 2 * np.log2(np.maximum(d - block, 1)))
        ln_hit = np.where(np.isfinite(eta), 0, -INF)
    else:
        eta, once = np.full_like(d, 2), 2 * np.log2(d)
        ln_hit = BABAI.total(last, 2 * delta)
        if search == "tables":
            ln_hit = ln_hit + np.where(zeta > 0, MEET.total(last, 2 * delta), 0)
    if exponent is None:
        exponent = 0.5 if search == "tables" else 1
    # guesses of weight up to w on the guessed coordinates: how many, and the probability that one of them is right
    w = np.arange(260 if lwe.n < 4096 else 48 if lwe.log2_q > 650 else 120)
    n, guessed = lwe.n + shifts.extra, (zeta + shifts.extra)[..., None]
    choices = ln_binomial(guessed, w)
    ln_guesses = np.logaddexp.accumulate(choices + w * math.log(lwe.signs), axis=-1)
    rest = ln_binomial(n - guessed, lwe.weight - w) - ln_binomial(n, lwe.weight)
    ln_right = np.logaddexp.accumulate(choices + rest, axis=-1) + ln_hit[..., None]
    tries = math.log2(shifts.count) * (0.5 if exponent < 1 and shifts.shared else 1)
    cost = np.logaddexp2(reduction[..., None], tries + once[..., None] + exponent * ln_guesses / LN2)
    # repeated until it succeeds with 99 %; a reduction fails if all its good shifts do
    with np.errstate(all="ignore"):
        ln_fail = shifts.good * np.log1p(-np.exp(np.minimum(ln_right, -1e-12)))
        times = np.where(-np.expm1(ln_fail) > 0.99, 1, math.log(0.01) / ln_fail)
        times = np.ceil(times) if whole else times
        cost = np.where((ln_right > -600) & (d >= beta)[..., None], cost + np.log2(times), INF)
    best = np.argmin(cost, axis=-1)[..., None]
    pick = lambda a: np.take_along_axis(a, best, -1)[..., 0]
    return pick(cost), {"eta": eta, "log2_guesses": pick(ln_guesses) / LN2, "weight": best[..., 0]}


def hybrid(lwe, model=MATZOV, search="tables", shifts=ONE, guess=True, exponent=None):
    """The hybrid attack at its best block size, number of guessed coordinates, weight of guesses and dimension."""

    def grid(beta, zetas, ratios, whole):
        zetas = np.unique(np.round(np.clip(zetas, 0, 0.9 * lwe.n)))
        best_d = np.sqrt((lwe.n - zetas) * (lwe.ln_q - math.log(lwe.xi)) / ln_delta(beta))
        ds = np.maximum(np.round(best_d[:, None] * ratios), beta + 1)
        costs = hybrid_costs(lwe, model, beta, zetas[:, None], ds, search, shifts, exponent, whole)[0]
        i, j = np.unravel_index(np.argmin(costs), costs.shape)
        return float(costs[i, j]), zetas[i], ratios[j], ds[i, j]

    def smooth(beta):
        """Cost with fractional repetitions, by a search that halves its window."""
        zeta, ratio = 0.3 * lwe.n * guess, 0.98
        wide, high = zeta, 0.08
        for _ in range(4):
            zetas = np.linspace(zeta - wide, zeta + wide, 13 if guess else 1)
            found = _, zeta, ratio, _ = grid(beta, zetas, np.linspace(ratio - high, ratio + high, 9), False)
            wide, high = wide / 4, high / 3
        return found

    def stepped(beta):
        """Whole repetitions make steps, the best of which is near the smooth optimum."""
        _, zeta, ratio, _ = smooth(beta)
        best = INF, 0, 0, 0
        for wide, low, high in ((0.08, 0.985, 1.045), (0.01, 0.997, 1.003)):
            zetas = np.linspace(zeta * (1 - wide), zeta * (1 + wide), 17 if guess else 1)
            best = min(best, grid(beta, zetas, ratio * np.linspace(low, high, 31), True))
            _, zeta, ratio, _ = best
        return best

    top = usvp(lwe, model)["beta"] + 1
    beta = minimise(lambda beta: smooth(beta)[0], max(40, int(0.35 * top)), top)
    (bits, zeta, _, d), beta = min((stepped(b), b) for b in range(max(beta - 6, 40), beta + 7))
    if bits == INF:
        return {"attack": "none", "bits": INF}
    _, more = hybrid_costs(lwe, model, beta, [zeta], [d], search, shifts, exponent, True)
    name = "bdd_mitm_hybrid" if search == "tables" else "bdd_hybrid" if guess else "bdd"
    return {
        "attack": name, "bits": round(bits, 2), "beta": beta, "eta": int(more["eta"][0]), "zeta": int(zeta), "d": int(d),
        "log2_guesses": round(float(more["log2_guesses"][0]), 1), "weight": int(more["weight"][0]),
    }


def hybrid_without_tables(lwe, model=MATZOV, shifts=ONE, exponent=None):
    found = [hybrid(lwe, model, search, shifts, exponent=exponent) for search in ("babai", "bdd")]
    return min(found, key=lambda attack: attack["bits"])


def minimise(f, low, high, steps=9):
    """The whole number in [low, high] with the least f, which falls and then rises but for noise."""
    seen = {}

    def at(x):
        if x not in seen:
            seen[x] = f(x)
        return seen[x]

    while True:
        xs = sorted({round(low + (high - low) * i / (steps - 1)) for i in range(steps)})
        i = min(range(len(xs)), key=lambda i: at(xs[i]))
        if xs[-1] - xs[0] < steps:
            return min(seen, key=seen.get)
        low, high = xs[max(i - 1, 0)], xs[min(i + 1, len(xs) - 1)]


# The dual attack


def dual(lwe, model=MATZOV, fixed=0):
    """Theorem 7.6 of [M] with modulus p = 2. `fixed` coordinates are known after 2^fixed tries of one list of dual vectors."""
    s, p = lwe.secret_sigma, 2
    n, m = lwe.n - fixed, lwe.n
    entropy = (0.5 + math.log(math.sqrt(2 * math.pi) * s) - math.log(math.tanh(math.pi**2 * s * s))) / LN2
    alpha = math.pi**2 * s * s
    log2_a = math.log2(2 / math.sqrt(math.e)) + 8 * alpha * math.exp(-2 * alpha) * math.tanh(alpha) / LN2
    per_guess = entropy + log2_a
    log2_multiply, log2_add = math.log2(32**2), math.log2(5 * 32)
    enumerated, fft = np.meshgrid(np.arange(0.0, 60, 5), np.arange(0.0, min(n, 400), 5), indexing="ij")
    lattice = n - enumerated - fft
    d = m + lattice

    def costs(beta):
        delta = ln_delta(beta)
        ln_length = (m * math.log(lwe.sigma) + lattice * (math.log(s) + lwe.ln_q)) / d + delta * (d - beta)
        ln_length = ln_length + 0.5 * math.log(4 / 3 * beta / (2 * math.pi * math.e))
        hypotheses = enumerated * entropy + fft * math.log(p) + math.log(2)
        ln_count = 4 * np.exp(np.minimum(2 * (ln_length + math.log(math.pi) - lwe.ln_q), 300))
        ln_count = ln_count + fft / 3 * (s * math.pi / p) ** 2 + np.log(hypotheses)
        log2_count = ln_count / LN2
        table = np.logaddexp2(log2_multiply + np.log2(np.maximum(fft, 1e-9)) + fft + 1, 2 + log2_add + log2_count)
        guess = fixed - math.log2(1 - math.exp(-1 / (2 * s * s))) + enumerated * per_guess + table
        return np.logaddexp2(model.short_vectors(beta, d, log2_count), guess)

    beta = minimise(lambda beta: float(costs(beta).min()), 40, usvp(lwe, model)["beta"] + 40)
    cost = costs(beta)
    best = np.unravel_index(np.argmin(cost), cost.shape)
    return {
        "attack": "dual_hybrid", "bits": round(float(cost[best]), 2), "beta": beta,
        "zeta": int(enumerated[best]), "t": int(fft[best]),
    }
