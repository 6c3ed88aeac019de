"""Indices that are not proved to be inside, in generated text: functions that load where they are, conditions of
stores, and how loops end after a fault.

A thread's words about faults are a variable `_faults` of a type that the dialect has; functions get where it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...ir.tree import Access, CallHelper, CheckStep, Expr
from ..sites import Sites, is_short
from .arrays import Argument, Array
from .scalars import Scalars
from .writer import Writer

FAULTS, CALL = "_faults", "_call"  # what functions with checks take: a thread's words, which call they stand for
SLOT, NUMBER, OF_CALL = "_slot", "_number", "_of_call"
NAMES = frozenset((FAULTS, CALL, SLOT, NUMBER, OF_CALL, "_own_faults", "_site"))


class Faults:
    """Of all functions of a file; `call` is the text that says which call of a helper a function stands for."""

    def __init__(self, scalars: Scalars, sites: Sites):
        self.scalars, self.sites = scalars, sites
        self.any = sites.any and bool(scalars.dialect.faults)
        self.shares = self.any and "vote" in scalars.dialect.faults  # whether the threads of a block tell each other
        self.loads: dict[tuple, str] = {}  # the functions, by what they depend on

    def checks(self, node: Access) -> bool:
        return self.any and self.sites.checks(node)

    def parameters(self, w: Writer) -> list[str]:
        """What a helper takes for it."""
        return [*self._words("words"), w.parameter(self.scalars.index, CALL)] if self.any else []

    def arguments(self, e: CallHelper, w: Writer, in_helper: bool) -> list[str]:
        """What a call of a helper gives."""
        return [*self._own(), CALL if in_helper else self._number(self.sites.call(e, w.at))] if self.any else []

    def condition(self, node: Access, array: Array, indices: Sequence[str], w: Writer, in_helper: bool) -> str:
        """That the indices are inside; what is not is told."""
        site, looked = self.sites.site(node, array.name, w.at), self.sites.looked_at(node)
        sites = [self._number(site + k) for k in range(len(indices))]
        extents, call = array.extents[looked], self._call(node, w, in_helper)
        return self._inside(extents, sites[looked], call, indices[looked])

    def step(self, s: CheckStep, text: str, w: Writer, in_helper: bool) -> None:
        """Tell of a step that is 0, as of an index of 1 where there is one element."""
        if self.any:
            scalars, dtype = self.scalars, s.step.type
            with w.when(scalars.compare("==", dtype, text, scalars.constant(0, dtype))):
                one = self._number(1), scalars.constant(1, "int64")
                told = *self._own(), self._number(self.sites.step(s)), self._call(s, w, in_helper), *one
                w.statement(f"{self.scalars.dialect.faults['in_range']}({', '.join(told)})")

    def load(
        self, node: Access, array: Array, indices: Sequence[str], slot: str, w: Writer, in_helper: bool
    ) -> str:
        """A load where the indices are inside, else 0."""
        s, own = self.scalars, (len(array.extents), len(array.strides or ()), bool(array.view), bool(slot))
        pointer = [array.pointer] if s.dialect.has_pointers else []
        looked = self.sites.looked_at(node)
        key = (array.dtype, array.space, array.constant, array.strides is None, *own, "" if pointer else array.pointer,
               looked.start, looked.stop)  # fmt: skip
        if key not in self.loads:
            self.loads[key] = s.names.fresh("load_checked")
            s.texts.append(self._written(self.loads[key], array, bool(slot), looked))
        site = self._number(self.sites.site(node, array.name, w.at) + looked.start)
        where = [*pointer, *array.integers, *filter(None, [slot])]
        given = [*self._own(), site, self._call(node, w, in_helper), *where, *indices]
        return f"{self.loads[key]}({', '.join(given)})"

    def counted(self, e: Expr, text: str, w: Writer, in_helper: bool) -> str:
        """How often a loop goes round, where that may be more than the printer counts to: then not at all, and it is
        told."""
        at = e.at or w.at
        assert at is not None
        given = [*self._own(), self._number(self.sites.too_many(at)), CALL if in_helper else self._number(0), text]
        return f"{self.scalars.dialect.faults['count']}({', '.join(given)})"

    def _written(self, name: str, array: Array, slot: bool, looked: slice) -> list[str]:
        s, w = self.scalars, Writer(self.scalars.dialect, self.scalars.names)
        integers = [f"a{k}" for k in range(len(array.integers))]
        indices = [f"i{k}" for k in range(len(array.extents))]
        own = array.rebound("p" if s.dialect.has_pointers else array.pointer, integers)
        parameters = [*self._words("words"), *(w.parameter(s.index, n) for n in ("_site", CALL))]
        if s.dialect.has_pointers:
            parameters += [w.pointer(array.space, array.dtype, "p", array.constant)]
        parameters += [w.parameter(s.index, n) for n in (*integers, *["slot"] * slot)]
        parameters += [w.parameter("int64", n) for n in indices]
        sites = [f"_site + {self._number(k)}" if k else "_site" for k in range(looked.stop - looked.start)]
        with w.function(s.type(array.dtype), name, parameters):
            with w.when(self._inside(own.extents[looked], sites, CALL, indices[looked])):
                inside = [s.convert(n, "int64", s.index) for n in indices]
                place = "slot" if slot else own.offset(s, inside)
                w.give(s.dialect.load(array.dtype, array.memory, own.pointer, place))
            w.give(s.constant(0, array.dtype))
        return w.lines

    def _inside(self, extents: Iterable[str], sites: Iterable[str], call: str, indices: Sequence[str]) -> str:
        check, own = self.scalars.dialect.faults["in_range"], self._own()
        parts = zip(sites, extents, indices, strict=True)
        return " && ".join(f"{check}({', '.join((*own, at, call, extent, index))})" for at, extent, index in parts)

    def _words(self, key: str) -> list[str]:
        """What the dialect says of a thread's words, if they are a parameter there."""
        return list(filter(None, [self.scalars.dialect.faults[key]]))

    def _own(self) -> list[str]:
        """A thread's words as an argument."""
        return [FAULTS] if self.scalars.dialect.faults["words"] else []

    def _call(self, node: Access | CheckStep, w: Writer, in_helper: bool) -> str:
        number = self.sites.caller(node, w.at)
        return CALL if in_helper and not number else self._number(number)

    def _number(self, value: int) -> str:
        return self.scalars.constant(value, self.scalars.index)

    # -------------------------------------------------------------------------------------------------- kernels

    def given(self, count: int) -> list[Argument]:
        """What a kernel gets that takes so many of the words for faults."""
        word = "int64" if self.scalars.dialect.has_pointers else "uint32"
        words = [(SLOT, word, True), (NUMBER, self.scalars.index, False), (OF_CALL, word, True)]
        return [Argument(("fault", k), name, dtype, memory) for k, (name, dtype, memory) in enumerate(words[:count])]

    def begin(self, w: Writer, of_call: bool, shared: bool) -> None:
        """A thread's words, at the beginning of a kernel; shared: and those of its block."""
        told = self.scalars.dialect.faults
        for line in [*told["begin"](of_call), *(told["share"] if shared else ())]:
            w.line(line)
        if shared and of_call:
            self.vote(w)

    def vote(self, w: Writer) -> None:
        """A barrier after which each thread of the block takes a fault of any other for its own."""
        for line in self.scalars.dialect.faults["vote"]:
            w.line(line)

    # ---------------------------------------------------------------------------------------------------- loops

    def goes_on(self, loop: Any = None) -> str:
        """What else a thread's own loop goes on by: that it had no fault. "" where that is not
        looked at. Part of the condition, not a jump out of the body: PoCL 3.1 does not get those right behind barriers.
        """
        return "" if not self.any or is_short(loop) else self.scalars.dialect.faults["none"]

    def none(self, count: str) -> str:
        """A number of iterations of the whole kernel, 0 where there was a fault."""
        if not self.any:
            return count
        s = self.scalars
        return s.dialect.choose(s.index, s.dialect.faults["none"], count, self._number(0))
