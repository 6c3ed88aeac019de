"""Lines of a C-like language: what an emitter tells is written as functions, declarations, assignments, loops.

All syntax beyond expressions is here and in the dialect; emitters know neither. A language that writes `let x: f32` has
a writer with the same methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import Position
from ..names import Names
from .dialect import Dialect


class Writer:
    """The text of one function. `positions` says of each line where in the user's files it comes from."""

    def __init__(self, dialect: Dialect, names: Names, depth: int = 0):
        self.dialect, self.names, self.depth = dialect, names, depth
        self.lines: list[str] = []
        self.positions: list[Position | None] = []
        self.at: Position | None = None

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
        self.positions.append(self.at)

    @contextmanager
    def block(self, head: str, tail: str = "") -> Iterator[None]:
        self.line(f"{head} {{".lstrip())
        self.depth += 1
        yield
        self.depth -= 1
        self.line(f"}}{tail}")

    # ------------------------------------------------------------------------------------------ declarations

    def declare(self, name: str, dtype: str) -> None:
        """A variable that is set later."""
        self.line(self.dialect.variable(name, self.dialect.types[dtype]))

    def variable(self, name: str, dtype: str, text: str) -> None:
        """A variable that begins with a value."""
        self.line(self.dialect.variable(name, self.dialect.types[dtype], bare(text)))

    def hold(self, base: str, dtype: str, text: str) -> str:
        """The value of an expression under a fresh name."""
        name = self.names.fresh(base)
        self.constant(name, dtype, text)
        return name

    def constant(self, name: str, dtype: str, text: str) -> None:
        """A name for the value of an expression."""
        self.line(self.dialect.constant_of(name, self.dialect.types[dtype], bare(text)))

    def array(self, space: str, name: str, dtype: str, count: int) -> None:
        """Memory of the block's or the thread's own, for so many elements."""
        self.line(self.dialect.memory(name, space, dtype, elements(dtype, count)))

    def pointer(self, space: str, dtype: str, name: str, constant: bool = False, alone: bool = False) -> str:
        """A parameter, or the head of a declaration: where elements lie. alone: nothing else reaches them."""
        words = [self.dialect.spaces[space], "const" * constant, self.dialect.element(dtype)]
        return f"{' '.join(word for word in words if word)} *{self.dialect.alone * alone}{name}"

    def parameter(self, dtype: str, name: str) -> str:
        return self.dialect.parameter(name, self.dialect.types[dtype])

    def point(self, space: str, dtype: str, name: str, text: str, constant: bool) -> None:
        """A name for where elements lie."""
        self.line(f"{self.pointer(space, dtype, name, constant)} = {text};")

    # --------------------------------------------------------------------------------------------- functions

    def function(self, result: str, name: str, parameters: list[str]):
        """A function: `result` is its type as text, or a struct's name."""
        return self.block(self.dialect.function(result, name, parameters))

    def struct(self, name: str, dtypes: tuple[str, ...]) -> None:
        """A type with the members r0, r1, … for several results."""
        with self.block(*self.dialect.struct(name)):
            for k, dtype in enumerate(dtypes):
                self.line(self.dialect.member(f"r{k}", self.dialect.types[dtype]))
        self.line("")

    def declare_struct(self, struct: str, name: str) -> None:
        self.line(self.dialect.variable(name, struct))

    def hold_struct(self, struct: str, name: str, text: str) -> None:
        self.line(self.dialect.constant_of(name, struct, text))

    def scope(self):
        """Statements whose names nothing outside has."""
        return self.block("")

    # -------------------------------------------------------------------------------------------- statements

    def assign(self, name: str, text: str) -> None:
        self.line(f"{name} = {bare(text)};")

    def statement(self, text: str) -> None:
        self.line(f"{text};")

    def when(self, condition: str):
        return self.block(f"if ({bare(condition)})")

    def otherwise(self):
        return self.block("else")

    def repeat(self, condition: str, also: str = ""):
        return self.block(f"while (({bare(condition)}) & ({also}))" if also else f"while ({bare(condition)})")

    def count(self, name: str, dtype: str, first: str, stop: str, step: str, also: str = ""):
        """A loop from first up to stop, which does not change; also: as long as that holds."""
        d = self.dialect
        condition = d.below(dtype, name, stop)
        condition = f"({condition}) & ({also})" if also else condition
        begin = d.variable(name, d.types[dtype], first)
        return self.block(f"for ({begin} {condition}; {d.advance(name, dtype, step)})")

    def count_once(self, name: str, dtype: str, first: str, stop: str, step: str):
        """The same with a first turn in any case."""
        d = self.dialect
        self.variable(name, dtype, first)
        return self.block("do", f" while ({d.below(dtype, f'({d.advance(name, dtype, step)})', stop)});")

    def leave(self) -> None:
        self.line("break;")

    def advance(self) -> None:
        self.line("continue;")

    def give(self, text: str = "") -> None:
        self.line(f"return {bare(text)};" if text else "return;")

    def barrier(self) -> None:
        self.line(f"{self.dialect.barrier};")


def elements(dtype: str, count: int) -> int:
    """Of memory, for so many of a dtype: none is taken for one, and a complex one has two."""
    return max(count, 1) * (2 if dtype.startswith("complex") else 1)


def bare(text: str) -> str:
    """An expression without the parentheses around all of it."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text
