"""The Metal Shading Language as a dialect: C++ with address spaces. Scalars come in a struct, for a kernel has at most
31 buffers."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass

from ...ir.dtypes import COMPLEX, DOUBLES, INTEGER_BITS
from ..opencl import dialect as opencl
from ..opencl.words import FUNCTIONS as OPENCL_FUNCTIONS, PATTERN as OPENCL_PATTERN, WORDS as OPENCL_WORDS
from ..text.dialect import Dialect
from .atomics import SPACES
from .faults import FAULTS, WORDS as FAULT_WORDS
from .functions import functions
from .words import FUNCTIONS as METAL_FUNCTIONS, PATTERN, WORDS

VERSION = "2.4"
TYPES = {dtype: kind for dtype, kind in opencl.TYPES.items() if dtype not in DOUBLES} | {"float64": "ulong"}
_PLACES = {
    "_local": "thread_position_in_threadgroup", "_size": "threads_per_threadgroup",
    "_group": "threadgroup_position_in_grid", "_groups": "threadgroups_per_grid",
}  # fmt: skip
_RESERVED = frozenset().union(OPENCL_WORDS, OPENCL_FUNCTIONS, WORDS, METAL_FUNCTIONS, FAULT_WORDS, _PLACES)
_PATTERN = re.compile(f"{OPENCL_PATTERN}|{PATTERN}")


def _native() -> dict[tuple[str, str], str]:
    """What is exact there."""
    found = {(name, "float32"): name for name in ("floor", "ceil", "trunc", "copysign", "fma")}
    found |= {("abs", "float32"): "fabs", ("round", "float32"): "rint", ("fmuladd", "float32"): "fma"}
    found |= {("bits", "float32"): "as_type<int>", ("of_bits", "float32"): "as_type<float>"}
    return found | {("sqrt", "float32"): "precise::sqrt"}


def constant(value, dtype: str) -> str:
    """A literal of this type."""
    if dtype == "float64":
        return f"{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:#x}UL"
    if dtype == "bool" or dtype in INTEGER_BITS or math.isfinite(value):
        return opencl.constant(value, dtype)
    text = f"as_type<float>({'0x7fc00000U' if math.isnan(value) else '0x7f800000U'})"
    return f"(-{text})" if math.copysign(1, value) < 0 else text


def is_reserved(name: str) -> bool:
    return name in _RESERVED or bool(_PATTERN.fullmatch(name))


def _pair_at(memory: str, pointer: str, offset: str) -> str:
    """A complex element, which is as aligned as its parts."""
    space = SPACES[memory.removeprefix("updated_").replace("constant", "global")]
    return f"*({space} {'const ' * (memory == 'constant')}packed_float2 *)({pointer} + {offset})"


def load(dtype: str, memory: str, pointer: str, offset: str) -> str:
    if dtype in COMPLEX:
        return f"float2({_pair_at(memory, pointer, offset)})"
    return f"({pointer}[{offset}] != 0)" if dtype == "bool" else f"{pointer}[{offset}]"


def store(dtype: str, memory: str, pointer: str, offset: str, value: str) -> str:
    if dtype in COMPLEX:
        return f"{_pair_at(memory, pointer, offset)} = {value}"
    return f"{pointer}[{offset}] = {value}"


def entry(name: str, parameters: list[str], block: int | None) -> str:
    buffers = [f"{text} [[buffer({k})]]" for k, text in enumerate(parameters)]
    places = [f"uint3 {place} [[{what}]]" for place, what in _PLACES.items()]
    most = f"[[max_total_threads_per_threadgroup({block})]] " if block else ""
    return f"{most}kernel void {name}({', '.join([*buffers, *places])})"


def prologue(features: frozenset[str]) -> list[str]:
    return ["#include <metal_stdlib>", "using namespace metal;", "#pragma METAL fp contract(off)"]


def _axes(place: str) -> tuple[str, str, str]:
    return f"(long){place}.x", f"(long){place}.y", f"(long){place}.z"


@dataclass(frozen=True)
class MetalDialect(Dialect):
    def pair(self, dtype: str, real: str, imaginary: str) -> str:
        return f"{self.types[dtype]}({real}, {imaginary})"

    def struct(self, name: str) -> tuple[str, str]:
        return f"struct {name}", ";"

    def function(self, result: str, name: str, parameters: list[str]) -> str:
        return f"{result} {name}({', '.join(parameters)})"

    def gathered(self, struct: str) -> str:
        return f"constant {struct} &{self.members}"


METAL = MetalDialect(
    name="Metal",
    types=TYPES,
    elements={"bool": "uchar", "complex64": "float"},
    spaces=SPACES,
    is_reserved=is_reserved,
    constant=constant,
    functions=_native(),
    library=functions(),
    wrapping=frozenset({"uint32", "uint64"}),
    local=_axes("_local"),
    size=_axes("_size"),
    group=_axes("_group"),
    groups=_axes("_groups"),
    barrier="threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)",
    together="",
    load=load,
    store=store,
    entry=entry,
    prologue=prologue,
    faults=FAULTS,
    emulated=frozenset({"float64"}),
    internal=frozenset({"float64"}),
    alone="",
    members="_given",
)
