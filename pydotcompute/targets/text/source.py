"""What the printer of C-like languages gives of one specialisation: a text, and how its kernels are launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...artifact.dimensions import Tree, data
from ...errors import Position
from ..sites import Sites
from .arrays import Argument
from .layout import Layout


@dataclass(frozen=True)
class Source:
    text: str
    positions: tuple[Position | None, ...]  # line k + 1 of the text comes from positions[k]
    arguments: tuple[tuple, ...]  # see arrays.py; then ("scratch", k)
    launches: tuple[dict[str, Any], ...]
    scratch: tuple[Tree, ...]
    shared: int  # bytes of shared memory of a block, at most
    features: frozenset[str]  # "float64", "int64_atomics", …: what a device must have
    program: tuple[Any, ...] = ()  # where the host follows control: see artifact/launch.py
    sites: Sites | None = None  # by which faults are numbered, where the dialect checks
    layout: Layout | None = None  # of a language without pointers
    given: Mapping[str, tuple[Argument, ...]] = field(default_factory=dict)  # by kernel, what it gets

    def told(self, unchecked: int) -> dict[str, Any]:
        """What the metadata of every artifact of it says. unchecked: its indices that are not proved to be inside."""
        return {
            "arguments": [list(a) for a in self.arguments],
            "launches": list(self.launches),
            "scratch": [data(size) for size in self.scratch],
            "shared": self.shared,
            **(self.sites.told() if self.sites else {"unchecked": unchecked}),
            **({"program": list(self.program)} if self.program else {}),
        }
