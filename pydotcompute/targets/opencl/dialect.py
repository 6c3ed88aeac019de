"""OpenCL C 1.2 as a dialect: its types, spellings, functions and reserved words."""

from __future__ import annotations

import math
import re

from ...ir.dtypes import COMPLEX, INTEGER_BITS
from ...ir.math.formats import FLOAT32, FLOAT64
from ..text import mathematics
from ..text.dialect import Dialect, Template
from ..text.library import LIBRARY
from ..text.scalars import Scalars
from .atomics import ATOMICS
from .faults import FAULTS, WORDS as FAULT_WORDS
from .words import FUNCTIONS as OPENCL_FUNCTIONS, PATTERN, WORDS

TYPES = {
    "bool": "bool", "int8": "char", "int16": "short", "int32": "int", "int64": "long", "uint8": "uchar",
    "uint16": "ushort", "uint32": "uint", "uint64": "ulong", "float32": "float",
    "float64": "double", "complex64": "float2", "complex128": "double2",
}  # fmt: skip
ELEMENTS = {"bool": "uchar", "complex64": "float", "complex128": "double"}
SPACES = {"global": "global", "shared": "local", "private": ""}
_SUFFIX = {"int64": "L", "uint32": "U", "uint64": "UL"}

# Listed functions that PoCL's own serve within our bounds; those of float32 and float64 have one name.
_SAME = (
    "copysign fmod fma hypot rsqrt cbrt log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh erf erfc sqrt"
).split()
# Those of them that make an integer of their argument on the way, which nothing defines of NaN and of what has no
# fraction: what PoCL's compiler knows to be NaN, it makes anything of, the whole kernel included.
WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}
_OF_NUMBERS = ("exp", "exp2", "expm1", "tanh")
_FORMATS = {"float32": FLOAT32, "float64": FLOAT64}
# A compiler for a processor does the threads of a block one after the other from barrier to barrier. One at the start
# of each turn lets it do neighbouring elements at once, as vectors; and after a barrier under a condition PoCL 3.1
# forgets what follows up to the end of the loop around it, unless there is another. On a GPU they would only cost time.
ON_PROCESSOR, TOGETHER = "ON_PROCESSOR", "TOGETHER"
OURS = ("tan", "sinh", "cosh")  # in float32 PoCL's have errors of up to 2.9, 2.1 and 2.2 ulp


def _functions() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for dtype, whole in (("float32", "int"), ("float64", "long")):
        found |= {(name, dtype): name for name in _SAME}
        found |= {("abs", dtype): "fabs", ("fmuladd", dtype): "fma"}
        found |= {("bits", dtype): f"as_{whole}", ("of_bits", dtype): f"as_{TYPES[dtype]}"}
    for dtype, bits in INTEGER_BITS.items():
        found |= {("min", dtype): "min", ("max", dtype): "max"}
        if bits >= 32:
            found["popcount", dtype] = "popcount"
    for name in OURS:
        del found[name, "float32"]
    return found


