"""WGSL as a dialect: its types, spellings, memory and reserved words.

Integers of 8 and 16 bits are values of 32, those of 64 bits pairs of 32, low bits first. In buffers the elements of 8
and 16 bits lie as everywhere, four or two in a word, which threads change by atomic operations.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import Any

from ...ir.dtypes import INTEGER_BITS
from ..text.dialect import Dialect
from . import atomics, sums
from .faults import FAULTS, WORDS as FAULT_WORDS
from .library import functions
from .memory import declared, load, store
from .words import FUNCTIONS as WGSL_FUNCTIONS, PATTERN, TYPES as WGSL_TYPES, WORDS

PAIR, WORDS_NAME = "vec2<u32>", "_words"
ZEROS = 1  # words ahead of the arguments: 0, which no compiler knows, so that `exactly` stays
TYPES = {
    "bool": "bool", "int8": "i32", "int16": "i32", "int32": "i32", "int64": PAIR, "uint8": "u32", "uint16": "u32",
    "uint32": "u32", "uint64": PAIR, "float32": "f32", "complex64": "vec2<f32>", "float64": PAIR,
}  # fmt: skip
_LEAST = -(2**31)


def _native() -> dict[tuple[str, str], str]:
    found = {(name, "float32"): name for name in ("floor", "ceil", "trunc", "round", "abs")}
    found["fma", "float32"] = found["fmuladd", "float32"] = "fma"
    found["bits", "float32"] = "bitcast<i32>"
    for dtype, bits in INTEGER_BITS.items():
        if bits < 64:
            found |= {("min", dtype): "min", ("max", dtype): "max"}
            if bits == 32 or dtype.startswith("u"):
                found["popcount", dtype] = "countOneBits"
        if bits == 32:
            found["clz", dtype] = "countLeadingZeros"
    found["abs", "int32"] = "abs"
    return found


def constant(value: Any, dtype: str) -> str:
    """A literal of this type."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in ("int64", "uint64"):
        bits = int(value) % 2**64
        return f"{PAIR}({bits % 2**32}u, {bits >> 32}u)"
    if dtype in INTEGER_BITS:
        if dtype.startswith("u"):
            return f"{int(value)}u"
        if value == _LEAST:  # there is no such literal, only its neighbour's
            return f"({_LEAST + 1}i - 1i)"
        return f"({int(value)}i)" if value < 0 else f"{int(value)}i"
    value = float(value)
    if dtype == "float64":
        low, high = struct.unpack("<II", struct.pack("<d", value))
        return f"{PAIR}({low}u, {high}u)"
    sign = math.copysign(1, value) < 0
    if math.isnan(value) or math.isinf(value):  # of neither there is a literal
        bits = 0x7FC00000 if math.isnan(value) else 0x7F800000
        return f"float32_of({bits | (sign << 31)}u)"
    text = f"{_shortest(abs(value))}f"
    return f"(-{text})" if sign else text


def _shortest(value: float) -> str:
    """The shortest decimal that is read as this float32."""
    import numpy as np

    text = str(np.float32(value))
    return text if "." in text or "e" in text else f"{text}.0"


def is_reserved(name: str) -> bool:
    known = name in WORDS or name in WGSL_TYPES or name in WGSL_FUNCTIONS or name in FAULT_WORDS
    return known or name == WORDS_NAME or name.startswith("__") or bool(re.fullmatch(PATTERN, name))


def entry(name: str, parameters: list[str], block: int | None) -> str:
    """The sizes of a block are the launch's; `block` alone is fixed."""
    size = f"{block}, 1, 1" if block else "_width, _height, 1"
    return (
        f"@compute @workgroup_size({size}) fn {name}(@builtin(local_invocation_id) _local: vec3<u32>, "
        "@builtin(workgroup_id) _group: vec3<u32>, @builtin(num_workgroups) _groups: vec3<u32>)"
    )


PROLOGUE = """
override _width: u32 = 1u;
override _height: u32 = 1u;
override _depth: u32 = 1u;

fn float32_of(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

fn exactly(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ _words[0].x);
}

fn exactly_both(x: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(exactly(x.x), exactly(x.y));
}
""".strip("\n").splitlines()


def prologue(features: frozenset[str]) -> list[str]:
    return PROLOGUE


def _axes(text: str) -> tuple[str, str, str]:
    return f"i32({text}.x)", f"i32({text}.y)", f"i32({text}.z)"


