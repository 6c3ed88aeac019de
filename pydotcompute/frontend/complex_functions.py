"""Functions of complex numbers, written out over those of their parts: so they mean the same on every target.

Special values are those of C99, annex G, as NumPy has them.
"""

from __future__ import annotations

import ast
import math
from typing import Callable

from ..ir import tree
from ..ir.dtypes import COMPLEX
from . import operators
from .promotion import Fault, Value, common, constant, convert
from .scope import Scope

_LARGE = 22.0  # from here on cosh and sinh are half of exp, in float64 too


def of_parts(dtype: str, real: Value, imaginary: Value, fault: Fault, at) -> Value:
    """`complex64(re, im)`."""
    for value in (real, imaginary):
        if value.rank > 2:
            fault(f"`{dtype}(re, im)` takes two real numbers, not {value.type}", "write real(z) or imag(z)")
            return Value(constant(0, dtype, at))
    parts = tuple(operators.cast(COMPLEX[dtype], value, fault, at).expr for value in (real, imaginary))
    return Value(tree.Call("complex_of", parts, dtype, at=at))


def call(s: Scope, name: str, z: Value, node: ast.AST) -> Value:
    """A function of a complex number."""
    dtype = z.expr.type
    made = _Parts(s, dtype, node)
    return made.whole(*FUNCTIONS[name](made, *made.parts(z.expr)), z.weak)


def power(s: Scope, base: Value, exponent: Value, node: ast.AST) -> Value:
    """`base ** exponent` as NumPy's: products for whole exponents below 100, else exp(exponent * log(base)); of a base
    of 0 it is 1 for the exponent 0, 0 for those whose real part is positive, else NaN."""
    done = common(base.type, exponent.type)
    made = _Parts(s, done.dtype, node)
    a, b = (made.named(convert(value, done.dtype, s.fault(node)), "power_") for value in (base, exponent))
    (x, y), (u, v) = made.parts(a), made.parts(b)
    at, zero = made.at, made.number(0)

    def both(*conditions: tree.Expr) -> tree.Expr:
        first, *others = conditions
        for other in others:
            first = tree.BoolOp("and", first, other, at=at)
        return first

    result = s.fresh("power_", done.dtype)
    one_, zero_ = constant(1, done.dtype, at), constant(0, done.dtype, at)
    size = tree.Call("abs", (u,), u.type, at=at)
    whole = both(
        made.compare("==", v, zero), made.compare("<", size, made.number(100)),
        made.compare("==", u, tree.Call("trunc", (u,), u.type, at=at)),
    )  # fmt: skip
    square, left = s.fresh("square_", done.dtype), s.fresh("left_", "int64")
    rest: tree.Expr = tree.Var(left, "int64", at=at)
    number = {k: tree.Const(k, "int64", at=at) for k in (0, 2)}

    def times(p: str, q: str) -> tree.Assign:
        factors = tree.Var(p, done.dtype, at=at), tree.Var(q, done.dtype, at=at)
        return tree.Assign(p, tree.Binary("*", *factors, done.dtype, at=at), at=at)

    odd = tree.Compare("!=", tree.Binary("%", rest, number[2], "int64", at=at), number[0], at=at)
    halved = tree.Assign(left, tree.Binary("//", rest, number[2], "int64", at=at), at=at)
    products: tuple[tree.Stmt, ...] = (
        tree.Assign(left, tree.Convert(size, "int64", at=at), at=at),
        tree.Assign(result, tree.Select(odd, a, one_, done.dtype, at=at), at=at),
        tree.Assign(square, a, at=at),
        halved,
        tree.While(tree.Compare(">", rest, number[0], at=at), (
            times(square, square),
            tree.If(odd, (times(result, square),), at=at),
            halved,
        ), at=at),
        tree.If(made.compare("<", u, zero), (tree.Assign(result, tree.Binary(
            "/", one_, tree.Var(result, done.dtype, at=at), done.dtype, at=at), at=at),), at=at),
    )  # fmt: skip
    with s.apart("evaluated only sometimes") as general:
        log = made.whole(*_log(made, x, y)).expr
        product = made.named(tree.Binary("*", b, log, done.dtype, at=at), "power_")
        general.append(tree.Assign(result, made.whole(*_exp(made, *made.parts(product))).expr, at=at))
    nothing = both(made.compare("==", x, zero), made.compare("==", y, zero))
    positive = made.compare(">", u, zero)
    nan = made.number(math.nan)
    undefined = tree.Call("complex_of", (nan, nan), done.dtype, at=at)
    of_nothing = tree.Assign(result, tree.Select(positive, zero_, undefined, done.dtype, at=at), at=at)
    unit = both(made.compare("==", u, zero), made.compare("==", v, zero))
    otherwise = tree.If(nothing, (of_nothing,), (tree.If(whole, products, tuple(general), at=at),), at=at)
    s.before_statement.append(tree.If(unit, (tree.Assign(result, one_, at=at),), (otherwise,), at=at))
    return Value(tree.Var(result, done.dtype, at=at), done.weak)


