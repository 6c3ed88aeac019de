"""float64 inside of elementary functions of float32, in integers: WGSL has none, and no kernel gets it. A pair has the
bits of IEEE 754, low word first. Results are rounded to nearest, half to even; denormals are zeros."""

from __future__ import annotations

from ..text.dialect import Template
from ..text.scalars import Scalars

DOUBLES: dict[str, Template] = {}
_P = "vec2<u32>"


def _entry(name: str):
    def enter(template: Template) -> Template:
        DOUBLES[name] = template
        return template

    return enter


def _lines(head: str, result: str, *body: str) -> list[str]:
    return [f"fn {head} -> {result} {{", *(f"    {line}" for line in body), "}"]


def _calls(s: Scalars, **wanted: str) -> dict[str, str]:
    """The names of functions of pairs: word = function."""
    return {word: s.define(function, "uint64") for word, function in wanted.items()}


@_entry("packed")
def _packed(s: Scalars, dtype: str, name: str) -> list[str]:
    """m * 2**(exponent - 1023 - 63) as a float64; what was cut off before stands in the lowest bit."""
    c = _calls(s, shl="shl", shr="shr", plus="plus", clz="clz")
    return _lines(
        f"{name}(sign: u32, exponent: i32, m: {_P})", _P,
        "if (m.x == 0u && m.y == 0u) {", f"    return {_P}(0u, sign);", "}",
        f"let zeros = {c['clz']}(m);", f"let moved = {c['shl']}(m, zeros);",
        "var e = exponent - i32(zeros.x);",
        f"var kept = {c['shr']}(moved, {_P}(11u, 0u));",
        "let rest = moved.x & 2047u;",
        "if (rest > 1024u || rest == 1024u && (kept.x & 1u) != 0u) {",
        f"    kept = {c['plus']}(kept, {_P}(1u, 0u));", "}",
        "if (kept.y >= 2097152u) {", "    e += 1i;", f"    kept = {_P}(0u, 1048576u);", "}",
        "if (e <= 0i) {", f"    return {_P}(0u, sign);", "}",
        "if (e >= 2047i) {", f"    return {_P}(0u, sign | 2146435072u);", "}",
        f"return {_P}(kept.x, sign | (u32(e) << 20u) | (kept.y & 1048575u));",
    )  # fmt: skip


@_entry("mantissa")
def _mantissa(s: Scalars, dtype: str, name: str) -> list[str]:
    """The 53 bits of a number that is not 0, so many places up."""
    shl = s.define("shl", "uint64")
    return _lines(
        f"{name}(x: {_P}, up: u32)", _P,
        f"return {shl}({_P}(x.x, (x.y & 1048575u) | 1048576u), {_P}(up, 0u));",
    )  # fmt: skip


@_entry("plus")
def _plus(s: Scalars, dtype: str, name: str) -> list[str]:
    c = _calls(s, below="below", shl="shl", shr="shr", plus="plus", minus="minus")
    packed, mantissa = s.define("packed", dtype), s.define("mantissa", dtype)
    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P,
        f"let p = {_P}(x.x, x.y & 2147483647u);", f"let q = {_P}(y.x, y.y & 2147483647u);",
        f"let swapped = {c['below']}(p, q);",
        "let a = select(x, y, swapped);", "let b = select(y, x, swapped);",
        "let ea = i32((a.y >> 20u) & 2047u);", "let eb = i32((b.y >> 20u) & 2047u);",
        "if (ea == 2047i) {",  # infinities of both signs make NaN, as what is NaN does
        f"    return select(a, {_P}(0u, 2146959360u), eb == 2047i && a.y != b.y);", "}",
        "if (eb == 0i) {", "    if (ea == 0i) {", f"        return {_P}(0u, x.y & y.y & 2147483648u);", "    }",
        "    return a;", "}",
        "let sign = a.y & 2147483648u;", "let apart = u32(ea - eb);",
        f"let m = {mantissa}(a, 10u);", f"let n = {mantissa}(b, 10u);", f"var moved = {_P}(1u, 0u);",
        "if (apart < 63u) {", f"    moved = {c['shr']}(n, {_P}(apart, 0u));",
        f"    let back = {c['shl']}(moved, {_P}(apart, 0u));",
        "    moved.x |= u32(back.x != n.x || back.y != n.y);", "}",
        "if (((a.y ^ b.y) & 2147483648u) == 0u) {", f"    return {packed}(sign, ea + 1i, {c['plus']}(m, moved));", "}",
        f"let left = {c['minus']}(m, moved);",
        f"return {packed}(select(sign, 0u, left.x == 0u && left.y == 0u), ea + 1i, left);",
    )  # fmt: skip


