"""Floats in WGSL: what decides about NaN and infinities looks at bits, for comparisons may take them for impossible;
remainders, and conversions to integers of up to 32 bits."""

from __future__ import annotations

from ...ir.dtypes import integer_range
from ..text.dialect import Template
from ..text.scalars import Scalars
from .heads import function, one_of, two_of

FLOATS: dict[str, Template] = {}
FINITE = "2139095040u"  # the bits of infinity: below it is what is finite


def _entry(name: str):
    def enter(template: Template) -> Template:
        FLOATS[name] = template
        return template

    return enter


# ---------------------------------------------------------------------------------------------------------- min, max


def _extremum(op: str, sign: str, bits: str) -> None:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Of floats NaN if one is, and -0 before +0."""
        if dtype in s.dialect.emulated:
            before = s.compare(sign, dtype, "x", "y")
            return function(s, dtype, name, two_of(s, dtype), f"return select(y, x, {before});")
        nan = s.define("isnan", dtype)
        return function(
            s, dtype, name, two_of(s, dtype),
            f"if ({nan}(x)) {{", "    return x;", "}", f"if ({nan}(y)) {{", "    return y;", "}",
            "if (x == y) {", f"    return bitcast<f32>(bitcast<u32>(x) {bits} bitcast<u32>(y));", "}",
            f"return select(y, x, x {sign} y);",
        )  # fmt: skip

    FLOATS[op] = template


_extremum("min", "<", "|")
_extremum("max", ">", "&")

# ------------------------------------------------------------------------------------------------------------- floats


def _kind(name: str, test: str) -> None:
    def template(s: Scalars, dtype: str, made: str) -> list[str]:
        return function(s, "bool", made, one_of(s, dtype), f"return (bitcast<u32>(x) & 2147483647u) {test};")

    FLOATS[name] = template


@_entry("sqrt")
def _sqrt(s: Scalars, dtype: str, name: str) -> list[str]:
    """A call of it is no constant: wgpu refuses the root of a constant below 0."""
    return function(s, dtype, name, one_of(s, dtype), "return sqrt(x);")


@_entry("ordinal")
def _ordinal(s: Scalars, dtype: str, name: str) -> list[str]:
    """An integer that is in order where the floats are; both zeros have 0."""
    return function(
        s, "int32", name, one_of(s, dtype),
        "let bits = bitcast<i32>(x);", "return select(bits, -(bits & 2147483647i), bits < 0i);",
    )  # fmt: skip


def _comparison(name: str, sign: str) -> None:
    def template(s: Scalars, dtype: str, made: str) -> list[str]:
        """False where one is NaN."""
        ordinal = s.define("ordinal", dtype)
        return function(
            s, "bool", made, two_of(s, dtype),
            f"let p = {ordinal}(x);", f"let q = {ordinal}(y);",
            f"return p {sign} q && max(abs(p), abs(q)) <= {FINITE[:-1]}i;",
        )  # fmt: skip

    FLOATS[name] = template


_comparison("below", "<")
_comparison("upto", "<=")
_comparison("same", "==")


@_entry("truth")
def _truth(s: Scalars, dtype: str, name: str) -> list[str]:
    """Whether a float is not 0, as its bits say."""
    return function(s, "bool", name, one_of(s, dtype), "return (bitcast<u32>(x) & 2147483647u) != 0u;")


_kind("isnan", f"> {FINITE}")
_kind("isinf", f"== {FINITE}")
_kind("isfinite", f"< {FINITE}")


@_entry("of_bits")
def _of_bits(s: Scalars, dtype: str, name: str) -> list[str]:
    return function(s, "float32", name, f"x: {s.type('int32')}", "return bitcast<f32>(x);")


@_entry("copysign")
def _copysign(s: Scalars, dtype: str, name: str) -> list[str]:
    bits = "(bitcast<u32>(x) & 2147483647u) | (bitcast<u32>(y) & 2147483648u)"
    return function(s, dtype, name, two_of(s, dtype), f"return bitcast<f32>({bits});")


@_entry("hypot")
def _hypot(s: Scalars, dtype: str, name: str) -> list[str]:
    """By the ratio of the smaller to the larger, so that no square overflows."""
    return function(
        s, dtype, name, two_of(s, dtype),
        "let a = abs(x);", "let b = abs(y);",
        f"if ({s.call('isinf', dtype, 'a')} || {s.call('isinf', dtype, 'b')}) {{",
        f"    return {s.constant(float('inf'), dtype)};", "}",
        f"if ({s.call('isnan', dtype, 'a')} || {s.call('isnan', dtype, 'b')}) {{",
        f"    return {s.constant(float('nan'), dtype)};", "}",
        "let large = max(a, b);", "let small = min(a, b);",
        "if (large == 0.0f) {", "    return 0.0f;", "}",
        "let up = select(1.0f, 18446744073709551616.0f, large < 1e-19f);",
        "let scale = select(up, 5.421010862427522e-20f, large > 1e19f);",
        "let u = large * scale;", "let v = small * scale;",
        "return sqrt(fma(u, u, v * v)) / scale;",
    )  # fmt: skip


@_entry("fmod")
def _fmod(s: Scalars, dtype: str, name: str) -> list[str]:
    """Exact, by the integers of both, bit by bit of the quotient."""
    return function(
        s, dtype, name, two_of(s, dtype),
        "let sign = bitcast<u32>(x) & 2147483648u;",
        "let a = bitcast<u32>(x) & 2147483647u;", "let b = bitcast<u32>(y) & 2147483647u;",
        f"if (a >= {FINITE} || b > {FINITE} || b == 0u) {{", f"    return {s.constant(float('nan'), dtype)};", "}",
        "if (a < b) {", "    return x;", "}",
        "var high = i32(a >> 23u);", "let low = max(i32(b >> 23u), 1i);",
        "var rest = a & 8388607u;", "var by = b & 8388607u;",
        "if (high > 0i) {", "    rest |= 8388608u;", "} else {", "    high = 1i;", "}",
        "if ((b >> 23u) > 0u) {", "    by |= 8388608u;", "}",
        "for (; high > low; high -= 1i) {",
        "    if (rest >= by) {", "        rest -= by;", "    }", "    rest = rest << 1u;", "}",
        "if (rest >= by) {", "    rest -= by;", "}",
        "if (rest == 0u) {", "    return bitcast<f32>(sign);", "}",
        "let up = min(i32(countLeadingZeros(rest)) - 8i, high - 1i);",
        "rest = rest << u32(up);", "high -= up;",
        "let exponent = select(u32(high) << 23u, 0u, rest < 8388608u);",
        "return bitcast<f32>(sign | exponent | (rest & 8388607u));",
    )  # fmt: skip


def float_mod(s: Scalars, dtype: str, name: str) -> list[str]:
    zero = s.constant(0.0, dtype)
    return function(
        s, dtype, name, two_of(s, dtype),
        f"let rest = {s.call('fmod', dtype, 'x', 'y')};",
        f"if (y == {zero} || {s.call('isnan', dtype, 'rest')}) {{", "    return rest;", "}",
        f"if (rest == {zero}) {{", f"    return {s.call('copysign', dtype, zero, 'y')};", "}",
        f"if ((rest < {zero}) != (y < {zero})) {{", "    return rest + y;", "}", "return rest;",
    )  # fmt: skip


def float_floordiv(s: Scalars, dtype: str, name: str) -> list[str]:
    """floor(x / y), as NumPy: from the exact remainder."""
    zero, one, half = (s.constant(k, dtype) for k in (0.0, 1.0, 0.5))
    return function(
        s, dtype, name, two_of(s, dtype),
        f"if (y == {zero}) {{", "    return x / y;", "}",
        f"let rest = {s.call('fmod', dtype, 'x', 'y')};",
        f"if ({s.call('isnan', dtype, 'rest')}) {{", "    return rest;", "}",
        "var quotient = (x - rest) / y;",
        f"if (rest != {zero} && (rest < {zero}) != (y < {zero})) {{", f"    quotient -= {one};", "}",
        f"if (quotient == {zero}) {{", f"    return {s.call('copysign', dtype, zero, 'x / y')};", "}",
        "let below = floor(quotient);",
        f"return select(below, below + {one}, quotient - below > {half});",
    )  # fmt: skip


def _saturating(target: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Truncated to what the integer holds; NaN gives 0."""
        low, high = integer_range(target)
        smallest, largest, zero = (s.constant(k, target) for k in (low, high, 0))
        above, below = s.constant(float(high + 1), dtype), s.constant(float(low), dtype)  # powers of two, so exact
        return function(
            s, target, name, one_of(s, dtype),
            f"if ({s.call('isnan', dtype, 'x')}) {{", f"    return {zero};", "}",
            f"if (x >= {above}) {{", f"    return {largest};", "}",
            f"if (x <= {below}) {{", f"    return {smallest};", "}", f"return {s.type(target)}(x);",
        )  # fmt: skip

    return template


for _bits in (8, 16, 32):
    for _target in (f"int{_bits}", f"uint{_bits}"):
        FLOATS[f"saturate_{_target}"] = _saturating(_target)
