"""Instructions at which threads wait for others: barriers of a block, shuffles and votes of a warp."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .parse import Instruction, PtxError
from .operands import reader, writer

WAITING = ("bar", "barrier", "shfl", "vote")


class Wait(NamedTuple):
    scope: str  # "block" or "warp"
    text: str
    mask: Callable | None = None  # which lanes take part
    complete: Callable | None = None  # (batch, index): when all are there


def wait(program, i: Instruction) -> Wait:
    if i.guard:
        raise PtxError(f"a guard on {i.text!r}")
    if i.name in ("bar", "barrier") and i.modifiers[:1] == ("warp",):
        if i.modifiers != ("warp", "sync"):
            raise PtxError(f"modifiers of {i.text!r}")
        return Wait("warp", i.text, reader(program, i.operands[0], "b32"), lambda batch, index: None)
    if i.name in ("bar", "barrier"):
        if i.modifiers not in (
            ("sync",),
            ("sync", "aligned"),
            ("cta", "sync"),
            ("cta", "sync", "aligned"),
        ) or i.operands != ("0",):
            return _reducing(program, i)
        return Wait("block", i.text)
    if i.name == "shfl":
        return _shuffle(program, i)
    return _vote(program, i)


def _reducing(program, i: Instruction) -> Wait:
    """bar.red.and.pred p, 0, q: a barrier that also says whether q held anywhere, or everywhere."""
    modifiers = [m for m in i.modifiers if m not in ("cta", "aligned")]
    if (
        modifiers[:1] != ["red"]
        or modifiers[1:] not in (["and", "pred"], ["or", "pred"], ["popc", "u32"])
        or i.operands[1] != "0"
    ):
        raise PtxError(f"barrier {i.text!r}")
    negated = i.operands[-1].startswith("!")
    read = reader(program, i.operands[-1].lstrip("!"), "pred")
    write = writer(program, i.operands[0], modifiers[2])

    def complete(batch, index):
        value = read(batch, index) != negated
        counts = np.bincount(batch.block_of[index], value, batch.blocks).astype(np.uint32)[batch.block_of[index]]
        results = {"and": counts == batch.threads, "or": counts > 0, "popc": counts}
        write(batch, index, results[modifiers[1]])

    return Wait("block", i.text, None, complete)


def _shuffle(program, i: Instruction) -> Wait:
    if (
        len(i.modifiers) != 3
        or i.modifiers[0] != "sync"
        or i.modifiers[1] not in ("up", "down", "bfly", "idx")
        or i.modifiers[2] != "b32"
    ):
        raise PtxError(f"modifiers of {i.text!r}")
    mode = i.modifiers[1]
    target, _, predicate = i.operands[0].partition("|")
    value, lane, clamp, mask = (reader(program, o, "b32") for o in i.operands[1:])
    write = writer(program, target, "b32")
    write_predicate = writer(program, predicate, "pred") if predicate else None

    def complete(batch, index):
        own = batch.lane[index].astype(np.int64)
        b, c = lane(batch, index).astype(np.int64) & 31, clamp(batch, index).astype(np.int64)
        segment, limit = c >> 8 & 31, c & 31
        highest, lowest = own & segment | limit & ~segment & 31, own & segment
        source = {"up": own - b, "down": own + b, "bfly": own ^ b, "idx": lowest | b & ~segment & 31}[mode]
        inside = source >= highest if mode == "up" else source <= highest
        source = np.where(inside, source, own)
        values = np.broadcast_to(value(batch, index), len(index))
        table = np.zeros((batch.warps, 32), np.uint32)
        here = np.zeros((batch.warps, 32), bool)
        table[batch.warp[index], own], here[batch.warp[index], own] = values, True
        if not here[batch.warp[index], source].all():
            raise PtxError(f"{i.text}: reads the value of a lane that takes no part")
        write(batch, index, table[batch.warp[index], source])
        if write_predicate:
            write_predicate(batch, index, inside)

    return Wait("warp", i.text, mask, complete)


def _vote(program, i: Instruction) -> Wait:
    if i.modifiers[:1] != ("sync",) or i.modifiers[1:] not in (("all", "pred"), ("any", "pred"), ("ballot", "b32")):
        raise PtxError(f"modifiers of {i.text!r}")
    negated = i.operands[1].startswith("!")
    read, mask = reader(program, i.operands[1].lstrip("!"), "pred"), reader(program, i.operands[2], "b32")
    write = writer(program, i.operands[0], i.modifiers[2])

    def complete(batch, index):
        value = np.broadcast_to(read(batch, index) != negated, len(index))
        ballot = np.zeros(batch.warps, np.uint32)
        np.bitwise_or.at(ballot, batch.warp[index], np.where(value, np.uint32(1) << batch.lane[index], np.uint32(0)))
        ballot = ballot[batch.warp[index]]
        members = np.broadcast_to(mask(batch, index), len(index))
        results = {"all": ballot == members, "any": ballot != 0, "ballot": ballot}
        write(batch, index, results[i.modifiers[1]])

    return Wait("warp", i.text, mask, complete)
