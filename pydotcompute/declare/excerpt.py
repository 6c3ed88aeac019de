"""Some lines of a file, found by their number in the whole of it: what a kernel needs of kernels.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True)
class Excerpt(Sequence[str]):
    """As a list of the lines of the file up to the last that is here; those before the first are empty. A job that is
    sent to a compiler has these, however many kernels stand around its own."""

    first: int  # how many lines stand before
    kept: tuple[str, ...]

    def __len__(self) -> int:
        return self.first + len(self.kept)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        place = index % len(self) - self.first
        return self.kept[place] if place >= 0 else ""
