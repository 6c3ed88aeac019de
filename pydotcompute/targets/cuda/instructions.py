"""Instructions of NVIDIA's GPUs, as nvdisasm writes them: of which class one is, and the bytes of arrays that it
moves."""

from __future__ import annotations

import re

from ..machine_code import Instruction

_NAMES = {
    "fma": "FFMA FFMA2 DFMA HFMA2 HMMA DMMA IMMA QMMA WGMMA",
    "float arithmetic": "FADD FADD2 FMUL FMUL2 FMNMX FSETP FSEL FSET FCHK FSWZADD DADD DMUL DSETP DMNMX HADD2 HMUL2 "
    "HSETP2 HSET2 HMNMX2",
    "special functions": "MUFU",
    "conversions": "F2F F2I I2F I2FP F2FP F2IP I2I FRND",
    "shuffles": "SHFL VOTE VOTEU MATCH REDUX CREDUX",
    "loads": "LDG LD LDS LDL LDC ULDC LDCU LDSM LDGSTS",
    "stores": "STG ST STS STL",
    "atomics": "ATOM ATOMG ATOMS RED REDG REDS",
    "barriers": "BAR MEMBAR DEPBAR ERRBAR WARPSYNC CCTL FENCE SYNCS",
    "branches": "BRA BRX JMP JMX CALL RET EXIT BSSY BSYNC BREAK KILL NANOSLEEP YIELD BPT",
    "moves": "MOV UMOV S2R S2UR CS2R R2UR R2P P2R",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_LINE = re.compile(r"[0-9a-f]{4,}\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*)")
_SIZES = (("128", 16), ("64", 8), ("16", 2), ("8", 1))


def decode(line: str) -> Instruction | None:
    """One line of a listing; None: a label, or what does nothing."""
    found = _LINE.match(line.strip())
    if found is None or found[1] == "NOP":
        return None
    name, *modifiers = found[1].split(".")
    if name == "IMAD" and "MOV" in modifiers:
        return Instruction("moves")
    kind = _KINDS.get(name, "integers and addresses")
    if name in ("LDG", "LD", "STG", "ST"):
        parts = [modifier.lstrip("US") for modifier in modifiers]
        size = next((size for part, size in _SIZES if part in parts), 4)
        return Instruction(kind, size, 0) if kind == "loads" else Instruction(kind, 0, size)
    jump = re.search(r"`\((\.L\w+)\)", found[2]) if name == "BRA" else None
    return Instruction(kind, jump=jump[1] if jump else "")
