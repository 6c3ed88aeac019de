"""The author's word that iterations of parallel loops touch disjoint elements of an array, tested at every access."""

from __future__ import annotations

from typing import Any, Callable, Collection

import numpy as np

from .source import Site


class Touched:
    """Which iteration of each parallel loop under way touched which element first, and whether one stored there."""

    def __init__(self, names: Collection[str], sites: tuple[Site, ...]):
        self.names, self.sites = names, sites
        self.loops: list[dict[tuple[str, int], tuple[Any, bool]]] = []
        self.turns: list[Any] = []

    def enter(self) -> None:
        self.loops.append({})
        self.turns.append(None)

    def turn(self, *indices: int) -> None:
        """Another iteration of the innermost loop begins."""
        self.turns[-1] = indices

    def leave(self) -> None:
        self.loops.pop()
        self.turns.pop()

    def watched(self, access: Callable, writes: bool) -> Callable:
        """An access of `runtime.accesses` that notes which element it touches. Raises ValueError for one that another
        iteration touched, if either stores."""

        def touch(array: np.ndarray, *rest: Any) -> Any:
            result = access(array, *rest)
            places, name, _ = self.sites[rest[-1]]
            if name in self.names:
                indices = rest[: array.ndim]
                flat = int(np.ravel_multi_index(indices, array.shape)) if indices else 0
                for loop, turn in zip(self.loops, self.turns):
                    other, written = loop.setdefault((name, flat), (turn, writes))
                    if other != turn and (written or writes):
                        at = places[0] if places else None
                        where = f"{at.path}:{at.line}:{at.column}: " if at else ""
                        raise ValueError(
                            f"{where}iterations {_shown(other)} and {_shown(turn)} of a parallel loop both touch "
                            f"{name}[{', '.join(map(str, indices))}], which disjoint: [{name}] rules out"
                        )
                    loop[name, flat] = other, written or writes
            return result

        return touch


def _shown(turn: tuple[int, ...]) -> str:
    return str(turn[0]) if len(turn) == 1 else str(turn)
