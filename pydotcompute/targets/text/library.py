"""What languages with the syntax of C lack of the kernel language: functions, each for one dtype, written where a file
needs them. An entry gets the operations (scalars.py), the dtype and the function's name, and returns its lines.

Native operators stand only where no operand can make them undefined: signed sums go by way of unsigned types, divisors
and shift counts are in range.
"""

from __future__ import annotations

from collections.abc import Callable

from ...artifact.launch import VIEW_LEVELS
from ...ir.dtypes import COMPLEX, FLOATS, integer_range
from .dialect import Template
from .scalars import Scalars

LIBRARY: dict[str, Template] = {}


def _entry(name: str):
    def enter(template: Template) -> Template:
        LIBRARY[name] = template
        return template

    return enter


def _function(result: str, name: str, parameters: str, *body: str) -> list[str]:
    return [f"{result} {name}({parameters})", "{", *(f"    {line}" for line in body), "}"]


def _signed(dtype: str) -> bool:
    return dtype.startswith("int")


# ------------------------------------------------------------------------------------------------------ integers


@_entry("floordiv")
def _floordiv(s: Scalars, dtype: str, name: str) -> list[str]:
    """Towards minus infinity; x // 0 is 0, MIN // -1 is MIN."""
    if dtype in FLOATS:
        return _float_floordiv(s, dtype, name)
    adjusted = "found * y != x && (x < 0) != (y < 0) ? found - 1 : found"
    return _division(s, dtype, name, "/", lambda: s.unary("-", dtype, "x"), adjusted)


@_entry("mod")
def _mod(s: Scalars, dtype: str, name: str) -> list[str]:
    """With the sign of y; x % 0 and MIN % -1 are 0."""
    if dtype in FLOATS:
        return _float_mod(s, dtype, name)
    return _division(s, dtype, name, "%", lambda: "0", "found != 0 && (found < 0) != (y < 0) ? found + y : found")


def _division(
    s: Scalars, dtype: str, name: str, symbol: str, by_minus_one: Callable[[], str], adjusted: str
) -> list[str]:
    """Of integers, 0 where y is; of signed ones what C finds, towards 0, is adjusted."""
    t = s.type(dtype)
    if not _signed(dtype):
        return _function(t, name, f"{t} x, {t} y", f"return y == 0 ? ({t})0 : ({t})(x {symbol} y);")
    return _function(
        t, name, f"{t} x, {t} y",
        "if (y == 0)", "    return 0;",
        "if (y == -1)", f"    return {by_minus_one()};",
        f"{t} found = ({t})(x {symbol} y);",
        f"return ({t})({adjusted});",
    )  # fmt: skip


@_entry("shl")
def _shl(s: Scalars, dtype: str, name: str) -> list[str]:
    t, low, high = s.type(dtype), *integer_range(dtype)
    bits = (high - low).bit_length()
    count = f"y >= 0 && y < {bits}" if _signed(dtype) else f"y < {bits}"
    shifted = s.wrapped(dtype, f"{s.unsigned(dtype, 'x')} << {s.dialect.cast('uint32', 'y', dtype)}")
    return _function(t, name, f"{t} x, {t} y", f"return {count} ? {shifted} : ({t})0;")


@_entry("shr")
def _shr(s: Scalars, dtype: str, name: str) -> list[str]:
    t, low, high = s.type(dtype), *integer_range(dtype)
    bits = (high - low).bit_length()
    if not _signed(dtype):
        return _function(t, name, f"{t} x, {t} y", f"return y < {bits} ? ({t})(x >> y) : ({t})0;")
    count = s.dialect.choose(dtype, f"y >= 0 && y < {bits}", "y", f"({t}){bits - 1}")
    return _function(t, name, f"{t} x, {t} y", f"return ({t})(x >> {count});")


