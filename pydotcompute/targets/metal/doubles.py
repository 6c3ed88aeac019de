"""float64 inside of elementary functions of float32, in integers: the Metal Shading Language has none, and no kernel
gets it. A ulong has the bits of IEEE 754. Results are rounded to nearest, half to even; denormals are zeros."""

from __future__ import annotations

from ..text.dialect import Template
from ..text.scalars import Scalars

DOUBLES: dict[str, Template] = {}
SIGN, INFINITE, ONE = 1 << 63, 0x7FF << 52, 1 << 52
_NAN = "0x7ff8000000000000UL"
_S, _M, _I, _F = (f"{n:#x}UL" for n in (SIGN, SIGN - 1, INFINITE, ONE - 1))  # sign, all but that, infinity, fraction
_BOTH = "const int ea = (int)(x >> 52 & 2047), eb = (int)(y >> 52 & 2047);"


def _entry(name: str):
    def enter(template: Template) -> Template:
        DOUBLES[name] = template
        return template

    return enter


def _function(head: str, *body: str) -> list[str]:
    return [head, "{", *(f"    {line}" for line in body), "}"]


def _mantissa(x: str, up: int) -> str:
    """The 53 bits of a number that is not 0, so many places up."""
    return f"(({x} & {_F}) | {ONE:#x}UL) << {up}"


@_entry("packed")
def _packed(s: Scalars, dtype: str, name: str) -> list[str]:
    """m * 2**(exponent - 1023 - 63) as a float64; what was cut off before stands in the lowest bit."""
    return _function(
        f"ulong {name}(ulong sign, int exponent, ulong m)",
        "if (m == 0)", "    return sign;",
        f"const int zeros = (int){s.call('clz', 'uint64', 'm')};",
        "const ulong moved = m << zeros;", "const ulong rest = moved & 2047;",
        "ulong kept = moved >> 11;", "int e = exponent - zeros;",
        "if (rest > 1024 || (rest == 1024 && (kept & 1) != 0))", "    ++kept;",
        "if (kept >> 53 != 0) {", "    ++e;", "    kept >>= 1;", "}",
        "if (e <= 0)", "    return sign;",
        f"return sign | (e >= 2047 ? {_I} : (ulong)e << 52 | (kept & {_F}));",
    )  # fmt: skip


@_entry("plus")
def _plus(s: Scalars, dtype: str, name: str) -> list[str]:
    packed = s.define("packed", dtype)
    return _function(
        f"ulong {name}(ulong x, ulong y)",
        f"const bool swapped = (x & {_M}) < (y & {_M});",
        "const ulong a = swapped ? y : x, b = swapped ? x : y;",
        "const int ea = (int)(a >> 52 & 2047), eb = (int)(b >> 52 & 2047);",
        "if (ea == 2047)", f"    return eb == 2047 && a != b ? {_NAN} : a;",
        "if (eb == 0)", f"    return ea == 0 ? x & y & {_S} : a;",
        f"const ulong sign = a & {_S}, m = {_mantissa('a', 10)}, n = {_mantissa('b', 10)};",
        "const int apart = ea - eb;",
        "ulong moved = 1;",
        "if (apart < 63) {", "    moved = n >> apart;", "    moved |= (ulong)(moved << apart != n);", "}",
        f"if ((a ^ b) < {_S})", f"    return {packed}(sign, ea + 1, m + moved);",
        f"return {packed}(m == moved ? 0 : sign, ea + 1, m - moved);",
    )  # fmt: skip


