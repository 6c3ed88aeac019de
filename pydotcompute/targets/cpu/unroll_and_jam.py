"""Turns of a loop that each go round loops of their own, several turns together (Allen and Cocke's unroll-and-jam):
what these loops read in all of the turns is loaded once, and more sums are under way.

    for j in range(n):                     for q in range(n // 4):
        s = 0.0                                s_0, …, s_3 = 0.0, …, 0.0
        for k in range(m):           ⟶         for k in range(m):
            s += a[i, k] * b[j, k]                 s_0 += a[i, k] * b[4 * q, k]; …; s_3 += a[i, k] * b[4 * q + 3, k]
        c[i, j] = s                            c[i, 4 * q], …, c[i, 4 * q + 3] = s_0, …, s_3
                                           for j in range(n // 4 * 4, n):
                                               …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...ir.tree import Assign, Call, CallHelper, Const, For, Load, Parallel, Stmt, walk
from ..running import integer, number
from .bodies import assigned, exposed, jumps, read, renamed
from .made import Made

TURNS = 4
_MOST = 120  # nodes of a turn
_CHAINS = 2  # of sums that go on in a turn's loops


def may_be_jammed(loop: For) -> bool:
    """Whether a loop, whose turns could come in any order, has turns short enough, with loops that are alike in all."""
    inner = _loops_in(*loop.body)
    changing = assigned(loop.body) - {n.name for n in inner} | {loop.name}
    alike = not any(read(n.start, n.stop, n.step) & changing for n in inner)
    at_top = all(isinstance(s, For) or not _loops_in(s) for s in loop.body)
    short = sum(1 for s in loop.body for _ in walk(s)) <= _MOST
    if any(jumps(n.body) for n in inner):
        return False  # out of all turns together
    return alike and at_top and short and 1 <= chains_of(loop) <= _CHAINS


def chains_of(loop: For) -> int:
    """How many scalars go on from turn to turn in the innermost loops of a turn."""
    last = [n for n in _loops_in(*loop.body) if not _loops_in(*n.body)]
    return max((len(exposed(n.body)[0] & assigned(n.body)) for n in last), default=0)


def jammed(loop: For, made: Made) -> tuple[For, For, list[dict[str, str]]]:
    """So many turns together; the turns that are left; and, for each of those together, the names of its own scalars by
    those that they stand for."""
    inner = {n.name for n in _loops_in(*loop.body)}
    own = sorted(assigned(loop.body) - inner | {loop.name})
    names = [{name: made.local(f"{name}_{k}", made.locals[name]).name for name in own} for k in range(TURNS)]
    together, at = made.local(f"_{loop.name}_together"), loop.at
    several = integer("-", Call("max", (loop.stop, loop.start), "int64"), loop.start)  # more than fit in 64 bits: none
    count = integer("//", Call("max", (several, number(0)), "int64"), number(TURNS))
    first = integer("+", loop.start, integer("*", together, number(TURNS)))
    turns = [Assign(names[k][loop.name], integer("+", first, number(k)), at=at) for k in range(TURNS)]
    body = (*turns, *_side_by_side([[renamed(s, each) for s in loop.body] for each in names]))
    begin = integer("+", loop.start, integer("*", count, number(TURNS)))
    return For(together.name, number(0), count, number(1), body, at=at), replace(loop, start=begin), names


def in_rows(loop: Parallel, adding: Iterable[For], made: Made) -> Parallel | None:
    """The loop over a grid with a loop inside over several of its rows, where their neighbours read what one of them
    reads; None: they do not. adding: the loops in an iteration in which sums go on."""
    if len(loop.names) < 2:
        return None
    (row, lane), count = loop.names[-2:], loop.counts[-2]
    read_in = [read(n) for s in adding for part in s.body for n in walk(part) if isinstance(n, Load)]
    again = any(lane in names and row not in names for names in read_in) and any(row in names for names in read_in)
    few = isinstance(count, Const) and count.whole < TURNS
    changes = read(count) & assigned(loop.body) or any(isinstance(n, (Load, CallHelper)) for n in walk(count))
    if not again or few or changes:
        return None
    rows = made.local(f"_rows_of_{row}")
    first = integer("*", rows, number(TURNS))
    last = Call("min", (integer("+", first, number(TURNS)), count), "int64")
    turns = For(row, first, last, number(1), loop.body, at=loop.at)
    blocks = integer("//", integer("+", count, number(TURNS - 1)), number(TURNS))
    names, counts = (*loop.names[:-2], rows.name, lane), (*loop.counts[:-2], blocks, loop.counts[-1])
    return replace(loop, names=names, counts=counts, body=(turns,)) if may_be_jammed(turns) else None


def _loops_in(*body: Stmt) -> list[For]:
    return [n for s in body for n in walk(s) if isinstance(n, For)]


def _side_by_side(copies: Sequence[Sequence[Stmt]]) -> Iterator[Stmt]:
    for same in zip(*copies):
        if isinstance(same[0], For):
            yield replace(same[0], body=tuple(_side_by_side([s.body for s in same if isinstance(s, For)])))
        else:
            yield from same
