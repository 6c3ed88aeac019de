"""What a declaration says, as plain data. Everything that can be wrong has been checked before these exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from ..errors import Position
from ..signature import Signature

@dataclass(frozen=True)
class Specialisation:
    """One choice of a kernel's types and params. `str()` is its name everywhere: `T=float32,TILE=32`."""

    types: tuple[tuple[str, str], ...]
    params: tuple[tuple[str, int | float | bool], ...]

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in (*self.types, *self.params)) or "-"


@dataclass(frozen=True)
class Kernel:
    name: str
    doc: str
    signature: Signature
    types: dict[str, tuple[str, ...]]
    params: dict[str, tuple[int | float | bool, ...]]  # the first value is the default
    requires: tuple[str, ...]
    body: str | None  # the text of `body:`, or
    template: str | None  # the file under templates/, as written
    family: dict[str, str | int | float]  # the values of this member of a family
    launch: dict[str, Any]
    fastmath: tuple[str, ...]
    reference: str | tuple[str, ...] | None
    tolerance: float | dict[str, float] | None
    inputs: dict[str, dict[str, Any]] | str | None
    sizes: dict[str, tuple[dict[str, int], ...]]
    work: dict[str, str]
    at: Position = field(compare=False)
    positions: dict[str, Position] = field(default_factory=dict, compare=False)  # of each key's value ("body"), and of parameters ("signature.x")

    @cached_property
    def specialisations(self) -> tuple[Specialisation, ...]:
        types = product(*([(name, d) for d in dtypes] for name, dtypes in self.types.items()))
        params = list(product(*([(name, v) for v in values] for name, values in self.params.items())))
        return tuple(Specialisation(t, p) for t in types for p in params)


@dataclass(frozen=True)
class Declaration:
    path: str  # kernels.yaml, as shown to the user
    root: str  # the folder it stands in
    targets: tuple[str, ...]
    kernels: dict[str, Kernel]


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
    lines: tuple[tuple[str, ...], ...]  # the source lines of each of `files`
    shift: int = 0
    raw: bool = False  # uses `cuda.`: numba.cuda's own Python, not the kernel language

    def position(self, line: int, column: int) -> Position:
        """Where the user wrote what stands at this 1-based line and column of `text`."""
        file, origin = self.origins[min(max(line, 1), len(self.origins)) - 1]
        source = self.lines[file][origin - 1] if 0 < origin <= len(self.lines[file]) else ""
        rendered = self.text.split("\n")[line - 1] if 0 < line <= self.text.count("\n") + 1 else ""
        # A line without substitutions stands unchanged but for its indentation; else the mark goes to its start.
        indent = len(source) - len(source.lstrip())
        if source.strip() == rendered.strip():
            moved = column - (len(rendered) - len(rendered.lstrip())) + indent
            return Position(self.files[file], origin, max(1, moved), source)
        return Position(self.files[file], origin, indent + 1, source)
