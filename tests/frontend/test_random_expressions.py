"""Random expressions: type and value are those of Python with NumPy's scalars."""

import random

import numpy as np
import pytest

from pydotcompute.errors import DeclarationError
from pydotcompute.interpreter import execute as interpret

SIGNATURE = (
    "(d: float64, s: int16, x: float32[n], k: int32[n], u: uint8[n], w: uint64[n], b: bool[n]) -> (out: bool[n])"
)
ARITHMETIC = ["+", "-", "*"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
ATOMS = ["x[i]", "k[i]", "u[i]", "w[i]", "b[i]", "d", "s", "i", "n", "3", "200", "-2", "0.75", "True", "float32(i)"]


# `p and q` and `p < q < r` are one of their operands in Python, whose type would depend on the values: hence bool().
def expression(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return draw.choice(ATOMS)
    left, right = expression(draw, depth - 1), expression(draw, draw.randrange(depth))
    match draw.randrange(10):
        case 0:
            return f"({left} {draw.choice(COMPARISONS)} {right})"
        case 1:
            return f"bool({left} {draw.choice(COMPARISONS)} {right} {draw.choice(COMPARISONS)} {draw.choice(ATOMS)})"
        case 2:
            return f"(not {left})"
        case 3:
            return f"bool(({left} > 0) {draw.choice(['and', 'or', '&', '|', '^'])} ({right} < 2))"
        case 4:
            return f"({draw.choice(['-', '+'])}{left})"
        case 5:
            return f"({left} {draw.choice(['&', '|', '^'])} {right})"
        case 6:
            return f"({left} / (float64({right}) + 1000))"
        case _:
            return f"({left} {draw.choice(ARITHMETIC)} {right})"


def arguments():
    return {
        "d": np.float64(1.5), "s": np.int16(-7), "x": np.array([0.5, -3], np.float32), "k": np.array([4, -9], np.int32),
        "u": np.array([250, 3], np.uint8), "w": np.array([2**63, 5], np.uint64), "b": np.array([True, False]),
    }  # fmt: skip


def python(text: str, i: int):
    """The value in element i, or None where NumPy has no such operation or Python's integer does not fit a type."""
    names = {**arguments(), "n": 2, "i": i, "float32": np.float32, "float64": np.float64, "bool": np.bool}
    try:
        with np.errstate(all="ignore"):
            return eval(text, names)
    except (TypeError, OverflowError):
        return None


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions(build, seed):
    draw = random.Random(seed)
    compared = 0
    for _ in range(25):
        text = expression(draw, draw.randint(1, 4))
        wanted = [python(text, i) for i in range(2)]
        try:
            tree = build(f"for i in grid(n):\n    v = {text}\n    out[i] = v == v", signature=SIGNATURE, types="")
        except DeclarationError as error:
            # Refused even where Python would not evaluate it; else NumPy refuses too.
            assert wanted == [None, None] or "bool(" in text, (text, error.message)
            continue
        if None in wanted:  # a dimension or index that did not fit: here it wraps
            continue
        dtype = tree.locals["v"]
        assert dtype == str(np.asarray(wanted[0]).dtype), text
        compared += 1
        # the value itself, through an output of its own type
        stored = build(
            f"for i in grid(n):\n    out[i] = {text}",
            signature=SIGNATURE.replace("out: bool", f"out: {dtype}"),
            types="",
        )
        found = np.zeros(2, dtype)
        interpret.run(stored, {**arguments(), "out": found}, {"n": 2})
        np.testing.assert_array_equal(found, np.array(wanted, dtype), text)
    assert compared >= 5
