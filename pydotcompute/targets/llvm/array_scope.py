"""What the names of arrays stand for where code is being written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

from .arrays import Array

A = TypeVar("A", bound=Array)


class ArrayScope(Generic[A]):
    """Each name's array; inside `bound` the names stand for others."""

    def __init__(self, arrays: Mapping[str, A]):
        self.by_name = dict(arrays)

    def __getitem__(self, name: str) -> A:
        return self.by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def all(self) -> list[A]:
        return list(self.by_name.values())

    @contextmanager
    def bound(self, arrays: Mapping[str, A]) -> Iterator[None]:
        outer, self.by_name = self.by_name, dict(arrays)
        yield
        self.by_name = outer
