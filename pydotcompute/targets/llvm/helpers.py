"""Helpers as functions of the generated module: one for each choice of arrays that a helper is called with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, NamedTuple

from ...ir.tree import ArrayName, CallHelper, Helper
from .array_scope import A, ArrayScope
from .expressions import Write
from .statements import Statements
from .writer import Writer


class Made(NamedTuple):
    """A function that stands for a helper with these arrays."""

    name: str
    helper: Helper
    arrays: tuple[Any, ...]


class Helpers(Generic[A]):
    """also: parameters that every helper has beside its own; given: what a call gives for them; framed: what is around
    the lines of a function."""

    def __init__(
        self, writer: Writer, arrays: ArrayScope[A], helpers: Iterable[Helper], also: tuple[str, ...] = (),
        given: Callable[[CallHelper], tuple[str, ...]] = lambda e: (),
        framed: Callable[[], AbstractContextManager[None]] = nullcontext,
    ):  # fmt: skip
        self.writer, self.names, self.arrays = writer, writer.names, arrays
        self.also, self.given, self.framed = also, given, framed
        self.helpers = {h.name: h for h in helpers}
        self.made: dict[tuple[str, ...], Made] = {}  # by the names of the helper and the arrays, in the order of calls
        self.pending: list[Made] = []  # functions still to be written

    def call(self, e: CallHelper, write: Write) -> str:
        arrays = tuple(self.arrays[a.name] for a in e.arguments if isinstance(a, ArrayName))
        key = (e.helper, *(a.name for a in arrays))
        if key not in self.made:
            made = Made(self.names.fresh(self.names.of(e.helper)), self.helpers[e.helper], arrays)
            self.made[key] = made
            self.pending.append(made)
        arguments: list[str] = []
        for a in e.arguments:
            if isinstance(a, ArrayName):
                arguments += [expression for _, expression in self.arrays[a.name].components]
            else:
                arguments.append(write(a))
        return f"{self.made[key].name}({', '.join([*arguments, *self.given(e)])})"

    def define(self, statements: Statements) -> None:
        """Write every function that is called, and those that these call."""
        while self.pending:
            self.writer.line("")
            self._define(self.pending.pop(0), statements)

    def _define(self, made: Made, statements: Statements) -> None:
        left, own, parameters = list(made.arrays), {}, []
        for p in made.helper.parameters:
            if p.rank is None:
                parameters.append(self.names.of(p.name))
                continue
            array = left.pop(0)
            components = [self.names.fresh(self.names.of(p.name) + label) for label, _ in array.components]
            parameters += components
            own[p.name] = array.rebound(components[0], components[1:])
        head = self.writer.define(made.name, [*parameters, *self.also])
        with self.writer.from_position(made.helper.at), head, self.arrays.bound(own), self.framed():
            statements.write(made.helper.body)
