"""A kernel means what Python says it means: its text run by Python itself, with NumPy's scalars, gives what the
interpreter makes of its tree."""

import itertools
import math
import textwrap

import numpy as np
import pytest

from pydotcompute.interpreter import execute as interpret

N = 6
SIGNATURE = "(a: T, x: T[n], k: int32[n], u: uint8[n], b: bool[n]) -> (out: T[n], count: int64[n], total: T)"
NAMES = "a, x, k, u, b, out, count, total"


def arguments():
    """Small whole numbers, so that sums are exact in any order."""
    return {
        "a": np.float32(3), "x": np.array([2, -1, 4, 0, 7, -3], np.float32), "k": np.arange(-2, 4, dtype=np.int32),
        "u": np.array([200, 1, 0, 255, 16, 3], np.uint8), "b": np.array([1, 0, 1, 1, 0, 0], bool),
        "out": np.zeros(N, np.float32), "count": np.zeros(N, np.int64), "total": np.zeros((), np.float32),
    }  # fmt: skip


def indices(*counts):
    return range(counts[0]) if len(counts) == 1 else itertools.product(*map(range, counts))


def weak_or(function, numpys):
    return lambda *values: (numpys if any(isinstance(v, np.generic) for v in values) else function)(*values)


def position(choose):
    def found(values):
        values = list(values)
        return np.int64(values.index(choose(values))) if values else np.int64(-1)

    return found


def atomic(combine):
    def update(array, index, value):
        array[index] = combine(array[index], value)

    return update


LANGUAGE = {
    "grid": indices, "blocks": indices, "threads": indices, "inf": math.inf, "pi": math.pi, "n": N, "T": np.float32,
    "shared": np.zeros, "private": np.zeros, "local": np.zeros, "TILE": 4,
    "atomic_add": atomic(lambda p, q: p + q), "atomic_max": atomic(max),
    "argmin": position(min), "argmax": position(max),
    "sqrt": weak_or(math.sqrt, np.sqrt), "floor": weak_or(math.floor, np.floor), "where": lambda c, p, q: p if c else q,
    "popcount": lambda v: v.bit_count() if isinstance(v, int) else int(v).bit_count(),
    **{name: getattr(np, name) for name in ("float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool")},
}  # fmt: skip