class _Parts:
    """Writes expressions over the parts of complex numbers of one dtype."""

    def __init__(self, s: Scope, dtype: str, node: ast.AST):
        self.s, self.dtype, self.real, self.at = s, dtype, COMPLEX[dtype], s.at(node)

    def named(self, e: tree.Expr, base: str = "part_") -> tree.Expr:
        """The value under a name of its own: it is used more than once."""
        if isinstance(e, (tree.Var, tree.Const)):
            return e
        name = self.s.fresh(base, e.type)
        self.s.before_statement.append(tree.Assign(name, e, at=self.at))
        return tree.Var(name, e.type, at=self.at)

    def parts(self, z: tree.Expr) -> tuple[tree.Expr, tree.Expr]:
        z = self.named(z)
        real, imaginary = (self.named(self.of(name, z)) for name in ("real", "imag"))
        return real, imaginary

    def whole(self, real: tree.Expr, imaginary: tree.Expr, weak: bool = False) -> Value:
        return Value(tree.Call("complex_of", (real, imaginary), self.dtype, at=self.at), weak)

    def number(self, value: float) -> tree.Expr:
        return constant(float(value), self.real, self.at)

    def of(self, name: str, *arguments: tree.Expr) -> tree.Expr:
        """A listed function."""
        type_ = "bool" if name in ("isfinite", "isinf") else self.real
        return tree.Call(name, arguments, type_, at=self.at)

    def binary(self, op: str, a: tree.Expr, b: tree.Expr | float) -> tree.Expr:
        other = self.number(b) if isinstance(b, (int, float)) else b
        return tree.Binary(op, a, other, self.real, at=self.at)

    def compare(self, op: str, a: tree.Expr, b: tree.Expr | float) -> tree.Expr:
        other = self.number(b) if isinstance(b, (int, float)) else b
        return tree.Compare(op, a, other, at=self.at)

    def both(self, a: tree.Expr, b: tree.Expr) -> tree.Expr:
        return tree.BoolOp("and", a, b, at=self.at)

    def infinite(self, x: tree.Expr) -> tree.Expr:
        return self.of("isinf", x)

    def neither(self, x: tree.Expr) -> tree.Expr:
        """Infinite or NaN."""
        return tree.Unary("not", self.of("isfinite", x), "bool", at=self.at)

    def minus(self, x: tree.Expr) -> tree.Expr:
        return tree.Unary("-", x, self.real, at=self.at)


Two = tuple[tree.Expr, tree.Expr]