@_entry("power")
def _power(s: Scalars, dtype: str, name: str) -> list[str]:
    """Wraps; a negative exponent gives 0 but for the bases 1 and -1."""
    t = s.type(dtype)
    negative = [
        "if (y < 0)", f"    return ({t})(x == 1 || x == -1 ? ((y & 1) != 0 ? x : 1) : 0);",
    ] if _signed(dtype) else []  # fmt: skip
    return _function(
        t, name, f"{t} x, {t} y", *negative,
        f"{t} result = 1;",
        "while (y != 0) {",
        "    if ((y & 1) != 0)",
        f"        result = {s.binary('*', dtype, 'result', 'x')};",
        f"    x = {s.binary('*', dtype, 'x', 'x')};",
        f"    y = ({t})(y >> 1);",
        "}",
        "return result;",
    )  # fmt: skip


@_entry("abs")
def _abs(s: Scalars, dtype: str, name: str) -> list[str]:
    t = s.type(dtype)
    return _function(t, name, f"{t} x", f"return x < 0 ? {s.unary('-', dtype, 'x')} : x;")


@_entry("sign")
def _sign(s: Scalars, dtype: str, name: str) -> list[str]:
    """-1, 0 or 1; of NaN, NaN."""
    t = s.type(dtype)
    if dtype in FLOATS:
        one, zero, minus = (s.constant(k, dtype) for k in (1.0, 0.0, -1.0))
        return _function(t, name, f"{t} x", f"return x != x ? x : x > 0 ? {one} : x < 0 ? {minus} : {zero};")
    below = "x < 0 ? -1 : 0" if _signed(dtype) else "0"
    return _function(t, name, f"{t} x", f"return ({t})(x > 0 ? 1 : {below});")


@_entry("popcount")
def _popcount(s: Scalars, dtype: str, name: str) -> list[str]:
    t, u = s.type(dtype), s.type(_same_size(dtype))
    return _function(
        t, name, f"{t} x",
        f"{u} left = ({u})x;", f"{t} count = 0;",
        f"for (; left != 0; left = ({u})(left & (left - 1)))", "    ++count;", "return count;",
    )  # fmt: skip


@_entry("clz")
def _clz(s: Scalars, dtype: str, name: str) -> list[str]:
    t, u, low, high = s.type(dtype), s.type(_same_size(dtype)), *integer_range(dtype)
    bits = (high - low).bit_length()
    return _function(
        t, name, f"{t} x",
        f"{u} left = ({u})x;", f"{t} count = {bits};",
        f"for (; left != 0; left = ({u})(left >> 1))", "    --count;", "return count;",
    )  # fmt: skip


def _same_size(dtype: str) -> str:
    return dtype if dtype.startswith("u") else f"u{dtype}"


# ---------------------------------------------------------------------------------------------------------- min, max


