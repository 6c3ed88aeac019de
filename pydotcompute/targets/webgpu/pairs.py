"""Integers of 64 bits in WGSL, which has none: pairs of 32 bits, low bits first. Two's complement, so that sums,
products and bits are the same for both kinds; comparisons, division and shifts to the right look at the sign."""

from __future__ import annotations

from ..text.dialect import Template
from ..text.scalars import Scalars

PAIRS: dict[str, Template] = {}
_P = "vec2<u32>"


def _entry(name: str):
    def enter(template: Template) -> Template:
        PAIRS[name] = template
        return template

    return enter


def _lines(head: str, result: str, *body: str) -> list[str]:
    return [f"fn {head} -> {result} {{", *(f"    {line}" for line in body), "}"]


def _signed(dtype: str) -> bool:
    return dtype == "int64"


@_entry("plus")
def _plus(s: Scalars, dtype: str, name: str) -> list[str]:
    carried = f"return {_P}(low, x.y + y.y + u32(low < x.x));"
    return _lines(f"{name}(x: {_P}, y: {_P})", _P, "let low = x.x + y.x;", carried)


@_entry("minus")
def _minus(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P}, y: {_P})", _P, f"return {_P}(x.x - y.x, x.y - y.y - u32(x.x < y.x));")


@_entry("negative")
def _negative(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P})", _P, f"return {_P}(0u - x.x, 0u - x.y - u32(x.x != 0u));")


@_entry("times")
def _times(s: Scalars, dtype: str, name: str) -> list[str]:
    """Modulo 2**64: the low halves' product by halves of 16 bits."""
    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P,
        "let a = x.x & 65535u;", "let b = x.x >> 16u;", "let c = y.x & 65535u;", "let d = y.x >> 16u;",
        "let low = a * c;", "let first = b * c + (low >> 16u);", "let second = a * d + (first & 65535u);",
        "let high = b * d + (first >> 16u) + (second >> 16u);",
        f"return {_P}(x.x * y.x, high + x.x * y.y + x.y * y.x);",
    )  # fmt: skip


@_entry("same")
def _same(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P}, y: {_P})", "bool", "return x.x == y.x && x.y == y.y;")


@_entry("below")
def _below(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P}, y: {_P})", "bool", f"return {s.dialect.below(dtype, 'x', 'y')};")


@_entry("shl")
def _shl(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P,
        "if (y.y != 0u || y.x >= 64u) {", f"    return {_P}(0u, 0u);", "}",
        "if (y.x >= 32u) {", f"    return {_P}(0u, x.x << (y.x - 32u));", "}",
        "if (y.x == 0u) {", "    return x;", "}",
        f"return {_P}(x.x << y.x, (x.y << y.x) | (x.x >> (32u - y.x)));",
    )  # fmt: skip


@_entry("shr")
def _shr(s: Scalars, dtype: str, name: str) -> list[str]:
    fill = "u32(bitcast<i32>(x.y) >> 31u)" if _signed(dtype) else "0u"
    high = "u32(bitcast<i32>(x.y) >> {})" if _signed(dtype) else "(x.y >> {})"
    return _lines(
        f"{name}(x: {_P}, y: {_P})", _P, f"let fill = {fill};",
        "if (y.y != 0u || y.x >= 64u) {", f"    return {_P}(fill, fill);", "}",
        "if (y.x >= 32u) {", f"    return {_P}({high.format('(y.x - 32u)')}, fill);", "}",
        "if (y.x == 0u) {", "    return x;", "}",
        f"return {_P}((x.x >> y.x) | (x.y << (32u - y.x)), {high.format('y.x')});",
    )  # fmt: skip