KERNELS = {
    "saxpy": "for i in grid(n):\n    out[i] = a * x[i] + k[i]",
    "weak names": """
        h = 0.5
        for i in grid(n):
            t = i + 1
            out[i] = h * x[i] * t - n / 4 + t // 2
            count[i] = t % 4 + n ** 2""",
    "integers": """
        for i in grid(n):
            count[i] = (k[i] << 2) + (u[i] >> 1) - (k[i] & 3) + (u[i] ^ 5) + (k[i] | 8) + ~k[i]
            out[i] = k[i] // 3 + k[i] % 3 - x[i] // 2 + x[i] % -3""",
    "wrapping": "for i in grid(n):\n    count[i] = u[i] + 100\n    out[i] = -u[i] * 3",
    "bools": """
        for i in grid(n):
            p = b[i] and not x[i] > 1
            q = b[i] + (i > 2)
            count[i] = p + 2 * q + (b[i] | p) + (b[i] ^ True) + (b[i] * p)
            out[i] = max(b[i], p) + ~b[i] + min(b[i], b[0]) + abs(b[i]) * 4""",
    "chains": "for i in grid(n):\n    count[i] = 0 <= x[i] < a <= 3 < n and not 1 < k[i] <= 2 or u[i] == 255",
    "truth": "for i in grid(n):\n    if x[i] and not k[i] or u[i]:\n        out[i] = 1 if b[i] else a",
    "loops": """
        for i in grid(n):
            s = 0
            for j in range(i, -1, -2):
                if j == 3:
                    continue
                for j in range(2):
                    s += j
                s += x[j]
            while s < 9:
                s += 4
                if b[i]:
                    break
            out[i] = s""",
    "last index": "for i in grid(n):\n    for j in range(4):\n        out[i] += j\n    count[i] = j",
    "index of another type": """
        for i in grid(n):
            for j in range(3):
                out[i] += j
                j = k[i]
                count[i] += j""",
    "swap": """
        for i in grid(n):
            p, q = x[i], a
            p, q = q + 1, p
            out[i], p = p - q, 2
            v = w = p * x[i]
            count[i] = v + w""",
    "local e": "for i in grid(n):\n    e = x[i] + 1\n    out[i] = e * e",
    "functions": """
        for i in grid(n):
            out[i] = min(x[i], a, 2) + max(k[i], 1) + abs(x[i]) + sqrt(4) * round(x[i] / 4) + floor(x[i] / 2)
            count[i] = where(b[i], k[i], 7) + popcount(u[i]) + int64(float32(2.75)) + int8(x[i])""",
    "accumulators": """
        s = 0.0
        c = 0
        low = T(100)
        bits = 0
        odd = False
        p = 1
        for i in grid(n):
            if x[i] > 0:
                s += x[i]
            else:
                s -= 2 * x[i]
            c += b[i]
            low = min(low, x[i])
            bits |= u[i]
            odd ^= b[i]
            p *= 2
            out[i] = a
        total[()] = s + low
        if odd and p > 1:
            total[()] += c * 100
        total[()] += bits""",
    "grid reduction": """
        m = a + 1
        total[()] = sum(x[i] * m for i in grid(n) if b[i] if x[i] > 1) / n
        total[()] += 1""",
    "grid in two directions": "for i, j in grid(3, 2):\n    out[i * 2 + j] = 10 * i + j",
    "block reductions": """
        for r in blocks(n):
            m = max(x[c] for c in threads(n))
            s = sum(x[c] - m for c in threads(r) if b[c])
            count[r] = argmin(x[c] + c for c in threads(n)) + 10 * argmax(k[c] * r for c in threads(n))
            if any(x[c] > 6 for c in threads(r)):
                s += 100
            elif all(u[c] >= 0 for c in threads(0)) and r != 1:
                s += sum(1 for c, d in threads(2, 3) if d > c)
            out[r] = s + sum(b[c] for c in threads(n))""",
    "reduction in a while": """
        for r in blocks(n):
            m = 0.0
            while sum(x[c] for c in threads(n) if x[c] > m) > r:
                m += 1
                if m == 2:
                    m = T(3)
                    continue
            out[r] = m""",
    "kernel arrays": """
        for r in blocks(2):
            t = shared((TILE, 2), T)
            for c, d in threads(TILE, 2):
                v = local(3, int32)
                v[0] = c
                v[d + 1] = 5 * d
                t[c, d] = v[0] + v[d + 1]
            s = T(0)
            for c, d in threads(TILE, 2):
                s += t[TILE - 1 - c, 1 - d]
            out[r] = s""",
    "block level": """
        for r in blocks(n):
            s = 0.0
            for j in range(r):
                if j % 2 == 0:
                    for c in threads(n):
                        v = x[c] * j
                        s += v
                s += 1
            out[r] = s""",
    "atomics": "for i in grid(n):\n    atomic_add(count, u[i] % 3, 1)\n    atomic_max(out, 0, x[i])",
    "unreachable": """
        for i in grid(n):
            while True:
                out[i] = 2
                break
                out[i] = 3
            continue
            out[i] = 4""",
    "targets in turn": """
        j = 1
        j, count[sum(1 for c in range(j))] = 3, 7
        j = count[max(c for c in range(j))] = 1
        j, out[(j + 1) ** 4 % 5] = 2, j""",
}
HELPERS = {
    "early returns": """
        def g(v, w):
            if v > 0:
                if w > 1:
                    return v
                v += 1
            elif v < -2:
                return w
            return v * 2

        def f({}):
            for i in grid(n):
                out[i] = g(x[i], 0.5) + g(x[i], a) + g(i, 2)""",
    "loops and tuples": """
        def gcd(p, q):
            while q:
                p, q = q, p % q
            return p

        def both(v, i):
            return v[i], gcd(12, i)

        def f({}):
            for i in grid(n):
                out[i], count[i] = both(x, i)
                p, q = both(k, i)
                count[i] += p * q""",
    "break": """
        def first(v, limit):
            found = -1
            for j in range(6):
                if v[j] > limit:
                    found = j
                    break
            return found

        def f({}):
            for i in grid(n):
                out[i] = first(x, i) * 0.5 + first(k, x[i])""",
}


def run(build, text, template=False):
    settings = {"template": text} if template else {"body": text}
    tree = build(**settings, signature=SIGNATURE, extra="params: {TILE: 4}")
    found = arguments()
    interpret.run(tree, found, {"n": N}, order="reverse")
    return found


def python(text, template=False):
    text = textwrap.dedent(text)
    source = text if template else f"def f({NAMES}):\n" + textwrap.indent(text, "    ")
    names = dict(LANGUAGE)
    exec(source, names)
    wanted = arguments()
    with np.errstate(all="ignore"):
        names["f"](**wanted)
    return wanted


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(build, name):
    found, wanted = run(build, KERNELS[name]), python(KERNELS[name])
    for key in ("out", "count", "total"):
        np.testing.assert_array_equal(found[key], wanted[key], key)


@pytest.mark.parametrize("name", HELPERS)
def test_helpers(build, name):
    text = HELPERS[name].format(NAMES)
    found, wanted = run(build, text, True), python(text, True)
    for key in ("out", "count", "total"):
        np.testing.assert_array_equal(found[key], wanted[key], key)
