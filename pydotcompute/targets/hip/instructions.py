"""Instructions of AMD's GPUs, as LLVM writes them: of which class one is, and the bytes of arrays that it moves."""

from __future__ import annotations

import re

from ..machine_code import Instruction

# The first that matches decides.
_KINDS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"v_(?:pk_|dual_)?(?:fma|mad_f)", "fma"),
        (r"s_(?:cbranch|branch|setpc|swappc|call)", "branches"),
        (r"s_barrier", "barriers"),
        (r"(?:global|flat|buffer|ds)_\w*(?:atomic|cmpst|cmpstore)|ds_(?:add|min|max|sub|and|or|xor)_", "atomics"),
        (r"v_(?:rcp|rsq|sqrt|exp|log|sin|cos|div|frexp|ldexp|trig|s_)", "special functions"),
        (r"v_cvt|v_bfe_i|s_sext", "conversions"),
        (r"ds_b?permute|ds_swizzle|v_permlane|v_readlane|v_readfirstlane|v_writelane|v_perm", "shuffles"),
        (r"(?:global|flat|buffer|scratch|s|ds)_(?:buffer_)?(?:load|read)", "loads"),
        (r"(?:global|flat|buffer|scratch|ds)_(?:store|write)", "stores"),
        (r"[vs]_(?:mov|accvgpr|swap|dual_mov)", "moves"),
        (r"v_(?:pk_|dual_)?\w+_f(?:16|32|64)", "float arithmetic"),
    )
)
_NOTHING = re.compile(r"s_(?:waitcnt|wait_|nop|delay|clause|endpgm|code_end|inst_prefetch|set_inst|sendmsg)")
_WIDTH = {"ubyte": 1, "sbyte": 1, "u8": 1, "i8": 1, "b8": 1, "byte": 1, "short": 2, "ushort": 2, "sshort": 2, "u16": 2,
          "i16": 2, "b16": 2, "dword": 4, "b32": 4, "b64": 8, "b96": 12, "b128": 16}  # fmt: skip


def decode(line: str) -> Instruction | None:
    """One line of a listing; None: a label, or what does nothing."""
    name, _, operands = line.strip().partition(" ")
    if not name or name.endswith(":") or name.startswith(".") or _NOTHING.match(name):
        return None
    kind = next((k for pattern, k in _KINDS if pattern.match(name)), "integers and addresses")
    if kind == "branches":
        return Instruction(kind, jump=operands.strip())
    if kind in ("loads", "stores") and re.match("global|flat|buffer", name):
        size = _size(name)
        return Instruction(kind, size, 0) if kind == "loads" else Instruction(kind, 0, size)
    return Instruction(kind)


def _size(name: str) -> int:
    """The bytes that a thread moves."""
    if wide := re.search(r"dwordx(\d)", name):
        return 4 * int(wide[1])
    return next((size for word in name.split("_") if (size := _WIDTH.get(word))), 0)
