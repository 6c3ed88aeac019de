"""The cases of a kernel: which sizes, with which kinds of arrays and values."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from .. import declare
from ..declare.model import Kernel, Specialisation
from ..lower import tree
from ..lower.frontend import build_tree
from . import sizes
from .expected import INTERPRETED

QUICK = 150  # elements, or what the product of all dimensions counts


def cases_of(kernel: Kernel, specialisation: Specialisation, seed: int) -> Iterator[tuple[dict[str, int], str]]:
    """Sizes and the kind of each case: as declared, with views that are not contiguous, with arrays that begin where
    no vector would, with special values."""
    arrays = any(p.is_array for p in kernel.signature.parameters)
    inputs = any(p.is_array and p.role != "out" for p in kernel.signature.parameters)
    loose = any(p.layout != "C" for p in kernel.signature.parameters)
    for number, dims in enumerate(sizes.cases(kernel, specialisation, seed)):
        yield dims, ""
        if loose:
            yield dims, "strided"
        if arrays and number % 3 == 1:
            yield dims, "misaligned"
        if inputs and number % 3 == 0 and 0 < np.prod([float(n) for n in dims.values()]) <= INTERPRETED:
            yield dims, "special"


def is_quick(dims: dict[str, int], kind: str) -> bool:
    """Whether a case is small; special values are left out, whose measure is the interpreter."""
    return kind != "special" and np.prod([float(n) for n in dims.values()]) <= QUICK


def leaves_rounding_open(kernel: Kernel, specialisation: Specialisation, root: str) -> bool:
    """Whether the kernel adds up or multiplies floats in a loop, or may round a product and a sum once: then an
    overflow depends on what the language leaves open."""
    rendered = declare.render(kernel, specialisation, "python", root)
    if rendered.raw:
        return True
    built = build_tree(kernel, specialisation, rendered)
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
