"""Powers of constants, which are products and a square root, for every target: its code against the interpreter, and
against NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop

HALVES = [c / 2 for c in range(-16, 17)]


def text(exponent: float) -> str:
    return str(int(exponent)) if exponent == int(exponent) else str(exponent)


@every_target
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_accuracy(target, dtype):
    """Within |c| + 1 units in the last place."""
    body = "for i in grid(n):\n" + "".join(f"    out[{k}, i] = x[i] ** {text(c)}\n" for k, c in enumerate(HALVES))
    built = loop(target, f"(x: {dtype}[n]) -> (out: {dtype}[{len(HALVES)}, n])", body, "fastmath: []")
    x = np.exp(draw(200, dtype="f8")).astype(dtype)
    for c, got in zip(HALVES, agree(built, x)):
        wanted = np.power(x.astype("g"), np.longdouble(c))
        assert np.max(abs(got - wanted) / np.spacing(wanted.astype(dtype))) <= abs(c) + 1, c


BASES = ["0.5", "3", "(1 / 3)", "(-1.75)", "1e4"]


@every_target
def test_of_literals(target):
    """They are numbers, rounded as the same power of an element of float64 is, and no function of the target's."""
    powers = [f"{base} ** {text(c)}" for base in BASES for c in HALVES if "-" not in base or c == int(c)]
    powers = [p for p in powers if "." in p or "/" in p or "e" in p]  # of whole numbers alone they are whole
    body = "w = (0.5, 7)\nfor i in grid(n):\n" + "".join(f"    out[{k}, i] = x[i] * ({p})\n" for k, p in enumerate(powers))
    body += "    one[i] = w[0] ** 1.5 * x[i]\n"
    built = loop(target, f"(x: float32[n]) -> (out: float32[{len(powers)}, n], one: float32[n])", body, "fastmath: []")
    assert "**" not in str(built.tree) and "sqrt" not in str(built.tree)
    out, one = agree(built, np.ones(3, "f4"))
    np.testing.assert_allclose(out[:, 0], [eval(p) for p in powers], 1e-7)
    assert (one == np.float32(0.5**1.5)).all()


@every_target
def test_of_literals_that_python_has_none_for(target):
    """What IEEE gives: it is left to the device."""
    body = """
        for i in grid(n):
            out[i] = x[i] + 0.0 ** -1
            root[i] = x[i] + (-2.0) ** 0.5
            none[i] = x[i] ** nan
            z[i] = (x[i] + 1j) * 2j ** 3
    """
    outputs = "out: float64[n], root: float64[n], none: float64[n], z: complex128[n]"
    built = loop(target, f"(x: float64[n]) -> ({outputs})", body, "fastmath: []")
    out, root, none, z = agree(built, np.full(3, 2.0))
    assert (out == np.inf).all() and np.isnan(root).all() and np.isnan(none).all() and (z == 8 - 16j).all()


@every_target
def test_special_values(target):
    exponents = [0, 1, 2, 3, -1, -2, 8, -8]
    body = "for i in grid(n):\n" + "".join(f"    out[{k}, i] = x[i] ** {c}\n" for k, c in enumerate(exponents))
    built = loop(target, f"(x: float32[n]) -> (out: float32[{len(exponents)}, n])", body, "fastmath: []")
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -2, 1e30, -1e-30], "f4")
    with np.errstate(all="ignore"):
        for c, got in zip(exponents, agree(built, x)):
            wanted = np.power(x, np.float32(c))
            assert np.array_equal(got, wanted, equal_nan=True) and (np.signbit(got) == np.signbit(wanted))[:4].all(), c


@every_target
def test_of_integers_complex_numbers_and_larger_bases(target):
    body = """
        for i in grid(n):
            out[i] = (x[i] + 1) ** 5 + pow(x[i], 2) + i ** 3
            t = x[i]
            t **= 3
            out[i] += t if i > 3 else (t + x[i] * 2 - i) ** 4
            z[i] = y[i] ** 3 + (y[i] * y[i] + 1) ** -2
            r[i] = sum((x[k] - x[i]) ** 2 for k in range(n)) ** 0.5
    """
    signature = "(x: int32[n], y: complex64[n]) -> (out: int32[n], z: complex64[n], r: float64[n])"
    built = loop(target, signature, body, "fastmath: []")
    x, y = draw(50, dtype="i4"), draw(50).astype("c8") + 1j * draw(50, seed=1)
    _, z, r = agree(built, x, y)
    assert np.allclose(z, y**3 + (y * y + 1.0) ** -2, rtol=1e-4)
    assert np.allclose(r, np.sqrt(((x - x[:, None]).astype("f8") ** 2).sum(1)))


@every_target
def test_other_exponents_are_pow(target):
    body = "for i in grid(n):\n    out[i] = x[i] ** 8.5 + x[i] ** 0.25 + x[i] ** a + x[i] ** 9"
    built = loop(target, "(x: float64[n], a: float64) -> (out: float64[n])", body)
    x = abs(draw(50, dtype="f8"))
    assert np.allclose(built.call(x, 2.0), x**8.5 + x**0.25 + x * x + x**9)
    assert "**" in str(built.tree)


WHOLE = [
    "2 ** 64", "2 ** 65", "3 ** 80", "(-7) ** 65", "1 << 64", "3 << 200", "2 ** 70 // 2 ** 60", "-(2 ** 70) % 2 ** 67 + 1",
    "2 ** 70 - 2 ** 66", "2 ** 130 >> 100", "10 ** 40 + 1", "(2 ** 200 | 2 ** 201) // 2 ** 140", "2 ** 70 * 0.5",
    "2 ** 70 / 2 ** 69", "float64(2 ** 70)", "0 ** 0", "(-1) ** 1001",
]  # fmt: skip


@every_target
def test_of_whole_literals(target):
    """They are whole numbers of any size, which float64 and float32 hold rounded once."""
    body = "for i in grid(n):\n" + "".join(f"    out[{k}, i] = x[i] * ({e})\n" for k, e in enumerate(WHOLE))
    body += "    one[i] = 1 if x[i] < 2 ** 80 else 0\n"
    dtype = "float64" if target != "webgpu" else "float32"
    body = body.replace("float64", dtype)
    built = loop(target, f"(x: {dtype}[n]) -> (out: {dtype}[{len(WHOLE)}, n], one: {dtype}[n])", body, "fastmath: []")
    out, one = agree(built, np.ones(3, dtype))
    np.testing.assert_allclose(out[:, 0], [float(eval(e.replace("float64", "float"))) for e in WHOLE], 1e-7)
    assert (one == 1).all()
