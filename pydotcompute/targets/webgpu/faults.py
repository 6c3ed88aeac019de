"""What a thread does in WGSL where an index is outside of its array; artifact/launch.py says what is told. The slot's
words of 64 bits are two of 32 each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...artifact import launch

WORDS = frozenset((
    "index_in_range", "count_in_range", "tell_fault", "_is_faulty", "_own_number", "_block_faults", "_ended", "_vote",
))  # fmt: skip


def _told(word: int, low: str, high: str = "0u") -> str:
    return f"atomicStore(&_slot[{2 * word}], {low}); atomicStore(&_slot[{2 * word + 1}], {high});"


def _prologue(of_call: bool) -> list[str]:
    return [line for line in PROLOGUE if of_call or "_of_call" not in line]


PROLOGUE = f"""
var<private> _is_faulty: bool;
var<private> _own_number: i32;
var<workgroup> _block_faults: array<atomic<u32>, 2>;

fn index_in_range(site: i32, call: i32, extent: i32, index: vec2<u32>) -> bool {{
    if (index.y == 0u && index.x < u32(extent)) {{
        return true;
    }}
    tell_fault(site, call, extent, index);
    return false;
}}

fn count_in_range(site: i32, call: i32, count: vec2<u32>) -> i32 {{
    if (count.y >> 31u != 0u) {{
        return 0i;
    }}
    if (count.y == 0u && count.x <= {launch.MOST_INDEX}u) {{
        return i32(count.x);
    }}
    tell_fault(site, call, {launch.MOST_INDEX}i, count);
    return 0i;
}}

fn tell_fault(site: i32, call: i32, extent: i32, index: vec2<u32>) {{
    _is_faulty = true;
    atomicStore(&_of_call[0], 1u);
    if (atomicExchange(&_slot[{2 * launch.CLAIMED}], 1u) == 0u) {{
        {_told(launch.KERNEL, "u32(_own_number)")}
        {_told(launch.SITE, "u32(site)")}
        {_told(launch.CALL, "u32(call)")}
        {_told(launch.EXTENT, "u32(extent)")}
        {_told(launch.INDEX, "index.x", "index.y")}
        {_told(launch.READY, "1u")}
    }}
}}
""".strip("\n").splitlines()


def _begin(of_call: bool) -> list[str]:
    lines = ["_own_number = _number;"]
    return [*lines, "_is_faulty = atomicLoad(&_of_call[0]) != 0u;"] if of_call else lines


# Two words of the block take turns: who is already at the next vote writes to the other one.
_SHARE = [
    "var _ended = false;", "var _vote = 0u;",
    "if (all(_local == vec3<u32>())) {",
    "    atomicStore(&_block_faults[0], 0u);", "    atomicStore(&_block_faults[1], 0u);", "}",
    "workgroupBarrier();",
]  # fmt: skip
_VOTE = [
    "if (_is_faulty) {", "    atomicStore(&_block_faults[_vote], 1u);", "}",
    "workgroupBarrier();",
    "_ended = atomicLoad(&_block_faults[_vote]) != 0u;", "_is_faulty = _ended;", "_vote ^= 1u;",
]  # fmt: skip

FAULTS: Mapping[str, Any] = {
    "words": "", "in_range": "index_in_range", "count": "count_in_range", "none": "!_is_faulty", "begin": _begin,
    "share": _SHARE, "vote": _VOTE, "together": "!_ended", "prologue": _prologue,
}  # fmt: skip