def _extremum(op: str, beyond: str, bits: str):
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Of floats NaN if one is, and -0 before +0."""
        t = s.type(dtype)
        if dtype not in FLOATS:
            return _function(t, name, f"{t} x, {t} y", f"return x {beyond} y ? x : y;")
        both = s.call("of_bits", dtype, f"{s.call('bits', dtype, 'x')} {bits} {s.call('bits', dtype, 'y')}")
        return _function(
            t, name, f"{t} x, {t} y",
            f"return x {beyond} y ? x : y {beyond} x ? y : x == y ? {both} : x + y;",
        )  # fmt: skip

    LIBRARY[op] = template


_extremum("min", "<", "|")
_extremum("max", ">", "&")

# ------------------------------------------------------------------------------------------------------------- floats


@_entry("isnan")
def _isnan(s: Scalars, dtype: str, name: str) -> list[str]:
    return _function(s.type("bool"), name, f"{s.type(dtype)} x", "return x != x;")


@_entry("isinf")
def _isinf(s: Scalars, dtype: str, name: str) -> list[str]:
    infinite = f"{s.call('abs', dtype, 'x')} == {s.constant(float('inf'), dtype)}"
    return _function(s.type("bool"), name, f"{s.type(dtype)} x", f"return {infinite};")


@_entry("isfinite")
def _isfinite(s: Scalars, dtype: str, name: str) -> list[str]:
    finite = f"{s.call('abs', dtype, 'x')} < {s.constant(float('inf'), dtype)}"
    return _function(s.type("bool"), name, f"{s.type(dtype)} x", f"return {finite};")


def _float_mod(s: Scalars, dtype: str, name: str) -> list[str]:
    t, zero = s.type(dtype), s.constant(0.0, dtype)
    return _function(
        t, name, f"{t} x, {t} y",
        f"{t} rest = {s.call('fmod', dtype, 'x', 'y')};",
        f"if (y == {zero})", "    return rest;",
        f"if (rest == {zero})", f"    return {s.call('copysign', dtype, zero, 'y')};",
        f"return (rest < {zero}) != (y < {zero}) ? rest + y : rest;",
    )  # fmt: skip


def _float_floordiv(s: Scalars, dtype: str, name: str) -> list[str]:
    """floor(x / y), as NumPy: from the exact remainder."""
    t, zero, one, half = s.type(dtype), *(s.constant(k, dtype) for k in (0.0, 1.0, 0.5))
    return _function(
        t, name, f"{t} x, {t} y",
        f"if (y == {zero})", "    return x / y;",
        f"{t} rest = {s.call('fmod', dtype, 'x', 'y')};",
        f"{t} quotient = (x - rest) / y;",
        f"if (rest != {zero} && (rest < {zero}) != (y < {zero}))", f"    quotient -= {one};",
        f"if (quotient == {zero})", f"    return {s.call('copysign', dtype, zero, 'x / y')};",
        f"{t} below = {s.call('floor', dtype, 'quotient')};",
        f"return quotient - below > {half} ? below + {one} : below;",
    )  # fmt: skip


def _saturating(target: str) -> Template:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Truncated to what the integer holds; NaN gives 0."""
        t, result, (low, high) = s.type(dtype), s.type(target), integer_range(target)
        above = s.constant(float(high + 1), dtype)  # a power of two, so exact
        smallest, largest = s.constant(low, target), s.constant(high, target)
        return _function(
            result, name, f"{t} x",
            "if (x != x)", "    return 0;",
            f"return x >= {above} ? {largest} : x <= {s.constant(float(low), dtype)} ? {smallest} : ({result})x;",
        )  # fmt: skip

    return template


for _bits in (8, 16, 32, 64):
    for _target in (f"int{_bits}", f"uint{_bits}"):
        LIBRARY[f"saturate_{_target}"] = _saturating(_target)


@_entry("settled")
def _settled(s: Scalars, dtype: str, name: str) -> list[str]:
    """A sum with the error that it carried; the error of an infinite one is NaN, and nothing."""
    t = s.type(dtype)
    if dtype in COMPLEX:
        part = s.define("settled", COMPLEX[dtype])
        whole = s.dialect.pair(dtype, f"{part}(total.x, error.x)", f"{part}(total.y, error.y)")
        return _function(t, name, f"{t} total, {t} error", f"return {whole};")
    finite = s.call("isfinite", dtype, "total")
    return _function(t, name, f"{t} total, {t} error", f"return {finite} ? total + error : total;")


# ------------------------------------------------------------------------------------------------------------ complex


@_entry("mul")
def _complex_mul(s: Scalars, dtype: str, name: str) -> list[str]:
    t = s.type(dtype)
    product = s.dialect.pair(dtype, "x.x * y.x - x.y * y.y", "x.x * y.y + x.y * y.x")
    return _function(t, name, f"{t} x, {t} y", f"return {product};")


