"""What a thread does in OpenCL C where an index is outside of its array; artifact/launch.py says what is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...artifact import launch

WORDS = frozenset(("thread_faults", "index_in_range", "_block_faults"))

PROLOGUE = f"""
typedef struct {{
    int own, ended, turn;
    long number;
    global long *slot;
    volatile global int *of_call;
}} thread_faults;

bool index_in_range(thread_faults *faults, long site, long call, long extent, long index)
{{
    if ((ulong)index < (ulong)extent)
        return true;
    faults->own = 1;
    if (faults->of_call)
        *faults->of_call = 1;
    if (atomic_cmpxchg((volatile global int *)(faults->slot + {launch.CLAIMED}), 0, 1) == 0) {{
        faults->slot[{launch.KERNEL}] = faults->number;
        faults->slot[{launch.SITE}] = site;
        faults->slot[{launch.CALL}] = call;
        faults->slot[{launch.EXTENT}] = extent;
        faults->slot[{launch.INDEX}] = index;
        faults->slot[{launch.READY}] = 1;
    }}
    return false;
}}
""".strip("\n").splitlines()


def _begin(of_call: bool) -> list[str]:
    seen, told = ("(int)*_of_call", "(volatile global int *)_of_call") if of_call else ("0", "0")
    return [
        "thread_faults _own_faults = {%s, 0, 0, _number, _slot, %s};" % (seen, told),
        "thread_faults *_faults = &_own_faults;",
    ]


# Two words of the block take turns: who is already at the next vote writes to the other one.
_SHARE = [
    "local int _block_faults[2];",
    "if (get_local_id(0) < 2)",
    "    _block_faults[get_local_id(0)] = 0;",
    "if (get_local_size(0) == 1)",
    "    _block_faults[1] = 0;",
    "barrier(CLK_LOCAL_MEM_FENCE);",
]
_VOTE = [
    "if (_faults->own)",
    "    _block_faults[_faults->turn] = 1;",
    "barrier(CLK_LOCAL_MEM_FENCE);",
    "_faults->own = _faults->ended = _block_faults[_faults->turn];",
    "_faults->turn ^= 1;",
]

FAULTS: Mapping[str, Any] = {
    "words": "thread_faults *_faults", "in_range": "index_in_range", "none": "_faults->own == 0", "begin": _begin,
    "share": _SHARE, "vote": _VOTE, "together": "_faults->ended == 0",
    "prologue": lambda of_call: PROLOGUE,
}  # fmt: skip
