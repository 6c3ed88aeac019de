"""Indices that are not proved to be inside, in lowered Python: what is written where one is looked at.

The first fault of a call is recorded; the access is skipped. From then on sequential loops, blocks and slices end: what
a program computes from a skipped access might keep them running for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.tree import Access, CallHelper, CheckStep, NewArray
from ..sites import Sites, is_short
from .writer import Writer

FAULTS, CALL = "_faults", "_call"  # what functions with checks take: where faults go, which call a helper stands for


class Faults:
    """Of the functions that one writer writes."""

    def __init__(self, writer: Writer, sites: Sites, always: bool = False):
        """always: helpers are told where faults go even where nothing is looked at."""
        self.writer, self.sites, self.any, self.checks = writer, sites, sites.any, sites.checks
        self.told = self.any or always
        self.call = "int64(0)"  # in a helper: what says which call it stands for

    @property
    def parameters(self) -> tuple[str, ...]:
        """What helpers take for it."""
        return (FAULTS, CALL) if self.told else ()

    def arguments(self, e: CallHelper) -> tuple[str, ...]:
        """What a call of a helper gives them."""
        if not self.told:
            return ()
        return FAULTS, CALL if self.call == CALL else f"int64({self.sites.call(e, self.writer.at)})"

    def site(self, node: Access, array: str) -> int:
        """What is recorded for the first index of an access that is looked at; for each further one, one more."""
        return self.sites.site(node, array, self.writer.at) + self.sites.looked_at(node).start

    def no_memory(self, made: NewArray) -> int:
        """The same for an array that there is no memory for."""
        return self.sites.no_memory(made)

    def step(self, s: CheckStep, text: str, in_range: Callable[..., str]) -> None:
        """Tell of a step that is 0, as of an index of 1 where there is one element."""
        zero = f"to_int64(eq({text}, int64(0)))"
        site = f"int64({self.sites.step(s)})"
        self.writer.assign(self.writer.names.fresh("_checked"), in_range(["int64(1)"], site, self.caller(s), [zero]))

    def caller(self, node: Access | CheckStep) -> str:
        """What says from which call of a helper an access comes."""
        number = self.sites.caller(node, self.writer.at)
        return f"int64({number})" if number else self.call

    def leave(self, loop: Any = None) -> None:
        """At the head of a loop's body: leave the loop where there was a fault."""
        self._leave(loop, "faulted")

    def leave_together(self, loop: Any = None) -> None:
        """The same where the threads of a block stay together: all leave if one of them had a fault."""
        self._leave(loop, "block_faulted")

    def vote(self) -> None:
        """All threads of a block have a fault from here on if one of them had."""
        if self.any:
            self.writer.line(f"block_faulted({FAULTS})")

    def _leave(self, loop: Any, condition: str) -> None:
        if self.any and not is_short(loop):
            with self.writer.if_(f"{condition}({FAULTS})"):
                self.writer.line("break")

    def none(self, count: str) -> str:
        """A number of iterations, 0 where there was a fault."""
        return f"select(faulted({FAULTS}), int64(0), {count})" if self.any else count


def in_range(extents: Sequence[str], site: str, call: str, indices: Sequence[str]) -> str:
    """That the indices are inside; what is not is recorded. site: of the first of them."""
    result = ""
    for axis, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        at = f"add({site}, int64({axis}))" if axis else site
        check = f"in_range({FAULTS}, {at}, {call}, {extent}, {index})"
        result = f"band({result}, {check})" if result else check
    return result
