"""What a thread does in the Metal Shading Language where an index is outside of its array; artifact/launch.py says what
is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...artifact import launch

WORDS = frozenset(("thread_faults", "index_in_range", "_block_faults"))
_RELAXED = "memory_order_relaxed"


def _store(cell: str, value: str) -> str:
    return f"atomic_store_explicit({cell}, {value}, {_RELAXED});"


def _load(cell: str) -> str:
    return f"atomic_load_explicit({cell}, {_RELAXED})"


PROLOGUE = f"""
struct thread_faults {{
    int own, ended, turn;
    long number;
    device long *slot;
    device atomic_int *of_call;
}};

bool index_in_range(thread thread_faults *faults, long site, long call, long extent, long index)
{{
    if ((ulong)index < (ulong)extent)
        return true;
    faults->own = 1;
    if (faults->of_call)
        {_store("faults->of_call", "1")}
    if (atomic_exchange_explicit((device atomic_int *)(faults->slot + {launch.CLAIMED}), 1, {_RELAXED}) == 0) {{
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
    told = "(device atomic_int *)_of_call" if of_call else "nullptr"
    seen = _load(told) if of_call else "0"
    return [
        "thread_faults _own_faults = {%s, 0, 0, _number, _slot, %s};" % (seen, told),
        "thread thread_faults *_faults = &_own_faults;",
    ]


_BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
# Two words of the block take turns: who is already at the next vote writes to the other one.
OF_BLOCK, OF_BLOCK_BYTES = "threadgroup atomic_int _block_faults[2];", 8
_SHARE = [
    OF_BLOCK,
    "if (_local.x < 2)",
    f"    {_store('&_block_faults[_local.x]', '0')}",
    "if (_size.x == 1)",
    f"    {_store('&_block_faults[1]', '0')}",
    _BARRIER,
]
_VOTE = [
    "if (_faults->own)",
    f"    {_store('&_block_faults[_faults->turn]', '1')}",
    _BARRIER,
    f"_faults->own = _faults->ended = {_load('&_block_faults[_faults->turn]')};",
    "_faults->turn ^= 1;",
]

FAULTS: Mapping[str, Any] = {
    "words": "thread thread_faults *_faults", "in_range": "index_in_range", "none": "_faults->own == 0",
    "begin": _begin, "share": _SHARE, "vote": _VOTE, "together": "_faults->ended == 0",
    "prologue": lambda of_call: PROLOGUE,
}  # fmt: skip