@dataclass(frozen=True)
class WGSLDialect(Dialect):
    def cast(self, dtype: str, text: str, source: str) -> str:
        if dtype in ("int8", "int16"):
            shift = f"{32 - INTEGER_BITS[dtype]}u"
            return f"((i32({text}) << {shift}) >> {shift})"
        if dtype in ("uint8", "uint16"):
            return f"(u32({text}) & {2 ** INTEGER_BITS[dtype] - 1}u)"
        return f"{self.types[dtype]}({text})"

    def choose(self, dtype: str, condition: str, then: str, otherwise: str) -> str:
        return f"select({otherwise}, {then}, {condition})"

    def pair(self, dtype: str, real: str, imaginary: str) -> str:
        return f"{self.types[dtype]}({real}, {imaginary})"

    def negated(self, dtype: str, text: str) -> str:
        return f"(0u - {text})" if self.types[dtype] == "u32" else f"(-{text})"

    # ---------------------------------------------------------------------------------------------- declarations

    def variable(self, name: str, kind: str, value: str = "") -> str:
        return f"var {name}: {kind} = {value};" if value else f"var {name}: {kind};"

    def constant_of(self, name: str, kind: str, value: str) -> str:
        return f"let {name}: {kind} = {value};"

    def member(self, name: str, kind: str) -> str:
        return f"{name}: {kind},"

    def parameter(self, name: str, kind: str) -> str:
        return f"{name}: {kind}"

    def function(self, result: str, name: str, parameters: list[str]) -> str:
        return f"fn {name}({', '.join(parameters)}) -> {result}"

    def struct(self, name: str) -> tuple[str, str]:
        return f"struct {name}", ""

    def advance(self, name: str, dtype: str, step: str) -> str:
        if dtype in self.emulated:
            return f"{name} = vec2<u32>({name}.x + 1u, {name}.y + u32({name}.x == 4294967295u))"
        return f"{name} += {constant(1, dtype) if step == '1' else step}"

    def below(self, dtype: str, x: str, y: str) -> str:
        if dtype == "int64":
            high = f"bitcast<i32>({x}.y)", f"bitcast<i32>({y}.y)"
        elif dtype == "uint64":
            high = f"{x}.y", f"{y}.y"
        else:
            return f"{x} < {y}"
        return f"({high[0]} < {high[1]} || {x}.y == {y}.y && {x}.x < {y}.x)"

    # ---------------------------------------------------------------------------------------------------- memory

    def word(self, dtype: str, number: int) -> str:
        def at(k: int) -> str:
            return f"{WORDS_NAME}[{(k + ZEROS) // 4}].{'xyzw'[(k + ZEROS) % 4]}"

        if dtype in self.emulated:
            return f"{PAIR}({at(number)}, {at(number + 1)})"
        kind = self.types[dtype]
        return at(number) if kind == "u32" else f"bitcast<{kind}>({at(number)})"

    def declarations(self, layout: Any) -> list[str]:
        size = -(-(layout.words + ZEROS) // 4)
        lines = [f"@group(0) @binding(0) var<uniform> {WORDS_NAME}: array<vec4<u32>, {size}>;"]
        for name, (number, dtype, memory) in layout.buffers.items():
            access = "read" if memory == "constant" else "read_write"
            kind = f"array<{declared(dtype, memory)}>"
            lines.append(f"@group(0) @binding({number}) var<storage, {access}> {name}: {kind};")
        for name, (memory, dtype, count) in layout.arrays.items():
            space = "private" if memory == "private" else "workgroup"
            lines.append(f"var<{space}> {name}: array<{declared(dtype, memory)}, {count}>;")
        return lines


WGSL = WGSLDialect(
    name="WGSL",
    types=TYPES,
    elements={},
    spaces={"global": "storage", "shared": "workgroup", "private": "private"},
    is_reserved=is_reserved,
    constant=constant,
    functions=_native(),
    library=functions(),
    wrapping=frozenset({"int32", "uint32"}),
    local=_axes("_local"),
    size=("i32(_width)", "i32(_height)", "i32(_depth)"),
    group=_axes("_group"),
    groups=_axes("_groups"),
    barrier="workgroupBarrier(); storageBarrier()",
    together="",
    load=load,
    store=store,
    entry=entry,
    prologue=prologue,
    faults=FAULTS,
    index="int32",
    least=4,
    emulated=frozenset({"int64", "uint64", "float64"}),
    internal=frozenset({"float64"}),
    orders_bools=False,
    doubtful=frozenset({"float32"}),
    has_pointers=False,
    is_lazy=False,
    exact={"float32": "exactly", "complex64": "exactly_both"},
    atomics=atomics,
    sums=sums,
)