@_entry("div")
def _complex_div(s: Scalars, dtype: str, name: str) -> list[str]:
    """By Smith's method (R. L. Smith, CACM 5, 1962), with NumPy's choices."""
    t, part = s.type(dtype), COMPLEX[dtype]
    p, zero, one = s.type(part), s.constant(0.0, part), s.constant(1.0, part)
    sizes = [f"{p} real = {s.call('abs', part, 'y.x')};", f"{p} imaginary = {s.call('abs', part, 'y.y')};"]
    return _function(
        t, name, f"{t} x, {t} y", *sizes,
        "if (real >= imaginary) {",
        f"    if (real == {zero} && imaginary == {zero})",
        f"        return {s.dialect.pair(dtype, 'x.x / real', 'x.y / real')};",
        f"    {p} ratio = y.y / y.x;",
        f"    {p} scale = {one} / (y.x + y.y * ratio);",
        f"    return {s.dialect.pair(dtype, '(x.x + x.y * ratio) * scale', '(x.y - x.x * ratio) * scale')};",
        "}",
        f"{p} ratio = y.x / y.y;",
        f"{p} scale = {one} / (y.y + y.x * ratio);",
        f"return {s.dialect.pair(dtype, '(x.x * ratio + x.y) * scale', '(x.y * ratio - x.x) * scale')};",
    )  # fmt: skip


@_entry("same")
def _complex_same(s: Scalars, dtype: str, name: str) -> list[str]:
    t = s.type(dtype)
    return _function(s.type("bool"), name, f"{t} x, {t} y", "return x.x == y.x && x.y == y.y;")


@_entry("conj")
def _complex_conj(s: Scalars, dtype: str, name: str) -> list[str]:
    t = s.type(dtype)
    return _function(t, name, f"{t} x", f"return {s.dialect.pair(dtype, 'x.x', '-x.y')};")


# ---------------------------------------------------------------------------------------------------- loops, reductions


@_entry("turns")
def _turns(s: Scalars, dtype: str, name: str) -> list[str]:
    """How often range(start, stop, step) goes round; never for a step of 0."""
    t, wide = s.type(dtype), s.wide(dtype)
    u = s.type(wide)
    down = [
        "if (step < 0 && start > stop)",
        f"    return (({u})start - ({u})stop - 1) / (-({u})step) + 1;",
    ] if _signed(dtype) else []  # fmt: skip
    return _function(
        u, name, f"{t} start, {t} stop, {t} step",
        "if (step > 0 && start < stop)",
        f"    return (({u})stop - ({u})start - 1) / ({u})step + 1;",
        *down, "return 0;",
    )  # fmt: skip


def _better(op: str, sign: str) -> None:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Whether x at the position p comes before the best one so far, y at q; ties and NaN go to the first, and a
        position of -1 is none."""
        t, place = s.type(dtype), s.type("int64")
        floats = dtype in FLOATS
        over = f"x {sign} y" + (" || (x != x && y == y)" if floats else "")
        under = f"y {sign} x" + (" || (y != y && x == x)" if floats else "")
        return _function(
            s.type("bool"), name, f"{t} x, {place} p, {t} y, {place} q",
            "if (p < 0 || q < 0)", "    return p >= 0;",
            f"return {over} || (!({under}) && p < q);",
        )  # fmt: skip

    LIBRARY[f"better_{op}"] = template


_better("argmin", "<")
_better("argmax", ">")


@_entry("view_offset")
def _view_offset(s: Scalars, dtype: str, name: str) -> list[str]:
    """The offset of position i of a view: how many levels it has inside the outermost, the stride of that, then (size,
    stride) of each level, innermost first."""
    t = s.type("int64")
    pairs = [f"{t} size_{k}, {t} step_{k}" for k in range(VIEW_LEVELS)]
    lines = [f"{t} offset = 0;"]
    for k in range(VIEW_LEVELS):
        lines += [
            f"if (levels > {k}) {{",
            f"    {t} rest_{k} = i / size_{k};",
            f"    offset += (i - rest_{k} * size_{k}) * step_{k};",
            f"    i = rest_{k};",
            "}",
        ]
    lines.append("return offset + i * step;")
    return _function(t, name, ", ".join([f"{t} i, {t} levels, {t} step", *pairs]), *lines)
