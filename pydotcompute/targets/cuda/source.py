"""What a kernel is lowered to for CUDA: a text, its entries, and how they are launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...artifact.dimensions import Tree
from ...errors import Position
from ..sites import Sites
from .entry_point import EntryPoint


@dataclass(frozen=True)
class CudaSource:
    text: str
    positions: tuple[Position | None, ...]  # line k + 1 of the text comes from positions[k]
    functions: dict[str, tuple[str, ...]]  # besides the entries → result types
    entries: tuple[EntryPoint, ...]
    arguments: tuple[tuple[str | int, ...], ...]  # as arguments_of, then ("scratch", k)
    launches: tuple[dict[str, Any], ...]
    scratch: tuple[Tree, ...]
    program: tuple[Any, ...] = ()  # where the host follows control: see artifact/launch.py
    sites: Sites | None = None  # by which faults are numbered
