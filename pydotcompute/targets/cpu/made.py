"""What a tree has, and gets by being lowered: names, scalars and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir.tree import NewArray, Var


@dataclass
class Made:
    taken: set[str]
    locals: dict[str, str]
    arrays: dict[str, NewArray]
    extents: dict[str, tuple[Any, ...]]  # of parameters, numbers and symbols
    strided: set[str]  # parameters whose neighbours may lie apart in memory
    reorders: bool  # whether sums of floats may be taken in another order

    def name(self, base: str) -> str:
        name, number = base, 1
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name

    def local(self, base: str, dtype: str = "int64") -> Var:
        name = self.name(base)
        self.locals[name] = dtype
        return Var(name, dtype)
