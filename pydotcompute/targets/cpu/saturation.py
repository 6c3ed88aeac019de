"""Vectors of floats as integers, on x86-64: what is out of range gives the integer nearest to it, and NaN 0. LLVM
converts such vectors element by element. Here they are brought into the range first, or what comes of them is mended.

To 64 bits only AVX-512 converts vectors. Elsewhere they go by way of 32 bits, where all of a vector are within those.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from llvmlite import ir

from .short_forms import PREFIX, to_inline

_CALL = re.compile(r"(call <\d+ x i\d+> @)llvm\.fpto([su])i\.sat\.v(\d+)i(\d+)\.v\d+f(32|64)(?=\()")
_FLOATS = {"32": (ir.FloatType(), 24), "64": (ir.DoubleType(), 53)}  # and how many bits a whole number may have


def converted(text: str, to_64_bits: bool) -> str:
    """LLVM IR that is ready for its code to be emitted, with calls of functions to inline for such conversions.
    to_64_bits: whether there are instructions for those."""
    called: dict[str, str] = {}

    def conversion(found: re.Match[str]) -> str:
        head, sign, lanes, bits, size = found.groups()
        name = f"{PREFIX}to_{sign}{bits}.v{lanes}f{size}"
        called[name] = _conversion(name, sign, int(bits), int(lanes), size, to_64_bits)
        return head + name

    return _CALL.sub(conversion, text) + "".join(called.values())


def _conversion(name: str, sign: str, bits: int, lanes: int, size: str, to_64_bits: bool) -> str:
    (element, exact), wide = _FLOATS[size], max(bits, 32)  # there are no conversions to fewer
    given, to, truth = (f"<{lanes} x {t}>" for t in (element, f"i{wide}", "i1"))
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
    convert = "fptoui" if sign == "u" and bits == wide else "fptosi"

    def splat(value: int) -> str:
        return f"splat ({ir.Constant(element, float(value))})"

    lines = [] if bits < 64 or sign == "u" or to_64_bits else _by_32_bits(given, f"<{lanes} x i32>", to, splat)
    lines += [
        f"%above = fcmp ogt {given} %x, {splat(least)}",  # not so of NaN
        f"%limited = select {truth} %above, {given} %x, {given} {splat(least)}",
    ]
    if most.bit_length() <= exact:
        lines += [
            f"%below = fcmp olt {given} %limited, {splat(most)}",
            f"%inside = select {truth} %below, {given} %limited, {given} {splat(most)}",
            f"%whole = {convert} {given} %inside to {to}",
        ]
    else:  # it is no float; the next one is out of range
        lines += [
            f"%any = {convert} {given} %limited to {to}",
            f"%some = freeze {to} %any",
            f"%beyond = fcmp oge {given} %x, {splat(most + 1)}",
            f"%whole = select {truth} %beyond, {to} splat (i{wide} {most}), {to} %some",
        ]
    result = "%whole"
    if sign == "s":
        lines += [
            f"%number = fcmp ord {given} %x, %x",
            f"%mended = select {truth} %number, {to} %whole, {to} zeroinitializer",
        ]
        result = "%mended"
    if wide > bits:
        lines.append(f"%narrow = trunc {to} {result} to <{lanes} x i{bits}>")
        result = "%narrow"
    return to_inline(f"<{lanes} x i{bits}> @{name}({given} %x)", [*lines, f"ret <{lanes} x i{bits}> {result}"])


def _by_32_bits(given: str, few: str, to: str, splat: Callable[[int], str]) -> list[str]:
    """What returns if that is enough, and else goes on."""
    lanes = few[1:].partition(" ")[0]
    return [
        f"%from = fcmp oge {given} %x, {splat(-(1 << 31))}",
        f"%before = fcmp olt {given} %x, {splat(1 << 31)}",
        f"%each = and <{lanes} x i1> %from, %before",
        f"%bits = bitcast <{lanes} x i1> %each to i{lanes}",
        f"%all = icmp eq i{lanes} %bits, -1",
        "br i1 %all, label %near, label %far",
        "near:",
        f"%few = fptosi {given} %x to {few}",
        f"%extended = sext {few} %few to {to}",
        f"ret {to} %extended",
        "far:",
    ]
