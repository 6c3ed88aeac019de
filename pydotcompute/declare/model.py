"""What a declaration says, as plain data. Everything that can be wrong has been checked before these exist."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Sequence

from ..artifact.dimensions import Tree
from ..artifact.signature import Signature
from ..errors import DeclarationError, Position


@dataclass(frozen=True)
class Specialisation:
    """One choice of a kernel's types and params. `str()` is its name everywhere: `T=float32,TILE=32`."""

    types: tuple[tuple[str, str], ...]
    params: tuple[tuple[str, int | float | bool], ...]

    def __str__(self) -> str:
        return self._name

    @cached_property
    def _name(self) -> str:
        return ",".join(f"{name}={value}" for name, value in (*self.types, *self.params)) or "-"


@dataclass(frozen=True)
class Kernel:
    name: str
    doc: str
    signature: Signature
    types: dict[str, tuple[str, ...]]
    params: dict[str, tuple[int | float | bool, ...]]  # the first value is the default
    tune: tuple[str, ...]  # params that change no result: which value a call gets is found by measuring
    requires: tuple[Tree, ...]
    vendor: dict[str, Tree]  # "call": who else computes the same, a function of NumPy's and CuPy's; "when": where so,
    # "on_device": where so on GPUs, if that is something else
    body: str | None  # the text of `body:`, or
    template: str | None  # the file under templates/, as written
    family: dict[str, str | int | float]  # the values of this member of a family
    launch: dict[str, Any]  # "block", "grid": a number, an expression, or a tuple of up to three of them
    fastmath: tuple[str, ...]
    reference: str | tuple[str, ...] | None
    tolerance: float | dict[str, float] | None
    inputs: dict[str, dict[str, Any]] | str | None
    sizes: dict[str, tuple[dict[str, int], ...]]
    work: dict[str, Tree]
    unordered: tuple[str, ...]  # outputs that may come permuted, together, along their first axis
    disjoint: tuple[str, ...]  # arrays of which iterations touch disjoint elements, by the author's word
    unchecked: bool  # whether indices that are not proved to be inside are not looked at
    special: bool  # whether it, and its reference, are meant for NaN, infinities and -0.0 as inputs
    at: Position = field(compare=False)
    tuned: dict[str, Any] = field(default_factory=dict)  # what templates/tuned.yaml says of it (tuned.py)
    # of each key's value ("body"), and of parameters ("signature.x")
    positions: dict[str, Position] = field(default_factory=dict, compare=False)
    source: Sequence[str] = field(default=(), compare=False, repr=False)  # its lines of kernels.yaml (excerpt.py)
    # which of those each line of `body` stands in
    body_lines: tuple[int, ...] = field(default=(), compare=False, repr=False)
    # (line, column) of each character of each line of `body`, where those lines do not stand there as they are
    body_places: tuple[tuple[tuple[int, int], ...], ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def specialisations(self) -> tuple[Specialisation, ...]:
        types = product(*([(name, d) for d in dtypes] for name, dtypes in self.types.items()))
        params = list(product(*([(name, v) for v in values] for name, values in self.params.items())))
        return tuple(Specialisation(t, p) for t in types for p in params)


@dataclass(frozen=True)
class Declaration:
    path: str  # kernels.yaml, as shown to the user
    root: str  # the folder it stands in
    targets: tuple[str, ...]  # as written; empty: what is built by default
    kernels: dict[str, Kernel]
    refused: dict[str, DeclarationError] = field(default_factory=dict)  # kernels whose declaration is wrong
    target_positions: tuple[Position, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Rendered:
    """The Python of one specialisation for one backend: always a module of helpers and one `def NAME(arguments…)`.

    `origins[k]` is where line k + 1 of `text` comes from: (file index into `files`, line). For an inline body the
    def line is ours, and `shift` is how many columns its statements were moved to the right.
    """

    text: str
    files: tuple[str, ...]  # paths as shown to the user; the first is the template itself or kernels.yaml
    sources: dict[str, str]  # relative path under templates/ -> text, of the template and everything it includes
    origins: tuple[tuple[int, int], ...]
    lines: tuple[Sequence[str], ...]  # the source lines of each of `files`
    shift: int = 0
    inline: bool = False  # whether it was a body, whose helpers stand before its statements
    avx512: bool = False  # whether it is for processors with AVX-512 alone: its template asks for them
    raw: str = ""  # the module, such as `cuda`, whose use says that this is its own Python, not the kernel language
    # For lines whose text stands otherwise in the file (folded, quoted): line of `text` → what was written, and the
    # (line, column) of each of its characters.
    places: dict[int, tuple[str, tuple[tuple[int, int], ...]]] = field(default_factory=dict, compare=False, repr=False)

    def places_from(self, root: str) -> list[Any]:
        """For each line where it comes from, and all that decides columns there: (file from `root` on, line, its text,
        where its characters stand). What it says does not change with the folder that all lies in."""
        names = [os.path.relpath(name, root or ".").replace(os.sep, "/") for name in self.files]
        return [
            (names[file], origin, _line(self.lines[file], origin), self.places.get(number))
            for number, (file, origin) in enumerate(self.origins, 1)
        ]

    @cached_property
    def _rows(self) -> list[str]:
        return self.text.split("\n")

    def position(self, line: int, column: int) -> Position:
        """Where the user wrote what stands at this 1-based line and column of `text`.

        A line in which Jinja2 put values is exact before the first and after the last of them.
        """
        line = min(max(line, 1), len(self.origins))
        file, origin = self.origins[line - 1]
        source = _line(self.lines[file], origin)
        rendered = _line(self._rows, line)
        if line not in self.places:
            found = aligned(source, rendered, column - 1) + 1
            return Position(self.files[file], origin, found, source, (line, column))
        written, places = self.places[line]
        origin, found = places[min(aligned(written, rendered, column - 1), len(places) - 1)]
        return Position(self.files[file], origin, found, _line(self.lines[file], origin), (line, column))


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def aligned(source: str, rendered: str, offset: int) -> int:
    """The offset in a source line of what stands at `offset` in the line rendered from it, if Jinja2 put no value
    there; else that of its first character."""
    indent = len(source) - len(source.lstrip())
    before, after = source.strip(), rendered.strip()
    k = offset - (len(rendered) - len(rendered.lstrip()))
    if 0 <= k <= len(after):
        if before[:k] == after[:k] and before[k : k + 1] == after[k : k + 1]:
            return indent + k
        rest = len(after) - k
        if rest and rest <= len(before) and before.endswith(after[k:]):
            return indent + len(before) - rest
    return indent