@_entry("negative")
def _negative(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(f"ulong {name}(ulong x)", f"return x ^ {_S};")


@_entry("minus")
def _minus(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(f"ulong {name}(ulong x, ulong y)", f"return {s.define('plus', dtype)}(x, y ^ {_S});")


@_entry("times")
def _times(s: Scalars, dtype: str, name: str) -> list[str]:
    """The upper 64 bits of the product of what has its highest bit in place 63."""
    return _function(
        f"ulong {name}(ulong x, ulong y)", _BOTH, f"const ulong sign = (x ^ y) & {_S};",
        "if (ea == 2047 || eb == 2047) {",
        f"    const bool none = ea == 0 || eb == 0 || (x & {_M}) > {_I} || (y & {_M}) > {_I};",
        f"    return none ? {_NAN} : sign | {_I};", "}",
        "if (ea == 0 || eb == 0)", "    return sign;",
        f"const ulong m = {_mantissa('x', 11)}, n = {_mantissa('y', 11)};",
        "const ulong low = (m & 0xffffffffUL) * (n & 0xffffffffUL);",
        "const ulong first = (m >> 32) * (n & 0xffffffffUL) + (low >> 32);",
        "const ulong second = (m & 0xffffffffUL) * (n >> 32) + (first & 0xffffffffUL);",
        "const ulong high = (m >> 32) * (n >> 32) + (first >> 32) + (second >> 32);",
        f"return {s.define('packed', dtype)}(sign, ea + eb - 1022, high | (ulong)((uint)(low | second) != 0));",
    )  # fmt: skip


@_entry("divided")
def _divided(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of finite numbers, y not 0: bit by bit."""
    return _function(
        f"ulong {name}(ulong x, ulong y)", _BOTH, f"const ulong sign = (x ^ y) & {_S};",
        "if (ea == 2047 || eb == 0)", f"    return {_NAN};",
        "if (ea == 0 || eb == 2047)", "    return sign;",
        f"ulong rest = {_mantissa('x', 0)}, found = 0;", f"const ulong by = {_mantissa('y', 0)};",
        "for (int k = 0; k < 56; ++k) {",
        "    found <<= 1;", "    if (rest >= by) {", "        rest -= by;", "        found |= 1;", "    }",
        "    rest <<= 1;", "}",
        f"return {s.define('packed', dtype)}(sign, ea - eb + 1031, found | (ulong)(rest != 0));",
    )  # fmt: skip


@_entry("fmuladd")
def _fmuladd(s: Scalars, dtype: str, name: str) -> list[str]:
    plus, times = s.define("plus", dtype), s.define("times", dtype)
    return _function(f"ulong {name}(ulong x, ulong y, ulong z)", f"return {plus}({times}(x, y), z);")


def absolute(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(f"ulong {name}(ulong x)", f"return x & {_M};")


@_entry("copysign")
def _copysign(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(f"ulong {name}(ulong x, ulong y)", f"return (x & {_M}) | (y & {_S});")


@_entry("below")
def _below(s: Scalars, dtype: str, name: str) -> list[str]:
    """False of NaN."""
    return _function(
        f"bool {name}(ulong x, ulong y)",
        f"const ulong p = x & {_M}, q = y & {_M};",
        f"if (p > {_I} || q > {_I} || (p | q) == 0)", "    return false;",
        f"if ((x ^ y) >= {_S})", f"    return x >= {_S};",
        f"return x >= {_S} ? q < p : p < q;",
    )  # fmt: skip


@_entry("bits")
def _bits(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(f"long {name}(ulong x)", "return (long)x;")


@_entry("of_bits")
def _of_bits(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(f"ulong {name}(long x)", "return (ulong)x;")


@_entry("to_float64")
def _widened(s: Scalars, dtype: str, name: str) -> list[str]:
    packed = s.define("packed", "float64")
    if dtype == "uint64":
        return _function(f"ulong {name}(ulong x)", f"return {packed}(0, 1086, x);")
    assert dtype == "float32"
    return _function(
        f"ulong {name}(float x)",
        "const uint bits = as_type<uint>(x), fraction = bits & 0x7fffffU;",
        "const ulong sign = (ulong)(bits >> 31) << 63;", "const int e = (int)(bits >> 23 & 255);",
        "if (e == 255)", f"    return sign | {_I} | (ulong)(fraction != 0) << 51;",
        f"return {packed}(sign, (e == 0 ? 1 : e) + 936, e == 0 ? fraction : fraction | 0x800000U);",
    )  # fmt: skip


@_entry("to_float32")
def _narrowed(s: Scalars, dtype: str, name: str) -> list[str]:
    """Rounded once, denormals too."""
    return _function(
        f"float {name}(ulong x)",
        "const uint sign = (uint)(x >> 63) << 31;", "const int e = (int)(x >> 52 & 2047) - 896;",
        "if (e == 1151)", f"    return as_type<float>(sign | 0x7f800000U | (uint)((x & {_F}) != 0) << 22);",
        "if (e >= 255)", "    return as_type<float>(sign | 0x7f800000U);",
        "const int drop = e < 1 ? 30 - e : 29;",
        "if (drop > 54)", "    return as_type<float>(sign);",
        f"const ulong m = {_mantissa('x', 0)}, rest = m << (64 - drop);",
        "uint kept = (uint)(m >> drop);",
        f"kept += (uint)(rest > {_S} || (rest == {_S} && (kept & 1) != 0));",
        "return as_type<float>(sign | (((uint)(e < 1 ? 0 : e - 1) << 23) + kept));",
    )  # fmt: skip
