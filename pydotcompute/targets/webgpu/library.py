"""What WGSL lacks of the kernel language: functions, each for one dtype, written where a file needs them. An entry gets
the operations (text/scalars.py), the dtype and the function's name, and returns its lines. Floats have theirs in
floats.py, integers of 64 bits in pairs.py.
"""

from __future__ import annotations

from ...artifact.launch import VIEW_LEVELS
from ...ir.dtypes import INTEGER_BITS
from ..text import mathematics
from ..text.dialect import Template
from ..text.scalars import Scalars
from .doubles import DOUBLES, narrowed
from .floats import FLOATS, float_floordiv, float_mod
from .heads import function, one_of, signed, two_of
from .pairs import PAIRS

LIBRARY: dict[str, Template] = dict(FLOATS)


def functions() -> dict[str, Template]:
    """All of them."""
    own = {name: made for name, made in mathematics.functions().items() if name not in NOT_HERE}
    return {**own, **{name: _either(name) for name in {**LIBRARY, **PAIRS, **DOUBLES}}}


NOT_HERE = frozenset(("hypot", "rounded_to_odd"))


def _either(name: str) -> Template:
    """Of doubles, of pairs or of all else."""

    def template(s: Scalars, dtype: str, made: str) -> list[str]:
        if dtype == "float64":
            return narrowed(s, dtype, made) if name == "to_float32" else DOUBLES[name](s, dtype, made)
        for entries in (PAIRS, LIBRARY) if dtype in s.dialect.emulated else (LIBRARY, PAIRS):
            if name in entries:
                return entries[name](s, dtype, made)
        return DOUBLES[name](s, dtype, made)

    return template


def _entry(name: str):
    def enter(template: Template) -> Template:
        LIBRARY[name] = template
        return template

    return enter


# ------------------------------------------------------------------------------------------------------ integers


@_entry("floordiv")
def _floordiv(s: Scalars, dtype: str, name: str) -> list[str]:
    """Towards minus infinity; x // 0 is 0, MIN // -1 is MIN."""
    if dtype == "float32":
        return float_floordiv(s, dtype, name)
    if not signed(dtype):
        return function(s, dtype, name, two_of(s, dtype), "if (y == 0u) {", "    return 0u;", "}", "return x / y;")
    return function(
        s, dtype, name, two_of(s, dtype),
        "if (y == 0i) {", "    return 0i;", "}",
        "if (y == -1i) {", f"    return {s.unary('-', dtype, 'x')};", "}",
        "let found = x / y;",
        "return select(found, found - 1i, found * y != x && (x < 0i) != (y < 0i));",
    )  # fmt: skip


@_entry("mod")
def _mod(s: Scalars, dtype: str, name: str) -> list[str]:
    """With the sign of y; x % 0 and MIN % -1 are 0."""
    if dtype == "float32":
        return float_mod(s, dtype, name)
    if not signed(dtype):
        return function(s, dtype, name, two_of(s, dtype), "if (y == 0u) {", "    return 0u;", "}", "return x % y;")
    return function(
        s, dtype, name, two_of(s, dtype),
        "if (y == 0i || y == -1i) {", "    return 0i;", "}",
        "let found = x % y;",
        "return select(found, found + y, found != 0i && (found < 0i) != (y < 0i));",
    )  # fmt: skip


@_entry("shl")
def _shl(s: Scalars, dtype: str, name: str) -> list[str]:
    shifted = s.wrapped(dtype, f"{s.unsigned(dtype, 'x')} << u32(y)")
    zero, bits = s.constant(0, dtype), INTEGER_BITS[dtype]
    return function(
        s, dtype, name, two_of(s, dtype), f"if (u32(y) >= {bits}u) {{", f"    return {zero};", "}", f"return {shifted};"
    )  # fmt: skip


@_entry("shr")
def _shr(s: Scalars, dtype: str, name: str) -> list[str]:
    bits = INTEGER_BITS[dtype]
    if not signed(dtype):
        return function(
            s, dtype, name, two_of(s, dtype), f"if (y >= {bits}u) {{", "    return 0u;", "}", "return x >> y;"
        )  # fmt: skip
    return function(s, dtype, name, two_of(s, dtype), f"return x >> min(u32(y), {bits - 1}u);")


