"""Rounding to whole numbers on x86-64 before SSE 4.1, which has no instruction for it: by way of an integer, where LLVM
would call the C library. A float that no integer of its size holds exactly is a whole number already."""

from __future__ import annotations

import re

from .short_forms import to_inline

PREFIX = "rounding."
_CALL = re.compile(
    r"(call (?:[a-z]+ )*)(<(\d+) x (?:float|double)>|float|double) @llvm\.(floor|ceil|trunc|rint)\.(\w+)\("
)
_WHOLE = {"float": 2**23, "double": 2**52}  # from here on all are
# What is added to the number without its fraction, if a condition holds: the number and that as %x and %cut.
_STEPS = {
    "floor": (["%step = fcmp olt {t} %x, %cut"], "-1.0"),
    "ceil": (["%step = fcmp ogt {t} %x, %cut"], "1.0"),
    "rint": (
        [
            "%left = fsub {t} %x, %cut", "%distance = call {t} @llvm.fabs.{suffix}({t} %left)",
            "%odd.bit = and {word} %integer, {one}", "%odd = icmp ne {word} %odd.bit, {none}",
            "%half = fcmp oeq {t} %distance, {half}", "%tie = and {truth} %half, %odd",
            "%more = fcmp ogt {t} %distance, {half}", "%step = or {truth} %more, %tie",
        ],
        "",
    ),
}  # fmt: skip


def by_conversion(text: str) -> str:
    """LLVM IR with functions to inline in place of LLVM's own for rounding."""
    called: dict[str, str] = {}

    def call(found: re.Match[str]) -> str:
        before, t, lanes, which, suffix = found.groups()
        name = f"{PREFIX}{which}.{suffix}"
        called[name] = _function(name, which, t, int(lanes or 0), suffix)
        for used in ("fabs", "copysign"):
            declared = f"@llvm.{used}.{suffix}({t}{f', {t}' * (used == 'copysign')})"
            called[declared] = f"declare {t} {declared}\n" if f"declare {t} {declared}" not in text else ""
        return f"{before}{t} @{name}("

    text = _CALL.sub(call, text)
    return text + "".join(called.values())


def _function(name: str, which: str, t: str, lanes: int, suffix: str) -> str:
    bits = 64 if "double" in t else 32
    word, truth = (re.sub("float|double", to, t) for to in (f"i{bits}", "i1"))

    def constant(kind: str, value: str) -> str:
        return f"splat ({kind} {value})" if lanes else value

    element = "double" if bits == 64 else "float"
    known = {
        "t": t, "suffix": suffix, "word": word, "truth": truth, "half": constant(element, "5.0e-01"),
        "one": constant(f"i{bits}", "1"), "none": constant(f"i{bits}", "0"),
    }  # fmt: skip
    lines = [
        f"%size = call {t} @llvm.fabs.{suffix}({t} %x)",
        f"%has.fraction = fcmp olt {t} %size, {constant(element, f'{_WHOLE[element]}.0')}",
        f"%integer = fptosi {t} %x to {word}",
        f"%cut = sitofp {word} %integer to {t}",
    ]
    whole = "%cut"
    if which != "trunc":
        condition, step = _STEPS[which]
        lines += [line.format(**known) for line in condition]
        chosen = constant(element, step or "1.0")
        lines.append(f"%away = select {truth} %step, {t} {chosen}, {t} {'zeroinitializer' if lanes else '0.0'}")
        if not step:  # away from 0, where a number is nearer to the next one
            lines.append(f"%signed = call {t} @llvm.copysign.{suffix}({t} %away, {t} %x)")
        lines.append(f"%moved = fadd {t} %cut, {'%away' if step else '%signed'}")
        whole = "%moved"
    lines += [
        f"%result = call {t} @llvm.copysign.{suffix}({t} {whole}, {t} %x)",  # of a 0
        f"%chosen = select {truth} %has.fraction, {t} %result, {t} %x",
        f"ret {t} %chosen",
    ]
    return to_inline(f"{t} @{name}({t} %x)", lines)