@_entry("negative")
def _negative(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P})", _P, f"return {_P}(x.x, x.y ^ 2147483648u);")


@_entry("minus")
def _minus(s: Scalars, dtype: str, name: str) -> list[str]:
    plus, negative = s.define("plus", dtype), s.define("negative", dtype)
    return _lines(f"{name}(x: {_P}, y: {_P})", _P, f"return {plus}(x, {negative}(y));")


@_entry("times")
def _times(s: Scalars, dtype: str, name: str) -> list[str]:
    """The upper 64 bits of the product of what has its highest bit in place 63."""
    c = _calls(s, plus="plus", times="times")
    packed, mantissa = s.define("packed", dtype), s.define("mantissa", dtype)

    def product(x: str, y: str) -> str:
        return f"{c['times']}({_P}({x}, 0u), {_P}({y}, 0u))"

    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P,
        "let sign = (x.y ^ y.y) & 2147483648u;",
        "let ea = i32((x.y >> 20u) & 2047u);", "let eb = i32((y.y >> 20u) & 2047u);",
        "if (ea == 2047i || eb == 2047i) {",
        f"    return {_P}(0u, select(sign | 2146435072u, 2146959360u, ea == 0i || eb == 0i || "
        "((x.y & 1048575u) | x.x) != 0u && ea == 2047i || ((y.y & 1048575u) | y.x) != 0u && eb == 2047i));", "}",
        "if (ea == 0i || eb == 0i) {", f"    return {_P}(0u, sign);", "}",
        f"let m = {mantissa}(x, 11u);", f"let n = {mantissa}(y, 11u);",
        f"let low = {product('m.x', 'n.x')};",
        f"let first = {c['plus']}({product('m.y', 'n.x')}, {_P}(low.y, 0u));",
        f"let second = {c['plus']}({product('m.x', 'n.y')}, {_P}(first.x, 0u));",
        f"let high = {c['plus']}({product('m.y', 'n.y')}, {c['plus']}({_P}(first.y, 0u), {_P}(second.y, 0u)));",
        f"return {packed}(sign, ea + eb - 1022i, {_P}(high.x | u32((low.x | second.x) != 0u), high.y));",
    )  # fmt: skip