@_entry("power")
def _power(s: Scalars, dtype: str, name: str) -> list[str]:
    """Wraps; a negative exponent gives 0 but for the bases 1 and -1."""
    zero, one = s.constant(0, dtype), s.constant(1, dtype)
    minus = s.constant(-1, dtype) if signed(dtype) else ""

    def same(x: str, y: str) -> str:
        return s.compare("==", dtype, x, y)

    odd = f"!{same(s.binary('&', dtype, 'left', one), zero)}"
    negative = [
        f"if ({s.compare('<', dtype, 'y', zero)}) {{",
        f"    if ({same('x', one)} || {same('x', minus)} && !{odd}) {{", f"        return {one};", "    }",
        f"    if ({same('x', minus)}) {{", "        return x;", "    }",
        f"    return {zero};", "}",
    ] if signed(dtype) else []  # fmt: skip
    return function(
        s, dtype, name, two_of(s, dtype),
        "var left = y;", *negative,
        "var base = x;", f"var result = {one};",
        f"while (!{same('left', zero)}) {{",
        f"    if ({odd}) {{", f"        result = {s.binary('*', dtype, 'result', 'base')};", "    }",
        f"    base = {s.binary('*', dtype, 'base', 'base')};",
        f"    left = {s.binary('>>', dtype, 'left', one)};",
        "}",
        "return result;",
    )  # fmt: skip


@_entry("abs")
def _abs(s: Scalars, dtype: str, name: str) -> list[str]:
    if dtype == "float32":
        raise KeyError(name)  # which WGSL has
    negative = s.compare("<", dtype, "x", s.constant(0, dtype))
    return function(s, dtype, name, one_of(s, dtype), f"return select(x, {s.unary('-', dtype, 'x')}, {negative});")


@_entry("sign")
def _sign(s: Scalars, dtype: str, name: str) -> list[str]:
    """-1, 0 or 1; of NaN, NaN."""
    zero, one = s.constant(0, dtype), s.constant(1, dtype)
    lines = [f"if ({s.compare('<', dtype, zero, 'x')}) {{", f"    return {one};", "}"]
    if signed(dtype) or dtype == "float32":
        lines += [f"if ({s.compare('<', dtype, 'x', zero)}) {{", f"    return {s.constant(-1, dtype)};", "}"]
    if dtype == "float32":
        lines += [f"if ({s.call('isnan', dtype, 'x')}) {{", "    return x;", "}"]
    return function(s, dtype, name, one_of(s, dtype), *lines, f"return {zero};")


@_entry("popcount")
def _popcount(s: Scalars, dtype: str, name: str) -> list[str]:
    mask = 2 ** INTEGER_BITS[dtype] - 1
    return function(s, dtype, name, one_of(s, dtype), f"return {s.type(dtype)}(countOneBits(u32(x) & {mask}u));")


@_entry("clz")
def _clz(s: Scalars, dtype: str, name: str) -> list[str]:
    bits, kind = INTEGER_BITS[dtype], s.type(dtype)
    counted = f"countLeadingZeros(u32(x) & {2**bits - 1}u) - {32 - bits}u"
    return function(s, dtype, name, one_of(s, dtype), f"return {kind}({counted});")


