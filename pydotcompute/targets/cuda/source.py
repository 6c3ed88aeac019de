"""What a kernel is lowered to for CUDA: a text, its entries, and how they are launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...artifact.dimensions import Tree
from ...errors import Position
from ..sites import Sites


@dataclass(frozen=True)
class CudaEntry:
    name: str  # in the PTX
    function: str  # in the text
    types: tuple[str, ...]  # "int64", "float32*"
    noalias: tuple[bool, ...]


@dataclass(frozen=True)
class CudaSource:
    text: str
    positions: tuple[Position | None, ...]  # line k + 1 of the text comes from positions[k]
    functions: dict[str, tuple[str, ...]]  # besides the entries → result types
    entries: tuple[CudaEntry, ...]
    arguments: tuple[tuple[str | int, ...], ...]  # as arguments_of, then ("scratch", k)
    launches: tuple[dict[str, Any], ...]
    scratch: tuple[Tree, ...]
    block: int
    program: tuple[Any, ...] = ()  # where the host follows control: see artifact/launch.py
    sites: Sites | None = None  # by which faults are numbered
