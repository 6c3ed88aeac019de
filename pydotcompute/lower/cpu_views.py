"""Loops over arrays whose leading dims are a view: the offset of a row is computed once, not once an element."""

from __future__ import annotations

from .cpu_loops import CpuLoops
from .tree import Parallel


class CpuViews(CpuLoops):
    def write_block_body(self, main: Parallel) -> None:
        self.closing.append(lambda: None)
        self.statements(main.body)
        self.closing.pop()