@_entry("divided")
def _divided(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of finite numbers, y not 0: bit by bit."""
    c = _calls(s, below="below", minus="minus", shl="shl")
    packed, mantissa = s.define("packed", dtype), s.define("mantissa", dtype)
    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P,
        "let sign = (x.y ^ y.y) & 2147483648u;",
        "let ea = i32((x.y >> 20u) & 2047u);", "let eb = i32((y.y >> 20u) & 2047u);",
        "if (ea == 2047i || eb == 0i) {", f"    return {_P}(0u, 2146959360u);", "}",
        "if (ea == 0i || eb == 2047i) {", f"    return {_P}(0u, sign);", "}",
        f"var rest = {mantissa}(x, 0u);", f"let by = {mantissa}(y, 0u);", f"var found = {_P}(0u, 0u);",
        f"let one = {_P}(1u, 0u);",
        "for (var k: i32 = 0i; k < 56i; k += 1i) {",
        f"    found = {c['shl']}(found, one);",
        f"    if (!{c['below']}(rest, by)) {{", f"        rest = {c['minus']}(rest, by);", "        found.x |= 1u;",
        "    }",
        f"    rest = {c['shl']}(rest, one);", "}",
        "found.x |= u32((rest.x | rest.y) != 0u);",
        f"return {packed}(sign, ea - eb + 1031i, found);",
    )  # fmt: skip


@_entry("fmuladd")
def _fmuladd(s: Scalars, dtype: str, name: str) -> list[str]:
    plus, times = s.define("plus", dtype), s.define("times", dtype)
    return _lines(f"{name}(x: {_P}, y: {_P}, z: {_P})", _P, f"return {plus}({times}(x, y), z);")


@_entry("abs")
def _abs(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P})", _P, f"return {_P}(x.x, x.y & 2147483647u);")


@_entry("copysign")
def _copysign(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P, f"return {_P}(x.x, (x.y & 2147483647u) | (y.y & 2147483648u));"
    )  # fmt: skip


@_entry("below")
def _below(s: Scalars, dtype: str, name: str) -> list[str]:
    """False of NaN."""
    below = s.define("below", "uint64")
    return _lines(
        f"{name}(x: {_P}, y: {_P})", "bool",
        f"let p = {_P}(x.x, x.y & 2147483647u);", f"let q = {_P}(y.x, y.y & 2147483647u);",
        f"let infinity = {_P}(0u, 2146435072u);",
        f"if ({below}(infinity, p) || {below}(infinity, q) || (p.x | p.y | q.x | q.y) == 0u) {{",
        "    return false;", "}",
        "if (((x.y ^ y.y) >> 31u) != 0u) {", "    return (x.y >> 31u) != 0u;", "}",
        "if ((x.y >> 31u) != 0u) {", f"    return {below}(q, p);", "}", f"return {below}(p, q);",
    )  # fmt: skip


def _same_bits(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P})", _P, "return x;")


DOUBLES["bits"] = DOUBLES["of_bits"] = _same_bits


@_entry("to_float64")
def _widened(s: Scalars, dtype: str, name: str) -> list[str]:
    packed = s.define("packed", "float64")
    if dtype == "uint64":
        return _lines(f"{name}(x: {_P})", _P, f"return {packed}(0u, 1086i, x);")
    assert dtype == "float32"
    return _lines(
        f"{name}(x: f32)", _P,
        "let bits = bitcast<u32>(x);", "let sign = bits & 2147483648u;",
        "let e = i32((bits >> 23u) & 255u);", "let fraction = bits & 8388607u;",
        "if (e == 255i) {", f"    return {_P}(0u, sign | 2146435072u | u32(fraction != 0u) << 19u);", "}",
        f"return {packed}(sign, max(e, 1i) + 936i, {_P}(select(fraction | 8388608u, fraction, e == 0i), 0u));",
    )  # fmt: skip


def narrowed(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of float64, rounded to float32 once, denormals too."""
    c = _calls(s, shl="shl", shr="shr")
    mantissa = s.define("mantissa", dtype)
    return _lines(
        f"{name}(x: {_P})", "f32",
        "let sign = x.y & 2147483648u;", "let e = i32((x.y >> 20u) & 2047u) - 896i;",
        "if (e == 1151i) {",
        "    return bitcast<f32>(sign | 2139095040u | u32(((x.y & 1048575u) | x.x) != 0u) << 22u);", "}",
        "if (e >= 255i) {", "    return bitcast<f32>(sign | 2139095040u);", "}",
        "let drop = 29i + max(1i - e, 0i);",
        "if (drop > 54i) {", "    return bitcast<f32>(sign);", "}",
        f"let m = {mantissa}(x, 0u);", f"let by = {_P}(u32(drop), 0u);",
        f"var kept = {c['shr']}(m, by).x;",
        f"let rest = {c['shl']}(m, {_P}(u32(64i - drop), 0u));",
        "let half = rest.y == 2147483648u && rest.x == 0u;",
        "kept += u32(rest.y >= 2147483648u && (!half || (kept & 1u) != 0u));",
        "return bitcast<f32>(sign | ((u32(max(e - 1i, 0i)) << 23u) + kept));",
    )  # fmt: skip