def _exp(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    """e to the x is applied in two halves: together they may be too large where a part of the result is not."""
    half = p.named(p.of("exp", p.binary("*", x, 0.5)))
    below = p.both(p.compare("==", x, -math.inf), p.neither(y))
    above = p.both(p.compare("==", x, math.inf), p.neither(y))
    flat = p.compare("==", y, 0)
    real = p.binary("*", p.binary("*", half, p.of("cos", y)), half)
    real = p.of("where", below, p.number(0), p.of("where", above, x, real))
    imaginary = p.binary("*", p.binary("*", half, p.of("sin", y)), half)
    imaginary = p.of("where", below, p.number(0), imaginary)
    return p.of("where", flat, p.binary("*", half, half), real), p.of("where", flat, y, imaginary)


def _log(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    """The logarithm of the modulus by log1p where that is near 1, and of its half where it may be too large."""
    a, b = p.named(p.of("abs", x)), p.named(p.of("abs", y))
    larger, lesser = p.named(p.of("max", a, b)), p.named(p.of("min", a, b))
    half = p.named(p.of("hypot", p.binary("*", x, 0.5), p.binary("*", y, 0.5)))
    whole = p.named(p.of("hypot", x, y))
    square = p.binary("*", p.binary("-", larger, 1), p.binary("+", larger, 1))
    near = p.binary("*", p.of("log1p", p.binary("+", square, p.binary("*", lesser, lesser))), 0.5)
    far = p.binary("+", p.of("log", half), math.log(2))
    large = p.compare(">", half, 1)
    close = p.both(p.compare(">", whole, 0.7), p.compare("<", whole, 1.5))
    real = p.of("where", close, near, p.of("where", large, far, p.of("log", whole)))
    return real, p.of("atan2", y, x)


def _sqrt(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    """By the root of the mean of modulus and |x|, which cancels nothing; of scaled parts, so that nothing is too large
    or too small."""
    size = p.named(p.of("max", p.of("abs", x), p.of("abs", y)))
    least, bits = (2.0**-900, 108) if p.real == "float64" else (2.0**-90, 48)
    large, small = p.named(p.compare(">", size, 1)), p.named(p.compare("<", size, least))

    def chosen(of_large: float, of_small: float) -> tree.Expr:
        of_others = p.of("where", small, p.number(of_small), p.number(1))
        return p.named(p.of("where", large, p.number(of_large), of_others))

    scale, back = chosen(1 / 16, 2.0**bits), chosen(4, 2.0 ** (-bits // 2))
    a, b = (p.named(p.binary("*", part, scale)) for part in (x, y))
    mean = p.binary("*", p.binary("+", p.of("abs", a), p.of("hypot", a, b)), 0.5)
    root = p.named(p.binary("*", p.of("sqrt", mean), back))
    other = p.named(p.binary("/", y, p.binary("*", root, 2)))
    right = p.compare(">=", x, 0)
    real = p.of("where", right, root, p.of("abs", other))
    imaginary = p.of("where", right, other, p.of("copysign", root, y))
    zero = p.named(p.both(p.compare("==", x, 0), p.compare("==", y, 0)))
    infinite = p.named(p.infinite(y))
    real = p.of("where", infinite, p.number(math.inf), p.of("where", zero, p.number(0), real))
    nan = tree.Compare("!=", x, x, at=p.at)
    imaginary = p.of("where", p.both(nan, tree.Unary("not", infinite, "bool", at=p.at)), x, imaginary)
    either = tree.BoolOp("or", infinite, zero, at=p.at)
    return real, p.of("where", either, y, imaginary)


def _hyperbolic(p: _Parts, x: tree.Expr, y: tree.Expr) -> tuple[Two, Two]:
    """(sinh x · cos y, cosh x · sin y) and (cosh x · cos y, sinh x · sin y); of large x by exp(|x| / 2) twice."""
    c, d = p.named(p.of("cos", y)), p.named(p.of("sin", y))
    size = p.named(p.of("abs", x))
    half = p.named(p.of("exp", p.binary("*", size, 0.5)))
    low = p.named(p.binary("*", half, 0.5))
    signed = p.named(p.of("copysign", low, x))
    large = p.named(p.compare(">", size, _LARGE))
    sine, cosine = p.named(p.of("sinh", x)), p.named(p.of("cosh", x))

    def product(part: tree.Expr, first: tree.Expr, angle: tree.Expr) -> tree.Expr:
        return p.of(
            "where", large, p.binary("*", p.binary("*", first, angle), half), p.binary("*", part, angle)
        )

    return (
        (product(sine, signed, c), product(cosine, low, d)),
        (product(cosine, low, c), product(sine, signed, d)),
    )  # fmt: skip


def _sinh(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    (real, imaginary), _ = _hyperbolic(p, x, y)
    kept = p.both(p.neither(y), tree.BoolOp("or", p.compare("==", x, 0), p.infinite(x), at=p.at))
    return p.of("where", kept, x, real), p.of("where", p.compare("==", y, 0), y, imaginary)


def _cosh(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    _, (real, imaginary) = _hyperbolic(p, x, y)
    real = p.of("where", p.both(p.neither(y), p.infinite(x)), p.number(math.inf), real)
    imaginary = p.of("where", p.both(p.neither(y), p.compare("==", x, 0)), x, imaginary)
    flat = p.binary("*", y, p.of("copysign", p.number(1), x))
    return real, p.of("where", p.compare("==", y, 0), flat, imaginary)


def _sin(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    """-i sinh(iz)."""
    real, imaginary = _sinh(p, p.named(p.minus(y)), x)
    return imaginary, p.minus(real)


def _cos(p: _Parts, x: tree.Expr, y: tree.Expr) -> Two:
    """cosh(iz)."""
    return _cosh(p, p.named(p.minus(y)), x)


FUNCTIONS: dict[str, Callable[[_Parts, tree.Expr, tree.Expr], Two]] = {
    "exp": _exp, "log": _log, "sqrt": _sqrt, "sin": _sin, "cos": _cos, "sinh": _sinh, "cosh": _cosh,
}  # fmt: skip
