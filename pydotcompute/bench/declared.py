"""Kernels of a project on each target that runs here, at the sizes that they declare under `sizes: {bench: …}`, or else
at those of each size class, on one thread: against their reference in NumPy and, where they are installed, Numba of the
same body and the reference in JAX and PyTorch, on a CUDA device in CuPy; and against the roofs of the machine. That of
what waits for memory is a copy of as many bytes, that of what computes a product of float32 matrices. What is slower
than a peer comes first, with the reason, as far as one is known."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Iterator

from ..artifact.targets import backend_of
from ..backends.names import HOST
from .declared_cases import cases_of, named_params, placed, placing_faults, runnable, timed_on
from .own import built, copy

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..check.draw import Case
    from ..declare.model import Kernel, Specialisation
    from ..runtime.kernel import Kernel as Built
    from ..runtime.library import KernelLibrary
    from .reference_peers import Peer, Reference

COLUMNS = (
    "kernel", "specialization", "sizes", "target", "µs", "spread", "GB/s", "of a copy", "Gop/s", "of matmul",
    "reference µs", "Numba µs", "JAX µs", "PyTorch µs", "times as fast", "bound by",
)  # fmt: skip
MATRIX = 256  # rows and columns of those whose product is the roof


def measure(directory: str, targets: list[str], kernels: list[str], rounds: int = 20) -> Iterator[dict[str, Any]]:
    """targets: default, those declared that run here. kernels: default, those that declare sizes; if none does, all.
    rounds: milliseconds for each figure, or the time of one call. Raises DeclarationError where a kernel has no call of
    any size class, BackendNotAvailableError where no declared target runs here."""
    from ..declare import load
    from ..devices.registry import get_backend
    from ..targets.registry import checked
    from .kernels import one_processor
    from .losses import reason

    declaration = checked(load(directory))
    sized = [name for name, kernel in declaration.kernels.items() if kernel.sizes.get("bench")]
    chosen = [kernel for name, kernel in declaration.kernels.items() if name in (kernels or sized or names(directory))]
    run, rows = targets or runnable(declaration), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as measuring:  # the project's own cache stays as it is
        root = os.path.join(folder, "project")
        copy(directory, root)
        libraries = dict(zip(run, built(root, run, *(k.name for k in chosen))))
        measuring.enter_context(one_processor())  # the build may use all
        places = {name: _Place(get_backend(name), rounds / 1e3) for name in dict.fromkeys(map(backend_of, run))}
        for kernel in chosen:
            for one in kernel.specialisations:
                for case in cases_of(kernel, one, declaration.root):
                    for place in places.values():
                        here = {t: library for t, library in libraries.items() if backend_of(t) == place.backend.name}
                        rows += _rows(kernel, one, case, place, here, root)
        for row in sorted(rows, key=lambda row: row.get("times as fast", float("inf"))):
            lost = row.get("times as fast", 1) < 1
            yield row | ({"bound by": reason(row, root)} if lost else {})


def _rows(
    kernel: Kernel, one: Specialisation, case: Case, place: _Place, libraries: Mapping[str, KernelLibrary], root: str
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """One call on each of a place's targets, beside what its peers take."""
    from ..check import expected, faults

    given = placed(place.backend, {**case.arguments, **case.outputs, **named_params(kernel, one)})
    moved, operations = work(kernel, {**dict(one.params), **case.dims}, case)
    reference, first = partial(expected.evaluation, kernel, one, case.dims), next(iter(libraries.values()))
    with placing_faults(kernel), faults.of("reference", kernel.reference):
        if (once := reference(case.arguments, root)) is not None:
            once()
    theirs = place.peers(reference, case.arguments, root, first[kernel.name], given)
    peers = {f"{name} µs": place.timed(call)[0] * 1e6 for name, call in theirs.items()}
    sizes = ", ".join(f"{name}={n}" for name, n in case.dims.items())
    copying = place.copying(moved)
    for target, library in libraries.items():
        ours, spread = place.timed(partial(library[kernel.name], **given))
        row: dict[str, Any] = {"kernel": kernel.name, "specialization": str(one), "target": target, "sizes": sizes}
        row |= {"µs": ours * 1e6, "spread": spread, "GB/s": moved / ours / 1e9}
        row |= place.shares(ours, copying, operations)
        yield row | peers | ({"times as fast": min(peers.values()) / row["µs"]} if peers else {})


class _Place:
    """Where calls run: what its vendor's package, NumPy or CuPy, copies and multiplies, if there is one."""

    def __init__(self, backend: Backend, seconds: float):
        self.backend, self.timed = backend, partial(timed_on, backend, seconds=seconds)
        self.package = import_module(backend.vendor) if backend.vendor and not backend.vendor_lacks() else None
        self.most = 0.0
        if self.package:
            matrix = self.package.ones((MATRIX, MATRIX), "float32")
            product = partial(self.package.matmul, matrix, matrix, out=self.package.empty_like(matrix))
            self.most = 2 * MATRIX**3 / self.timed(product)[0] / 1e9

    def copying(self, moved: int) -> float:
        """Seconds of a copy that moves so many bytes; 0 where nothing here copies."""
        if not self.package:
            return 0.0
        half = self.package.ones(max(1, moved // 2), "uint8")
        return float(self.timed(partial(self.package.copyto, self.package.empty_like(half), half))[0])

    def shares(self, taken: float, copying: float, operations: int) -> dict[str, float]:
        """How near a call of `taken` seconds comes to the roofs, as far as they are known."""
        told = {"Gop/s": operations / taken / 1e9} if operations else {}
        if self.package:
            told["of a copy"] = copying / taken
            if operations:
                told["of matmul"] = told["Gop/s"] / self.most
        return told

    def peers(
        self, reference: Reference, arguments: dict[str, Any], root: str, built: Built, given: dict[str, Any]
    ) -> dict[str, Peer]:  # fmt: skip
        """Name and call of each; on a device the reference by its vendor's package."""
        from .reference_peers import all_peers, tried

        if self.backend.name == HOST:
            return dict(all_peers(reference, arguments, root, built, given))
        there = placed(self.backend, arguments)
        call = tried(partial(reference, there, root, numpy=self.package)) if self.package else None
        return {"reference": call} if call else {}


def names(directory: str) -> list[str]:
    """The kernels that can be measured."""
    from ..declare import load

    return [*load(directory).kernels]


def work(kernel: Kernel, known: Mapping[str, Any], case: Case) -> tuple[int, int]:
    """Bytes that a call moves and operations that it does, as declared; else bytes are those of its arrays, and
    operations 0, which is unknown."""
    from ..artifact.dimensions import evaluate
    from ..errors import DeclarationError

    scalars = {name: value for name, value in case.arguments.items() if isinstance(value, (int, float))}
    try:
        said = {key: int(evaluate(tree, {**scalars, **known})) for key, tree in kernel.work.items()}
    except (ValueError, OverflowError) as error:  # beyond 64 bits, a division by 0; an infinity
        raise DeclarationError(f"the work of '{kernel.name}': {error}", kernel.positions["work"]) from None
    arrays = [*case.arguments.values(), *case.outputs.values()]
    return said.get("bytes", sum(getattr(a, "nbytes", 0) for a in arrays)), said.get("operations", 0)