@_entry("below")
def _below(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of bools."""
    if dtype == "float32":
        return FLOATS["below"](s, dtype, name)
    return function(s, "bool", name, two_of(s, dtype), "return !x && y;")


# ------------------------------------------------------------------------------------------------------------ complex


@_entry("mul")
def _complex_mul(s: Scalars, dtype: str, name: str) -> list[str]:
    product = "x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x"
    return function(s, dtype, name, two_of(s, dtype), f"return vec2<f32>({product});")


@_entry("div")
def _complex_div(s: Scalars, dtype: str, name: str) -> list[str]:
    """By Smith's method (R. L. Smith, CACM 5, 1962), with NumPy's choices."""
    return function(
        s, dtype, name, two_of(s, dtype),
        "let real = abs(y.x);", "let imaginary = abs(y.y);",
        "if (real >= imaginary) {",
        "    if (real == 0.0f && imaginary == 0.0f) {", "        return vec2<f32>(x.x / real, x.y / real);", "    }",
        "    let ratio = y.y / y.x;", "    let scale = 1.0f / (y.x + y.y * ratio);",
        "    return vec2<f32>((x.x + x.y * ratio) * scale, (x.y - x.x * ratio) * scale);",
        "}",
        "let ratio = y.x / y.y;", "let scale = 1.0f / (y.y + y.x * ratio);",
        "return vec2<f32>((x.x * ratio + x.y) * scale, (x.y * ratio - x.x) * scale);",
    )  # fmt: skip


@_entry("same")
def _same(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of complex numbers: both parts."""
    if dtype == "float32":
        return FLOATS["same"](s, dtype, name)
    part = s.define("same", "float32")
    return function(s, "bool", name, two_of(s, dtype), f"return {part}(x.x, y.x) && {part}(x.y, y.y);")


@_entry("conj")
def _complex_conj(s: Scalars, dtype: str, name: str) -> list[str]:
    return function(s, dtype, name, one_of(s, dtype), "return vec2<f32>(x.x, -x.y);")


# ---------------------------------------------------------------------------------------------------- loops, reductions


@_entry("turns")
def _turns(s: Scalars, dtype: str, name: str) -> list[str]:
    """How often range(start, stop, step) goes round; never for a step of 0."""
    wide, zero = s.wide(dtype), s.constant(0, dtype)
    one = s.constant(1, wide)

    def unsigned(text: str) -> str:
        return s.unsigned(dtype, text)

    def count(far: str, near: str, step: str) -> str:
        between = s.binary("-", wide, s.binary("-", wide, unsigned(far), unsigned(near)), one)
        return s.binary("+", wide, s.call("floordiv", wide, between, step), one)

    down = [
        f"if ({s.compare('<', dtype, 'step', zero)} && {s.compare('<', dtype, 'stop', 'start')}) {{",
        f"    return {count('start', 'stop', s.unary('-', wide, unsigned('step')))};", "}",
    ] if signed(dtype) else []  # fmt: skip
    kind = s.type(dtype)
    return function(
        s, wide, name, f"start: {kind}, stop: {kind}, step: {kind}",
        f"if ({s.compare('<', dtype, zero, 'step')} && {s.compare('<', dtype, 'start', 'stop')}) {{",
        f"    return {count('stop', 'start', unsigned('step'))};", "}",
        *down, f"return {s.constant(0, wide)};",
    )  # fmt: skip


def _better(op: str, sign: str) -> None:
    def template(s: Scalars, dtype: str, name: str) -> list[str]:
        """Whether x at the position p comes before the best one so far, y at q; ties and NaN go to the first, and a
        position of -1 is none."""
        kind, pair, zero = s.type(dtype), s.type("int64"), s.constant(0, "int64")
        over, under = s.compare(sign, dtype, "x", "y"), s.compare(sign, dtype, "y", "x")
        before = s.compare("<", "int64", "p", "q")
        lines = [
            f"let here = !{s.compare('<', 'int64', 'p', zero)};",
            f"if (!here || {s.compare('<', 'int64', 'q', zero)}) {{", "    return here;", "}",
        ]  # fmt: skip
        if dtype == "float32":
            nan = s.define("isnan", dtype)
            lines += [
                f"if ({nan}(x) || {nan}(y)) {{",
                f"    return {nan}(x) && (!{nan}(y) || {before});", "}",
            ]  # fmt: skip
        lines.append(f"return {over} || !{under} && {before};")
        return function(s, "bool", name, f"x: {kind}, p: {pair}, y: {kind}, q: {pair}", *lines)

    LIBRARY[f"better_{op}"] = template


_better("argmin", "<")
_better("argmax", ">")


@_entry("view_offset")
def _view_offset(s: Scalars, dtype: str, name: str) -> list[str]:
    """The offset of position i of a view: how many levels it has inside the outermost, the stride of that, then (size,
    stride) of each level, innermost first."""
    pairs = [f"size_{k}: i32, step_{k}: i32" for k in range(VIEW_LEVELS)]
    lines = ["var left = i;", "var offset = 0i;"]
    for k in range(VIEW_LEVELS):
        lines += [
            f"if (levels > {k}i) {{",
            f"    let rest = left / size_{k};",
            f"    offset += (left - rest * size_{k}) * step_{k};",
            "    left = rest;",
            "}",
        ]
    lines.append("return offset + left * step;")
    return function(s, "int32", name, ", ".join(["i: i32, levels: i32, step: i32", *pairs]), *lines)