@_entry("quotient")
def _quotient(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of unsigned numbers, y not 0: (quotient, remainder), bit by bit where 32 bits are not enough."""
    return _lines(
        f"{name}(x: {_P}, y: {_P})", "vec4<u32>",
        "if (x.y == 0u && y.y == 0u) {", "    return vec4<u32>(x.x / y.x, 0u, x.x % y.x, 0u);", "}",
        f"var found = {_P}(0u, 0u);", f"var rest = {_P}(0u, 0u);",
        "for (var k: i32 = 63i; k >= 0i; k -= 1i) {",
        "    let word = select(x.x, x.y, k >= 32i);",
        "    let carried = rest.y >> 31u;",
        f"    rest = {_P}((rest.x << 1u) | ((word >> u32(k & 31i)) & 1u), (rest.y << 1u) | (rest.x >> 31u));",
        "    if (carried != 0u || rest.y > y.y || rest.y == y.y && rest.x >= y.x) {",
        f"        rest = {_P}(rest.x - y.x, rest.y - y.y - u32(rest.x < y.x));",
        "        let bit = 1u << u32(k & 31i);",
        f"        found |= select({_P}(bit, 0u), {_P}(0u, bit), k >= 32i);",
        "    }",
        "}",
        "return vec4<u32>(found, rest);",
    )  # fmt: skip


def _division(part: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Towards minus infinity, with a remainder of the sign of y; by 0 all is 0."""
        divide = s.define("quotient", "uint64")
        zero = ["if (y.x == 0u && y.y == 0u) {", f"    return {_P}(0u, 0u);", "}"]
        if not _signed(dtype):
            return _lines(f"{name}(x: {_P}, y: {_P})", _P, *zero, f"return {divide}(x, y).{part};")
        negative, minus = s.define("negative", "uint64"), s.define("minus", "uint64")
        lines = [
            "let down = (x.y >> 31u) != 0u;", "let up = (y.y >> 31u) != 0u;",
            f"let found = {divide}(select(x, {negative}(x), down), select(y, {negative}(y), up));",
            "let left = found.z != 0u || found.w != 0u;",
        ]  # fmt: skip
        if part == "xy":
            lower = f"{minus}({negative}(found.xy), {_P}(u32(left), 0u))"
            lines.append(f"return select(found.xy, {lower}, down != up);")
            return _lines(f"{name}(x: {_P}, y: {_P})", _P, *zero, *lines)
        plus = s.define("plus", "uint64")
        lines += [
            f"let rest = select(found.zw, {negative}(found.zw), down);",
            f"return select(rest, {plus}(rest, y), left && down != up);",
        ]
        return _lines(f"{name}(x: {_P}, y: {_P})", _P, *zero, *lines)

    return template


PAIRS["floordiv"], PAIRS["mod"] = _division("xy"), _division("zw")


@_entry("popcount")
def _popcount(s: Scalars, dtype: str, name: str) -> list[str]:
    return _lines(f"{name}(x: {_P})", _P, f"return {_P}(countOneBits(x.x) + countOneBits(x.y), 0u);")


@_entry("clz")
def _clz(s: Scalars, dtype: str, name: str) -> list[str]:
    counted = "select(countLeadingZeros(x.y), 32u + countLeadingZeros(x.x), x.y == 0u)"
    return _lines(f"{name}(x: {_P})", _P, f"return {_P}({counted}, 0u);")


# ------------------------------------------------------------------------------------------------------- conversions


def _to_pair(s: Scalars, dtype: str, name: str) -> list[str]:
    kind = s.type(dtype)
    if dtype in s.dialect.emulated:
        return _lines(f"{name}(x: {_P})", _P, "return x;")
    high = "u32(x >> 31u)" if dtype.startswith("int") else "0u"
    return _lines(f"{name}(x: {kind})", _P, f"return {_P}(u32(x), {high});")


def _to_word(target: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        text = s.dialect.cast(target, "x.x", "uint32")
        return _lines(f"{name}(x: {_P})", s.type(target), f"return {text};")

    return template


@_entry("to_float32")
def _to_float32(s: Scalars, dtype: str, name: str) -> list[str]:
    """Rounded once: of more than 24 bits the lowest of those kept is set where what is cut off is not 0 (to odd)."""
    sign = ["let down = (x.y >> 31u) != 0u;"] if _signed(dtype) else ["let down = false;"]
    negative = s.define("negative", "uint64")
    return _lines(
        f"{name}(x: {_P})", "f32", *sign, f"let size = select(x, {negative}(x), down);",
        "var found = f32(size.x);",
        "if (size.y != 0u) {",
        "    let zeros = countLeadingZeros(size.y);",
        "    let kept = select((size.y << zeros) | (size.x >> (32u - zeros)), size.y, zeros == 0u);",
        "    let rest = size.x << zeros;",
        "    found = f32(kept | u32(rest != 0u)) * bitcast<f32>((127u + 32u - zeros) << 23u);",
        "}",
        "return select(found, -found, down);",
    )  # fmt: skip


def _saturating(target: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Truncated to what the integer holds; NaN gives 0."""
        negative = s.define("negative", "uint64")
        most, least = s.constant(2**63 - 1 if _signed(target) else 2**64 - 1, target), s.constant(0, target)
        limit, low = ("1593835520u", s.constant(-(2**63), target)) if _signed(target) else ("1602224128u", least)
        down = ["if (bits >> 31u != 0u) {", f"    return {least};", "}"] if not _signed(target) else []
        return _lines(
            f"{name}(x: f32)", _P,
            "let bits = bitcast<u32>(x);", "let size = bits & 2147483647u;",
            "if (size > 2139095040u) {", f"    return {_P}(0u, 0u);", "}", *down,
            f"if (size >= {limit}) {{", f"    return select({most}, {low}, bits >> 31u != 0u);", "}",
            "let power = i32(size >> 23u) - 150i;", "let fraction = (size & 8388607u) | 8388608u;",
            f"var found = {_P}(0u, 0u);",
            "if (power < -23i) {", f"    return {_P}(0u, 0u);", "}",
            "if (power <= 0i) {", f"    found = {_P}(fraction >> u32(-power), 0u);",
            "} else if (power < 32i) {",
            f"    found = {_P}(fraction << u32(power), fraction >> u32(32i - power));",
            "} else {", f"    found = {_P}(0u, fraction << u32(power - 32i));", "}",
            f"return select(found, {negative}(found), bits >> 31u != 0u);",
        )  # fmt: skip

    return template


for _name in ("int64", "uint64"):
    PAIRS[f"to_{_name}"] = _to_pair
    PAIRS[f"saturate_{_name}"] = _saturating(_name)
for _name in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
    PAIRS[f"to_{_name}"] = _to_word(_name)
