"""Kernels of a project at the sizes that they declare under `sizes: {bench: …}`, on one thread: against their reference
in NumPy and, where they are installed, Numba of the same body and the reference in JAX and PyTorch; and against the
roofs of this machine. That of what waits for memory is a copy of as many bytes, that of what computes NumPy's product
of float32 matrices. What is slower than a peer comes first, with the reason, as far as one is known."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Iterator

from .own import built, copy

if TYPE_CHECKING:
    from ..check.draw import Case
    from ..declare.model import Kernel

COLUMNS = (
    "kernel", "specialization", "sizes", "target", "µs", "spread", "GB/s", "of a copy", "Gop/s", "of matmul",
    "reference µs", "Numba µs", "JAX µs", "PyTorch µs", "times as fast", "bound by",
)  # fmt: skip
MATRIX = 256  # rows and columns of those whose product is the roof


def measure(directory: str, targets: list[str], kernels: list[str], rounds: int = 20) -> Iterator[dict[str, Any]]:
    """rounds: milliseconds for each figure, or the time of one call. Raises DeclarationError where no kernel declares
    such sizes."""
    import numpy as np

    from ..check import draw, expected, faults
    from ..declare import load
    from ..errors import DeclarationError
    from .kernels import best, timed
    from .losses import reason
    from .reference_peers import all_peers

    declaration = load(directory)
    chosen = [k for name, k in declaration.kernels.items() if name in (kernels or names(directory))]
    if not chosen:
        raise DeclarationError("no kernel declares sizes to measure", None, "add sizes: {bench: [{n: 1e6}]} to one")
    targets, seconds = targets or ["cpu:x86-64-v3"], rounds / 1e3
    matrix = np.ones((MATRIX, MATRIX), np.float32)
    most = 2 * MATRIX**3 / best(partial(np.matmul, matrix, matrix, np.empty_like(matrix)), seconds) / 1e9
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:  # the project's own cache stays as it is
        root = os.path.join(folder, "project")
        copy(directory, root)
        libraries = built(root, targets, *(k.name for k in chosen))
        for kernel in chosen:
            for one in kernel.specialisations:
                for dims in kernel.sizes["bench"]:
                    try:
                        case = draw.draw(kernel, one, dims, np.random.default_rng(0), declaration.root)
                    except faults.Unmet as unmet:
                        raise DeclarationError(str(unmet), kernel.positions["requires"], "give them `inputs`") from None
                    given = {**case.arguments, **case.outputs, **_params(kernel, dict(one.params))}
                    moved, operations = work(kernel, {**dict(one.params), **dims}, case)
                    half = np.ones(max(1, moved // 2), np.uint8)
                    roof = best(partial(np.copyto, np.empty_like(half), half), seconds)
                    peers = {}
                    reference = partial(expected.evaluation, kernel, one, dims)
                    theirs = all_peers(reference, case.arguments, root, libraries[0][kernel.name], given)
                    for name, call in theirs:
                        peers[f"{name} µs"] = best(call, seconds) * 1e6
                    for target, library in zip(targets, libraries):
                        ours, spread = timed(partial(library[kernel.name], **given), seconds)
                        row: dict[str, Any] = {"kernel": kernel.name, "specialization": str(one), "target": target}
                        row["sizes"] = ", ".join(f"{name}={n}" for name, n in dims.items())
                        row |= {"µs": ours * 1e6, "spread": spread}
                        row |= {"GB/s": moved / ours / 1e9, "of a copy": roof / ours}
                        if operations:
                            row |= {"Gop/s": operations / ours / 1e9, "of matmul": operations / ours / 1e9 / most}
                        if peers:
                            row |= {**peers, "times as fast": min(peers.values()) / row["µs"]}
                        rows.append(row)
        for row in sorted(rows, key=lambda row: row.get("times as fast", float("inf"))):
            lost = row.get("times as fast", 1) < 1
            yield row | ({"bound by": reason(row, root)} if lost else {})


def names(directory: str) -> list[str]:
    """The kernels that can be measured."""
    from ..declare import load

    return [name for name, kernel in load(directory).kernels.items() if kernel.sizes.get("bench")]


def work(kernel: Kernel, known: Mapping[str, Any], case: Case) -> tuple[int, int]:
    """Bytes that a call moves and operations that it does, as declared; else bytes are those of its arrays, and
    operations 0, which is unknown."""
    from ..artifact.dimensions import evaluate

    scalars = {name: value for name, value in case.arguments.items() if isinstance(value, (int, float))}
    said = {key: int(evaluate(tree, {**scalars, **known})) for key, tree in kernel.work.items()}
    arrays = [*case.arguments.values(), *case.outputs.values()]
    return said.get("bytes", sum(getattr(a, "nbytes", 0) for a in arrays)), said.get("operations", 0)


def _params(kernel: Kernel, chosen: dict[str, Any]) -> dict[str, Any]:
    """Those of a specialisation that a call has to name."""
    return {name: value for name, value in chosen.items() if len(kernel.params[name]) > 1}