def constant(value, dtype: str) -> str:
    """A literal of this type."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in INTEGER_BITS:
        low = -(1 << INTEGER_BITS[dtype] - 1)
        if dtype in ("int32", "int64") and value == low:  # there is no such literal, only its neighbour's
            return f"({constant(low + 1, dtype)} - 1)"
        text = f"{int(value)}{_SUFFIX.get(dtype, '')}"
        if INTEGER_BITS[dtype] < 32:
            return f"({TYPES[dtype]})({text})" if value < 0 else f"({TYPES[dtype]}){text}"
        return f"({text})" if value < 0 else text
    value = float(value)
    wide = dtype == "float64"
    if math.isnan(value):
        return "as_double(0x7ff8000000000000UL)" if wide else "NAN"
    if math.isinf(value):
        text = "as_double(0x7ff0000000000000UL)" if wide else "INFINITY"
    else:
        text = repr(abs(value)) if wide else f"{_shortest(abs(value))}f"
    return f"(-{text})" if math.copysign(1, value) < 0 else text


def _shortest(value: float) -> str:
    """The shortest decimal that is read as this float32."""
    import numpy as np

    text = str(np.float32(value))
    return text if "." in text or "e" in text else f"{text}.0"


def is_reserved(name: str) -> bool:
    known = name in WORDS or name in OPENCL_FUNCTIONS or name in FAULT_WORDS or name in (ON_PROCESSOR, TOGETHER)
    return known or bool(re.fullmatch(PATTERN, name))


def load(dtype: str, space: str, pointer: str, offset: str) -> str:
    if dtype in COMPLEX:
        return f"vload2(0, {pointer} + {offset})"
    return f"({pointer}[{offset}] != 0)" if dtype == "bool" else f"{pointer}[{offset}]"


def store(dtype: str, space: str, pointer: str, offset: str, value: str) -> str:
    if dtype in COMPLEX:
        return f"vstore2({value}, 0, {pointer} + {offset})"
    return f"{pointer}[{offset}] = {value}"


def entry(name: str, parameters: list[str], block: int | None) -> str:
    fixed = f"__attribute__((reqd_work_group_size({block}, 1, 1))) " if block else ""
    return f"{fixed}kernel void {name}({', '.join(parameters)})"


def prologue(features: frozenset[str]) -> list[str]:
    extensions = {
        "float64": ("cl_khr_fp64",), "int64_atomics": ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
    }  # fmt: skip
    wanted = [name for feature in sorted(features) for name in extensions[feature]]
    return [
        *(f"#pragma OPENCL EXTENSION {name} : enable" for name in wanted), "#pragma OPENCL FP_CONTRACT OFF",
        f"#ifdef {ON_PROCESSOR}",
        f"#define {TOGETHER} barrier(CLK_LOCAL_MEM_FENCE)",
        "#else", f"#define {TOGETHER}", "#endif",
    ]  # fmt: skip


def _float16_bits(s: Scalars, dtype: str, name: str) -> list[str]:
    return [
        f"int {name}(float x)", "{", "    ushort kept;", "    vstore_half_rte(x, 0, (half *)&kept);",
        "    return kept;", "}",
    ]  # fmt: skip


def _of_float16_bits(s: Scalars, dtype: str, name: str) -> list[str]:
    return [
        f"float {name}(int x)", "{", "    const ushort kept = (ushort)x;",
        "    return vload_half(0, (const half *)&kept);", "}",
    ]  # fmt: skip


def _widened(dtype: str) -> str:
    """x as an unsigned integer of at least 32 bits: PoCL 3.1 extends the sign of narrow ones before it counts bits."""
    unsigned = dtype if dtype.startswith("u") else f"u{dtype}"
    return f"({TYPES[unsigned]})x" if INTEGER_BITS[dtype] >= 32 else f"(uint)({TYPES[unsigned]})x"


def _popcount(s: Scalars, dtype: str, name: str) -> list[str]:
    t = s.type(dtype)
    return [f"{t} {name}({t} x)", "{", f"    return ({t})popcount({_widened(dtype)});", "}"]


def _clz(s: Scalars, dtype: str, name: str) -> list[str]:
    t, bits = s.type(dtype), INTEGER_BITS[dtype]
    counted = f"clz({_widened(dtype)}) - {max(32 - bits, 0)}"
    return [f"{t} {name}({t} x)", "{", f"    return ({t})(x == 0 ? {bits} : {counted});", "}"]


def _rounding(function: str) -> Template:
    def written(s: Scalars, dtype: str, name: str) -> list[str]:
        t, whole = s.type(dtype), s.constant(2.0 ** _FORMATS[dtype].mantissa, dtype)  # as is everything from here on
        return [f"{t} {name}({t} x)", "{", f"    return fabs(x) < {whole} ? {function}(x) : x;", "}"]

    return written


def _of_numbers(function: str) -> Template:
    def written(s: Scalars, dtype: str, name: str) -> list[str]:
        t = s.type(dtype)
        return [f"{t} {name}({t} x)", "{", f"    return x == x ? {function}(x) : x;", "}"]

    return written


def _pow(s: Scalars, dtype: str, name: str) -> list[str]:
    t, one, nan = s.type(dtype), s.constant(1.0, dtype), s.constant(math.nan, dtype)
    return [
        f"{t} {name}({t} x, {t} y)", "{",
        f"    if (x == {one} || y == {s.constant(0.0, dtype)})", f"        return {one};",
        f"    return x == x && y == y ? pow(x, y) : {nan};", "}",
    ]  # fmt: skip


def _axes(function: str) -> tuple[str, str, str]:
    return f"(long){function}(0)", f"(long){function}(1)", f"(long){function}(2)"


OPENCL = Dialect(
    name="OpenCL",
    types=TYPES,
    elements=ELEMENTS,
    spaces=SPACES,
    is_reserved=is_reserved,
    constant=constant,
    functions=_functions(),
    library={
        **LIBRARY, **ATOMICS, **mathematics.functions(), "float16_bits": _float16_bits,
        "of_float16_bits": _of_float16_bits, "popcount": _popcount, "clz": _clz, "pow": _pow,
        **{name: _rounding(function) for name, function in WHOLE.items()},
        **{name: _of_numbers(name) for name in _OF_NUMBERS},
    },
    wrapping=frozenset({"uint32", "uint64"}),
    local=_axes("get_local_id"),
    size=_axes("get_local_size"),
    group=_axes("get_group_id"),
    groups=_axes("get_num_groups"),
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
    together=TOGETHER,
    load=load,
    store=store,
    entry=entry,
    prologue=prologue,
    faults=FAULTS,
)  # fmt: skip
