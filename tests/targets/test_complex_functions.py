"""Functions and powers of complex numbers, for every target: its code and the interpreter against NumPy."""

import numpy as np
import pytest
from tests.targets.built import agree, build, draw, every_target, loop

FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "sinh", "cosh")
SPECIAL = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)


def near(got: np.ndarray, wanted: np.ndarray, units: float) -> None:
    with np.errstate(all="ignore"):
        error = abs(got - wanted) / abs(wanted)
    assert np.nanmax(error) <= units * np.finfo(got.real.dtype).eps


def plane(dtype: str) -> np.ndarray:
    z = draw(200, dtype="f8") + 1j * draw(200, dtype="f8", seed=1)
    return np.concatenate([z, z * 30, z * 0.01, z / abs(z)]).astype(dtype)


@every_target
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_accuracy(target, dtype):
    body = "for i in grid(n):\n" + "".join(f"    out[{k}, i] = {name}(z[i])\n" for k, name in enumerate(FUNCTIONS))
    built = loop(target, f"(z: {dtype}[n]) -> (out: {dtype}[{len(FUNCTIONS)}, n])", body, "fastmath: []")
    z = plane(dtype)
    for results in (built.call(z), built.python(z)):
        for name, got in zip(FUNCTIONS, results):
            wanted = getattr(np, name)(z.astype("G"))
            if name == "log":  # near 1 the modulus cancels: as large an error as that of its terms
                assert np.max(abs(got - wanted)) <= 8 * np.finfo(dtype).eps * max(1, np.max(abs(wanted)))
            else:
                near(got, wanted, 8)


@every_target
def test_special_values(target):
    """Those of C99, annex G, in kind; signs that it leaves open are anyone's."""
    body = "for i in grid(n):\n" + "".join(f"    out[{k}, i] = {name}(z[i])\n" for k, name in enumerate(FUNCTIONS))
    built = loop(target, f"(z: complex128[n]) -> (out: complex128[{len(FUNCTIONS)}, n])", body, "fastmath: []")
    z = np.array([complex(x, y) for x in SPECIAL for y in SPECIAL])
    with np.errstate(all="ignore"):
        wanted = [getattr(np, name)(z) for name in FUNCTIONS]
    for results in (built.call(z), built.python(z)):
        for name, got, right in zip(FUNCTIONS, results, wanted):
            for point, g, w in zip(z, got, right):
                for a, b in ((g.real, w.real), (g.imag, w.imag)):
                    assert np.isclose(abs(a), abs(b), rtol=1e-13, equal_nan=True), (name, point, g, w)


@every_target
def test_large_arguments_do_not_overflow_early(target):
    body = """
        for i in grid(n):
            out[0, i] = exp(z[i])
            out[1, i] = sinh(z[i])
            out[2, i] = sqrt(w[i])
            out[3, i] = log(w[i])
    """
    built = loop(target, "(z: complex128[n], w: complex128[n]) -> (out: complex128[4, n])", body, "fastmath: []")
    z = np.array([709.9 + 1.5j, -709.9 + 1j, 710.1 + 1.57j])
    w = np.array([1.5e308 + 1.5e308j, -1.7e308 + 1e308j, 3e-310 + 1e-310j])
    got = built.call(z, w)
    for k, (name, at) in enumerate((("exp", z), ("sinh", z), ("sqrt", w), ("log", w))):
        near(got[k], getattr(np, name)(at.astype("G")).astype("D"), 16)


@every_target
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers(target, dtype):
    body = f"""
        for i in grid(n):
            out[0, i] = z[i] ** w[i]
            out[1, i] = z[i] ** {dtype}(i % 9 - 4, 0)
            out[2, i] = pow(z[i], 3) + z[i] ** 0.5
            out[3, i] = a ** z[i]
            t = w[i]
            t **= z[i]
            out[4, i] = t
    """
    built = loop(target, f"(z: {dtype}[n], w: {dtype}[n], a: {dtype}) -> (out: {dtype}[5, n])", body, "fastmath: []")
    z, w = (draw(60, dtype="f8", seed=s) + 1j * draw(60, dtype="f8", seed=s + 1) for s in (0, 2))
    z, w, i = z.astype(dtype), w.astype(dtype), np.arange(60)
    zz, ww = z.astype("G"), w.astype("G")
    wanted = [zz**ww, zz ** (i % 9 - 4), zz**3 + zz**0.5, np.power(1.5 + 2j, zz), ww**zz]
    for results in (built.call(z, w, 1.5 + 2j), built.python(z, w, 1.5 + 2j)):
        for got, right in zip(results, wanted):
            near(got, right, 60)


@every_target
def test_powers_of_nothing_and_to_nothing(target):
    built = loop(
        target, "(z: complex128[n], w: complex128[n]) -> (out: complex128[n])",
        "for i in grid(n):\n    out[i] = z[i] ** w[i]", "fastmath: []",
    )  # fmt: skip
    z = np.array([0, 0, 0, 0, 3 + 1j, np.inf, 0], "c16")
    w = np.array([0, 2, 2.5, 1 + 1j, 0, 0, -1], "c16")
    with np.errstate(all="ignore"):
        assert np.array_equal(agree(built, z, w), z**w, equal_nan=True)


@every_target
def test_the_power_of_a_half_is_the_square_root(target):
    """As NumPy's: of infinities too, and as exact near the ends of the range as near 1. Each base is evaluated once."""
    body = """
        for i in grid(n):
            out[0, i] = z[i] ** 0.5
            out[1, i] = pow(z[i], 1 / 2)
            t = z[i]
            t **= 0.5
            out[2, i] = t
            out[3, i] = sqrt(z[i])
    """
    built = loop(target, "(z: complex64[n]) -> (out: complex64[4, n])", body, "fastmath: []")
    z = np.array([complex(x, y) for x in (*SPECIAL, 3e37, 3e-37) for y in (*SPECIAL, -3e37, 3e-37)], "c8")
    for out in (built.call(z), built.python(z)):
        assert all(np.array_equal(row.view("f4"), out[3].view("f4"), equal_nan=True) for row in out[:3])
        with np.errstate(all="ignore"):
            wanted = z**0.5
        infinite = np.isinf(z)
        assert (np.isinf(out[0].real) == np.isinf(wanted.real))[infinite].all()
        assert (np.isinf(out[0].imag) == np.isinf(wanted.imag))[infinite].all()
        near(out[0][np.isfinite(z)], wanted[np.isfinite(z)], 8)


@every_target
def test_parts_and_division(target):
    template = """
        def turned(z, w):
            return exp(complex64(0, real(w))) * z if real(z) > 0 else sum(z * complex64(k, k + 1) for k in range(3))

        def k(z, w, out, q):
            for i in grid(n):
                out[i] = turned(z[i], w[i]) + complex64(i, 0.5)
                q[i] = z[i] / w[i]
    """
    text = 'signature: "(z: complex64[n], w: complex64[n]) -> (out: complex64[n], q: complex64[n])"\n' \
           "fastmath: []\ntemplate: k.py.j2"  # fmt: skip
    built = build(target, text, template)
    z, w = plane("complex64")[:200], plane("complex64")[200:400] + 0.5
    out, q = built.call(z, w)
    i = np.arange(200)
    wanted = np.where(z.real > 0, np.exp(1j * w.real) * z, z * (3 + 6j)) + i + 0.5j
    near(out, wanted, 8)
    assert np.array_equal(q, z / w)
