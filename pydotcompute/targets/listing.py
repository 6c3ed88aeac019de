"""What becomes of a kernel on its way to machine code, as lines of text, each with its place in the user's files."""

from __future__ import annotations

import os
import re
import shutil
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, Sequence
from urllib.parse import quote

from ..errors import CompilerNotInstalledError, Position

if TYPE_CHECKING:
    from ..declare.model import Rendered
    from ..ir.tree import KernelTree


STAGES = {"source": "the rendered Python", "tree": "the typed tree"}  # what every target has


class Line(NamedTuple):
    text: str
    at: Position | None = None  # None: nobody wrote it


class Listing(NamedTuple):
    """One form of one specialisation. notes: what a reader must know about it, a sentence each."""

    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


class Remark(NamedTuple):
    """What was made of a part of a kernel."""

    at: Position | None
    text: str


def of_text(text: str, positions: Sequence[Position | None]) -> Listing:
    """A text whose line k + 1 comes from positions[k]; those that it has no position for, from nowhere."""
    lines = text.splitlines()
    known = [*positions, *(None for _ in lines[len(positions) :])]
    return Listing(tuple(Line(line, at) for line, at in zip(lines, known)))


def of_rendered(rendered: Rendered) -> Listing:
    """The Python that a declaration was rendered to."""
    count = len(rendered.text.splitlines())
    return of_text(rendered.text, [rendered.position(number, 1) for number in range(1, 1 + count)])


def loops_of(tree: KernelTree) -> Iterator[tuple[Position, set[tuple[str, int]]]]:
    """Where each loop stands, and the files and lines that belong to it; an outer one before what it holds."""
    from ..ir.tree import For, Parallel, Reduce, While, walk  # here, because a plan needs none of the tree

    for statement in (s for body in (*(h.body for h in tree.helpers), tree.body) for s in body):
        for node in walk(statement):
            if isinstance(node, (Parallel, For, While, Reduce)) and node.at is not None:
                yield node.at, {(n.at.path, n.at.line) for n in walk(node) if n.at is not None}


def place_of(path: str, line: int) -> Position:
    """What a table of lines says, where nothing is known of the file."""
    return Position(os.path.normpath(path), line, 1)


class Places:
    """The positions of a kernel by file and line: what a compiler's tool gives back of a table of lines."""

    def __init__(self, positions: Iterable[Position | None]):
        self._known: dict[tuple[str, int], Position] = {}
        for at in positions:
            if at is not None:
                self._known.setdefault((self.name(at.path), at.line), at)

    @staticmethod
    def name(path: str) -> str:
        """What a table of lines that is asked for again is to call a file: of characters that every tool hands on as
        they are, as quotes, commas, letters beyond ASCII and bytes that are no text are not."""
        return quote(os.fsencode(os.path.normpath(path)))

    def at(self, name: str, line: int) -> Position | None:
        return self._known.get((os.path.normpath(name), line))


def aligned(lines: Sequence[str], twin: Sequence[Line], shape: Callable[[str], str]) -> Listing:
    """Lines of an artifact, with the places of its twin: the same code, but that it was compiled with a table of lines.

    Some compilers make other instructions then. shape: what is compared of a line, such as its instruction without
    the names of registers.
    """
    mine, theirs = [shape(line) for line in lines], [shape(line.text) for line in twin]
    places: list[Position | None] = [None] * len(lines)
    same = 0
    for block in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
        same += block.size
        for k in range(block.size):
            places[block.a + k] = twin[block.b + k].at
    other = len(lines) - same
    note = f"{other} of {len(lines)} lines have no place: with a table of lines the compiler makes other ones there"
    return Listing(tuple(map(Line, lines, places)), (note,) if other else ())


@cache
def objdump() -> str:
    """The path of a disassembler. Raises CompilerNotInstalledError, naming the package that brings it."""
    for name in ("llvm-objdump", *(f"llvm-objdump-{version}" for version in range(30, 10, -1)), "objdump"):
        if path := shutil.which(name):
            return path
    raise CompilerNotInstalledError(
        "objects are read by llvm-objdump, which is not installed: Debian's and Ubuntu's package llvm brings it"
    )


def of_any_rows(lines: Iterable[Line], kernel: str) -> Iterator[Line]:
    """Of a listing for CUDA, what is for rows of any length: where rows are kept the loops of others are straight code,
    which has each element twice, and nothing tells which of the kernel's loops a part of it was."""
    function = re.compile(rf"(?:def |\.visible \.entry |\.func |(?=\w+:$)).*?\b({re.escape(kernel)}_to_\d+)?(?:\(|:)")
    short = False
    for line in lines:
        if found := function.match(line.text):
            short = bool(found[1])
        if not short:
            yield line
