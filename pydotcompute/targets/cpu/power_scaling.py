"""p * 2**k in the one instruction that AVX-512 has for it. ir/math multiplies by two factors, of which only the second
rounds, as the instruction does: the bits are the same."""

from __future__ import annotations

import re
from typing import Any

from llvmlite import ir

from ...ir.math.exponential import scaling
from ...ir.math.formats import FLOAT32, FLOAT64, Format
from .short_forms import FUNCTION

_DEFINITION = re.compile(r"^  (%\S+) = (?:tail )?(\w+) (.*)$", re.M)
_OPERAND = re.compile(r"%[^\s,()]+|splat \([^)]*\)")
_PRODUCT = re.compile(r"^  (%\S+) = fmul (?:\w+ )*(<(\d+) x (float|double)>) .*$", re.M)


def with_scalings(text: str) -> str:
    """LLVM IR for AVX-512 with vectors of all widths, once it has been optimised, with calls for such products."""
    declared: dict[str, str] = {}

    def in_function(function: re.Match[str]) -> str:
        made = {name: (op, _OPERAND.findall(rest)) for name, op, rest in _DEFINITION.findall(function[0])}

        def product(line: re.Match[str]) -> str:
            name, vector, lanes, t = line.groups()
            suffix, size, least, pattern = _FORMATS[t]
            width = int(lanes) * size
            parts: dict[str, str] = {}
            if width not in (128, 256, 512) or not _matches(pattern, name, made, parts):
                return line[0]
            instruction = f"llvm.x86.avx512.mask.scalef.{suffix}.{width}"
            last = f"i{max(8, int(lanes))}", *(["i32"] if width == 512 else [])  # mask, rounding
            declared[instruction] = f"declare {vector} @{instruction}({', '.join([vector] * 3 + [*last])})\n"
            k = f"%k.{name[1:]}"
            given = [f"{vector} {parts['p']}", f"{vector} {k}", f"{vector} zeroinitializer"]
            given += [f"{t} {number}" for t, number in zip(last, (-1, 4))]
            return (
                f"  {k} = fadd {vector} {parts['shifted']}, splat ({least})\n"
                f"  {name} = call {vector} @{instruction}({', '.join(given)})"
            )

        return _PRODUCT.sub(product, function[0])

    return FUNCTION.sub(in_function, text) + "".join(declared.values())


def _of_two_factors(f: Format) -> tuple[Any, ...]:
    """What LLVM makes of `scaling`: operations over constants and the values to be found."""
    integer = f"i{f.float().nbytes * 8}"
    shift, shift_less, exponent = (f"splat ({integer} {n})" for n in (f.mantissa, f.mantissa - 1, -1 << f.mantissa))
    bits = ("bitcast", "shifted")
    half = ("and", ("shl", bits, shift_less), exponent)
    return "fmul", ("fmul", "p", ("bitcast", half)), ("bitcast", ("sub", ("shl", bits, shift), half))


def _matches(pattern: Any, value: str, made: dict[str, tuple[str, list[str]]], found: dict[str, str]) -> bool:
    """Whether `value` is what the pattern says; the values that its names stand for go to `found`."""
    if isinstance(pattern, str):
        return value == (pattern if pattern.startswith("splat") else found.setdefault(pattern, value))
    op, operands = made.get(value, ("", []))
    if op != pattern[0]:
        return False
    for order in (operands, operands[::-1]) if op == "fmul" else (operands,):
        trial = dict(found)
        if all(_matches(part, operand, made, trial) for part, operand in zip(pattern[1:], order)):
            found.update(trial)
            return True
    return False


# Of each type: the instruction's suffix, bits, what is added to `shifted` to have k, and the products.
_FORMATS = {
    "float": ("ps", 32, ir.Constant(ir.FloatType(), -float(scaling(FLOAT32)[0])), _of_two_factors(FLOAT32)),
    "double": ("pd", 64, ir.Constant(ir.DoubleType(), -float(scaling(FLOAT64)[0])), _of_two_factors(FLOAT64)),
}
