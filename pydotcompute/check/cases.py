"""The cases of a kernel: which sizes, with which kinds of arrays and values."""

from __future__ import annotations

from typing import Iterator, NamedTuple

import numpy as np

from ..declare.model import Kernel, Specialisation
from ..ir import tree
from ..ir.dtypes import kind_of
from . import sizes
from .expected import INTERPRETED

STREWN = ("special", "extreme")  # the kinds for which the interpreter is asked
QUICK = 150  # elements, or what the product of all dimensions counts


class Chosen(NamedTuple):
    """One case, before anything is drawn for it."""

    number: int  # which decides what is drawn
    dims: dict[str, int]
    kind: str
    turn: int  # of the special ones, the how manieth it is
    size: float  # which of two cases takes longer

    @property
    def label(self) -> str:
        return ",".join(f"{k}={v}" for k, v in self.dims.items()) + (f" {self.kind}" if self.kind else "")


def growing(kernel: Kernel, specialisation: Specialisation, seed: int) -> list[Chosen]:
    """All cases of a specialisation, the smallest first."""
    found, turn = [], 0
    for number, (dims, kind) in enumerate(cases_of(kernel, specialisation, seed)):
        turn += kind == "special"
        found.append(Chosen(number, dims, kind, turn, sizes.work(kernel, specialisation, dims)))
    return sorted(found, key=lambda case: case.size)


def cases_of(kernel: Kernel, specialisation: Specialisation, seed: int) -> Iterator[tuple[dict[str, int], str]]:
    """Sizes and the kind of each case: as declared, with views that are not contiguous ("strided"), with arrays that
    begin where no vector would ("misaligned"), with NaN, infinities and signed zeros among floats ("special"), with
    denormals and the ends of the range too ("extreme"). The last two, for which the interpreter is asked, at every
    second (of several dimensions, of which it takes few, every) and third size that it takes, from the first on."""
    arrays = any(p.is_array for p in kernel.signature.parameters)
    types = dict(specialisation.types)
    floats = any(kind_of(types.get(p.dtype, p.dtype)) in "fc" for p in kernel.signature.inputs)
    loose = any(p.layout != "C" for p in kernel.signature.parameters)
    small = 0
    for number, dims in enumerate(sizes.cases(kernel, specialisation, seed)):
        yield dims, ""
        if loose:
            yield dims, "strided"
        if arrays and number % 3 == 1:
            yield dims, "misaligned"
        if floats and 0 < elements(dims) <= INTERPRETED:
            if small % 2 == 0 or len(dims) > 1:
                yield dims, "special"
            if small % 3 == 0:
                yield dims, "extreme"
            small += 1


def elements(dims: dict[str, int]) -> float:
    """The product of all dimensions: how large a case is."""
    return float(np.prod([float(n) for n in dims.values()]))


def is_quick(kernel: Kernel, dims: dict[str, int], kind: str) -> bool:
    """Whether a case is small, and what it is held to quick: not the interpreter alone, where there is a reference."""
    return (kernel.reference is None or is_for_reference(kernel, kind)) and elements(dims) <= QUICK


def is_for_reference(kernel: Kernel, kind: str) -> bool:
    """Whether the reference says what a case of this kind should give."""
    return kernel.reference is not None and kind != "extreme" and (kind != "special" or kernel.special)


def leaves_rounding_open(built: tree.KernelTree | None) -> bool:
    """Whether the kernel adds up or multiplies floats in a loop, or may round a product and a sum once: then an
    overflow depends on what the language leaves open. None: a raw kernel, of which that is not known."""
    if built is None:
        return True
    bodies = (built.body, *(helper.body for helper in built.helpers))
    return any(
        _adds_up(node) or bool(built.fastmath) and _adds_a_product(node)
        for body in bodies for statement in body for node in tree.walk(statement)
    )  # fmt: skip


def _adds_up(node: tree.Node) -> bool:
    return isinstance(node, tree.Accumulate) and node.op in ("sum", "prod") and node.value.type.startswith(("f", "c"))


def _adds_a_product(node: tree.Node) -> bool:
    return (
        isinstance(node, tree.Binary) and node.op in "+-" and node.type.startswith(("f", "c"))
        and any(isinstance(side, tree.Binary) and side.op == "*" for side in (node.left, node.right))
    )  # fmt: skip
