"""Modules of code objects: the texts that they are made of, executed. A text is that of a code object if the compiler
makes these very bytes of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cupy import _machine
from pydotcompute.targets.hip import code_object, toolchain
from tests.hip import Program


class Module:
    def __init__(self, image: bytes):
        from cupy.cuda.driver import CUDADriverError

        try:
            if not code_object.metadata(image)["amdhsa.target"].endswith(_machine.HIP):
                raise CUDADriverError(209)
        except code_object.CompilationError as error:
            raise CUDADriverError(209) from error
        self.program = Program(_text(image), image)
        self.entries = self.program.kernels

    def sizes(self, entry: str) -> list[int]:
        return [one.size for one in self.entries[entry].arguments]

    def launch(self, entry: str, grid: Any, block: Any, arguments: list[bytes], memory: Any, seed: int) -> None:
        self.program.launch(entry, grid, block, arguments, seed)


def _text(image: bytes) -> str:
    found = code_object.kernels(image)
    most = max(kernel.most_threads for kernel in found.values())
    for path in sorted(Path(os.environ["EMULATED_TEXTS"]).rglob("*.hip.cl")):
        text = path.read_text()
        likely = all(f"kernel void {name}(" in text for name in found)
        if likely and toolchain.code_object(text, _machine.HIP, most, "-") == image:
            return text
    raise AssertionError(f"no text of {list(found)} is what this code object is made of")
