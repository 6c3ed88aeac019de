"""Statements as Python: those that are the same on every target. What touches memory, accumulates or runs in parallel
is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...ir.tree import Assign, AssignTuple, Break, Const, Continue, For, If, NewArray, Return, Stmt, While
from .expressions import Expressions
from .writer import Writer

MOST = 2**63 - 1
Handler = Callable[[Any], None]


def _nothing(*_: object) -> None:
    pass


class Statements:
    """The walker of statements.

    handlers: what writes the statements that are not written here, by their type; they may replace what is. head: what
    writes the beginning of a sequential loop's body. turns: what writes a loop over a range, given its index, its
    bounds and what writes its body, once or more often.
    """

    def __init__(
        self, writer: Writer, expressions: Expressions, handlers: Mapping[type, Handler], head: Handler = _nothing,
        turns: Callable[[str, tuple[str, ...], Callable[[], None]], None] | None = None,
    ):  # fmt: skip
        self.writer, self.expressions, self.head = writer, expressions, head
        self.turns = turns or self._turns
        self.closing: list[Callable[[], None]] = []  # what the end of each enclosing loop's iteration needs
        self.handlers: dict[type, Handler] = {
            Assign: self.assign,
            AssignTuple: self.assign_tuple,
            If: self.if_,
            While: self.while_,
            For: self.for_,
            Break: lambda s: writer.line("break"),
            Continue: self.continue_,
            Return: lambda s: writer.return_(*map(expressions.text, s.values)),
            NewArray: _nothing,  # made at the beginning of the function
            **handlers,
        }

    def write(self, body: Iterable[Stmt]) -> None:
        for s in body:
            with self.writer.from_position(s.at or self.writer.at):
                self.handlers[type(s)](s)

    @contextmanager
    def iteration(self, close: Callable[[], None] = _nothing) -> Iterator[None]:
        """One iteration of a loop is written inside; `close` writes what must precede a `continue`."""
        self.closing.append(close)
        yield
        self.closing.pop()

    def assign(self, s: Assign) -> None:
        self.writer.assign(self.writer.names.of(s.name), self.expressions.text(s.value))

    def assign_tuple(self, s: AssignTuple) -> None:
        self.writer.assign(", ".join(map(self.writer.names.of, s.names)), self.expressions.text(s.call))

    def continue_(self, s: Continue) -> None:
        self.closing[-1]()
        self.writer.line("continue")

    def if_(self, s: If, condition: str = "{}") -> None:
        with self.writer.if_(condition.format(self.expressions.text(s.condition))):
            self.write(s.body)
        if s.orelse:
            with self.writer.else_():
                self.write(s.orelse)

    def while_(self, s: While) -> None:
        with self.writer.while_(self.expressions.text(s.condition)), self.iteration():
            self.head(s)
            self.write(s.body)

    def for_(self, s: For) -> None:
        """A loop over the number of iterations, so that the index cannot wrap and a step of 0 runs nothing. Neither
        may the distance from start to stop: it has up to 64 bits."""
        if isinstance(s.step, Const) and s.step.value == 1:
            self.each(s, self.ends(s))
        else:
            self._for_turns(s)

    def each(self, s: For, ends: tuple[str, str], mark: str = "") -> None:
        """The turns of a loop with a step of 1 from one end to before the other. mark: what LLVM is told of them."""

        def body() -> None:
            if mark:
                self.writer.line(f"{mark}()")
            with self.iteration():
                self.head(s)
                self.write(s.body)

        self.turns(self.writer.names.of(s.name), ends, body)

    def ends(self, s: For) -> tuple[str, str]:
        """The first index of a loop with a step of 1 and the one after the last, no further on than can be counted."""
        writer, fresh = self.writer, self.writer.names.fresh
        start = s.start.whole if isinstance(s.start, Const) else None
        first, stop = self.expressions.text(s.start), self.expressions.text(s.stop)
        if start is None or start < 0:
            given = first, stop
            first, stop = fresh("_start"), fresh("_stop")
            writer.assign(first, given[0])
            writer.assign(stop, given[1])
            writer.assign(stop, f"select(lt({first}, {stop}), {stop}, {first})")
            beyond = f"lt(sub({stop}, {first}), int64(0))"
            writer.assign(stop, f"select({beyond}, add({first}, int64({MOST})), {stop})")
        elif start > 0:
            stop = f"maximum({stop}, {first})"
        return first, stop

    def _turns(self, name: str, bounds: tuple[str, ...], body: Callable[[], None]) -> None:
        with self.writer.for_(name, *bounds):
            body()

    def _for_turns(self, s: For) -> None:
        writer = self.writer
        name = writer.names.of(s.name)
        first, step, turn = (writer.names.fresh(base) for base in ("_start", "_step", "_turn"))
        writer.assign(first, self.expressions.text(s.start))
        stop = self.expressions.text(s.stop)
        writer.assign(step, self.expressions.text(s.step))

        def body() -> None:
            with self.iteration():
                self.head(s)
                writer.assign(name, f"add({first}, mul(to_int64({turn}), {step}))")
                self.write(s.body)

        self.turns(turn, (f"turns({first}, {stop}, {step})",), body)
