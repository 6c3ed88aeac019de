"""Instructions of x86-64, as LLVM writes them: of which class one is, and the bytes of arrays that it moves."""

from __future__ import annotations

import re

from ..machine_code import Instruction

_FLOAT = r"(?:[sp][sd]|sh|ph)"
# The first that matches decides.
_KINDS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"v?fn?m(?:add|sub)|vfmaddsub", "fma"),
        (r"j|call|ret", "branches"),
        (r"lock|[lsm]fence|pause|xchg.*\(", "atomics"),
        (rf"v?r?(?:div|sqrt|rcp|rsqrt)\w*{_FLOAT}z?\b", "special functions"),
        (r"v?cvt|v?pmov[sz]x|vpmov\w+[bwd]\b|mov[sz][bwl]|cltq|cqto|cltd|cwtl", "conversions"),
        (r"v?(?:perm|p?shuf|p?unpck|insert|extract|pinsr|pextr|p?blend|palign|valign|movhl|movlh|movddup|movs[hl]dup)|"
         r"vperm|vp?compress|vp?expand|v?p?broadcast(?!.*\()", "shuffles"),
        (r"v?(?:mov|lddqu|p?broadcast|p?gather|p?scatter|maskmov|pmaskmov|push|pop|kmov)", "moves"),
        (rf"v?(?:add|sub|mul|max|min|andn?|x?or|cmp\w*|u?comi|round|rndscale|addsub|hadd|hsub|fpclass|fixupimm|getexp|"
         rf"getmant|scalef|reduce|range|dp){_FLOAT}\b", "float arithmetic"),
    )
)  # fmt: skip
_MEMORY = re.compile(r"[-\w.$+]*\(([^()]*)\)")
_WIDTHS = (("%zmm", 64), ("%ymm", 32), ("%xmm", 16))
_GENERAL = {"b": 1, "w": 2, "l": 4, "q": 8}
_EXTENDS = re.compile(r"pmov[sz]x([bwd])([wdq])")


def decode(line: str) -> Instruction | None:
    """One line of a listing; None: a label, data, or what does nothing."""
    text = line.partition("#")[0].strip()
    if not text or text.endswith(":") or text.startswith(".") or text.startswith("nop"):
        return None
    name, _, operands = text.partition(" ")
    operands = operands.strip()
    kind = next((k for pattern, k in _KINDS if pattern.match(f"{name} {operands}")), "integers and addresses")
    if kind == "branches":
        return Instruction(kind, jump=operands if name.startswith("j") else "")
    memory = _MEMORY.search(operands)
    if memory is None or name.startswith("lea"):
        return Instruction(kind)
    writes = operands.endswith(")") and not name.startswith(("cmp", "test", "push", "ucomi", "comi", "bt "))
    reads = not writes or kind != "moves"
    if kind == "moves":
        kind = "stores" if writes else "loads"
    if re.search(r"%[re]?sp\b|%rip", memory[1]):
        return Instruction(kind)
    size = _size(name, operands)
    return Instruction(kind, size if reads else 0, size if writes else 0)


def _size(name: str, operands: str) -> int:
    """The bytes that an instruction moves to or from memory."""
    scalar = re.search(r"(s[sd]|sh)z?$", name)
    if scalar and ("%xmm" in operands or name.startswith("v")):
        return {"ss": 4, "sd": 8, "sh": 2}[scalar[1]]
    if "broadcast" in name or "{1to" in operands:
        return 4 if re.search(r"ss$|ps$|d$", name) and not re.search(r"[sp]d$", name) else 8
    width = next((bytes_ for register, bytes_ in _WIDTHS if register in operands), 0)
    if not width:
        return _GENERAL.get(name[-1], 8)
    if found := _EXTENDS.search(name):
        return width >> ("bwdq".index(found[2]) - "bwdq".index(found[1]))
    if re.search(r"cvt(?:ps2pd|dq2pd|ph2ps)", name):
        return width // 2
    if re.match(r"v?mov(?:[hl]p[sd]|q)$", name):
        return 8
    return 4 if re.match(r"v?movd$", name) else width
