"""The repository's kernels, as a target has them, against their references."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pydotcompute import declare
from pydotcompute.check import draw, judge, memory, sizes
from pydotcompute.check.expected import Expected
from pydotcompute.declare.model import Kernel, Specialisation
from tests.targets.built import Built

PROJECT = str(Path(__file__).parents[2])
DECLARATION = declare.load(PROJECT)
EVERY = [(k.name, str(s)) for k in DECLARATION.kernels.values() for s in k.specialisations]
CASES = 7


def named(name: str, label: str) -> tuple[Kernel, Specialisation]:
    kernel = DECLARATION.kernels[name]
    return kernel, next(s for s in kernel.specialisations if str(s) == label)


def cases(kernel: Kernel, specialisation: Specialisation, most: int) -> list[dict[str, int]]:
    """Of the sizes that `check` has, those of at most so many elements."""
    return [d for d in sizes.cases(kernel, specialisation, 0) if np.prod([float(n) for n in d.values()]) <= most]


def spread(found: list[dict[str, int]], last: dict[str, int]) -> list[dict[str, int]]:
    """A few of the sizes, from end to end, and one more."""
    return found[:: max(1, len(found) // (CASES - 1))][: CASES - 1] + [last]


def agree(built: Built, kernel: Kernel, specialisation: Specialisation, chosen: Sequence[dict[str, int]]) -> None:
    """Calls of these sizes, every other one with arrays that are not contiguous where it may have such: as the
    reference, and nothing around the arrays is written."""
    for number, dims in enumerate(chosen):
        rng = np.random.default_rng(zlib.crc32(f"{kernel.name} {specialisation} {number}".encode()))
        loose = any(p.layout != "C" for p in kernel.signature.parameters) and number % 2 == 1
        case = draw.draw(kernel, specialisation, dims, rng, PROJECT, strided=loose)
        references = Expected(DECLARATION, kernel, specialisation, case, None).reference
        built.call(**case.arguments, **case.outputs, **dict(specialisation.params), seed=number)
        both = {**case.arguments, **case.outputs}
        written = {p.name: both[p.name] for p in kernel.signature.parameters if p.writable and p.role != "temp"}
        for n, buffer in case.buffers.items():
            assert not memory.overrun(both[n], buffer), (dims, n)
        for (n, got), wanted in zip(written.items(), references, strict=True):
            assert got.dtype.itemsize == 1 or not memory.unwritten(got).any(), (dims, n)
            wrong, _ = judge.compared(kernel, n, got, wanted, "the reference")
            assert not wrong, (dims, wrong)
