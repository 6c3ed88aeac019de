"""Arguments: all exponents, the intervals in which a function does something, and both sides of every threshold."""

import math

import numpy as np

# where some function changes its formula, its quadrant or its kind of result
_THRESHOLDS = [
    0.0, 0.25, 0.5, 0.6, 1.0, 1.5, 2.0, 4.0, 6.0, 10.0, 20.0, 28.0, math.sqrt(0.5), math.sqrt(2), math.sqrt(2) - 1,
    math.sqrt(2) + 1, 2.0**20, 2.0**-26, 2.0**-55, 2.0**-13, 2.0**-27,
    *(k * math.log(2) / 2 for k in range(1, 12)), *(k * math.pi / 4 for k in range(1, 20)),
    87.3365, 88.7228, 103.2789, 103.972, 89.4160, 126.0, 127.0, 128.0, 149.0, 150.0, 9.194, 10.06,
    708.3964, 709.7827, 744.4400, 745.1332, 710.4758, 1022.0, 1023.0, 1024.0, 1074.0, 1075.0, 26.543, 27.226,
]  # fmt: skip
_INTERVALS = {
    "exp": (-104, 89), "exp2": (-150, 128), "expm1": (-2, 2), "log": (0.5, 2), "log2": (0.5, 2), "log10": (0.5, 2),
    "log1p": (-0.6, 1.5), "sin": (-100, 100), "cos": (-100, 100), "tan": (-100, 100), "sinh": (-3, 3),
    "cosh": (-3, 3), "tanh": (-3, 3), "erf": (-4, 4), "erfc": (-4, 28), "cbrt": (-8, 8), "rsqrt": (0.25, 4),
}  # fmt: skip


def any_bits(dtype, count, seed):
    """Random bit patterns: every exponent and sign alike, denormals, infinities and NaN among them."""
    generator = np.random.default_rng(seed)
    integer = np.uint32 if dtype == "float32" else np.uint64
    bits = generator.integers(0, np.iinfo(integer).max, count, dtype=integer, endpoint=True)
    simple = generator.random(count) < 0.1  # short mantissas, and long runs of ones
    fraction = integer(np.finfo(dtype).nmant - 3)
    bits = np.where(simple, (bits >> fraction << fraction) - generator.integers(0, 2, count, dtype=integer), bits)
    return bits.view(dtype)


def thresholds(dtype):
    """The numbers of the list and their negatives, each with 4 neighbours on either side."""
    points = np.array(_THRESHOLDS, dtype)
    integer = points.view(np.int32 if dtype == "float32" else np.int64)
    near = (integer[:, None] + np.arange(-4, 5, dtype=integer.dtype)).ravel().view(dtype)
    near = near[np.isfinite(near)]
    return np.concatenate([near, -near])


def near_quarter_turns(dtype):
    """The floats nearest to multiples of pi/2, of every size."""
    generator = np.random.default_rng(5)
    multiples = generator.integers(1, 2**20, 3000)
    exact = [float(k) * math.pi / 2 for k in multiples]
    known = [6381956970095103.0 * 2.0**797, 16367173.0 * 2.0**72]  # the closest of float64, and of float32
    with np.errstate(over="ignore"):
        return np.array(exact + known, np.float64).astype(dtype)


def one_argument(name, dtype, count=40_000):
    parts = [any_bits(dtype, count, 1), thresholds(dtype)]
    low, high = _INTERVALS.get(name, (-1, 1))
    generator = np.random.default_rng(2)
    parts.append(generator.uniform(low, high, count).astype(dtype))
    if name in ("sin", "cos", "tan"):
        parts.append(near_quarter_turns(dtype))
    return np.concatenate(parts)


def two_arguments(name, dtype, count=20_000):
    generator = np.random.default_rng(3)
    x, y = any_bits(dtype, count, 6), any_bits(dtype, count, 7)
    with np.errstate(over="ignore", invalid="ignore"):
        close = (x * generator.uniform(-3, 3, count).astype(dtype)).astype(dtype)
    edges = np.concatenate([thresholds(dtype)[::9], x[:60]])
    pairs = [(x, y), (x, close), (x, x[::-1]), tuple(grid.ravel() for grid in np.meshgrid(edges, edges))]
    if name == "pow":  # results of every size, and integers to integers
        base = np.exp(generator.standard_normal(count)).astype(dtype)
        limits = np.log2([np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max])
        pairs.append((base, (generator.standard_normal(count) * (60 if dtype == "float32" else 500)).astype(dtype)))
        for spread in (0.5, 2.0**-12):  # around 1, the logarithm's largest relative errors times the largest exponents
            near = np.exp2(generator.uniform(-spread, spread, count)).astype(dtype)
            with np.errstate(divide="ignore", invalid="ignore"):
                pairs.append((near, (generator.uniform(*limits, count) / np.log2(near)).astype(dtype)))
        whole = generator.integers(-40, 40, (2, count)).astype(dtype)
        pairs += [tuple(whole), (np.abs(x), (generator.uniform(-2, 2, count)).astype(dtype))]
    return tuple(np.concatenate(parts) for parts in zip(*pairs, strict=True))
