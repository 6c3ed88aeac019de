"""Calls of declared kernels to be measured, the targets that they run on here, and how long one takes."""

from __future__ import annotations

from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, Callable, Iterator

from ..artifact import size_classes
from ..artifact.targets import backend_of
from ..backends.names import HOST

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..check.draw import Case
    from ..declare.model import Declaration, Kernel, Specialisation

LARGEST = 2**23  # bytes of the arrays of the largest calls, where a kernel declares no sizes
LAUNCHES = 10  # between two waits for a device


def runnable(declaration: Declaration) -> list[str]:
    """The declared targets that run here. Raises BackendNotAvailableError where there is none, with each one's
    reason."""
    from ..errors import BackendNotAvailableError

    lacking = {target: _lacking(target) for target in declaration.targets}
    if run := [target for target, why in lacking.items() if not why]:
        return run
    raise BackendNotAvailableError("; ".join(f"{target}: {why}" for target, why in lacking.items()))


def _lacking(target: str) -> str:
    """Why nothing for this target runs here; empty if it may."""
    from ..devices.registry import get_backend
    from ..errors import BackendNotAvailableError

    try:
        return get_backend(backend_of(target)).unfit(target)
    except BackendNotAvailableError as error:
        return str(error)


def cases_of(kernel: Kernel, one: Specialisation, directory: str) -> Iterator[Case]:
    """A call of each size that the kernel declares; else of the largest of each class, all dimensions alike. Raises
    DeclarationError where there are no arguments for one, or no such sizes."""
    import numpy as np

    from ..check import draw
    from ..errors import DeclarationError

    sizes = kernel.sizes.get("bench") or [*_by_class(kernel, one).values()]
    if not sizes:
        raise DeclarationError(
            f"no call of '{kernel.name}' with all dimensions alike is allowed", kernel.at, "add sizes: {bench: […]}"
        )
    for dims in sizes:
        with placing_faults(kernel):
            case = draw.draw(kernel, one, dims, np.random.default_rng(0), directory)
        yield case


@contextmanager
def placing_faults(kernel: Kernel) -> Iterator[None]:
    """Raises as DeclarationError what is raised inside of what the declaration gives for checks."""
    from ..check import faults
    from ..errors import DeclarationError

    try:
        yield
    except faults.Unmet as unmet:
        raise DeclarationError(unmet.why, kernel.positions[unmet.key], unmet.hint) from None
    except faults.FaultyDeclaration as fault:
        raise DeclarationError(fault.args[0], kernel.positions[fault.key]) from fault


def _by_class(kernel: Kernel, one: Specialisation) -> dict[int, dict[str, int]]:
    from ..artifact.dimensions import evaluate
    from ..artifact.signature import DTYPE_BYTES
    from ..check.sizes import allowed, complete, free_symbols

    types, found = dict(one.types), {}
    for power in range(LARGEST.bit_length()):
        dims = dict.fromkeys(free_symbols(kernel), 3 * 2**power)  # rows of powers of two meet in caches
        known = {**dict(one.params), **complete(kernel, dims)}
        if not allowed(kernel, one, dims):
            continue
        sizes = {}
        for p in kernel.signature.parameters:
            if p.is_array:
                leading = known["rows" if p.dims else "size"] if p.ellipsis else 1
                elements = leading * prod(evaluate(d, known) for d in p.dims or ())
                sizes[p] = elements * DTYPE_BYTES[types.get(p.dtype, p.dtype)]
        if sum(sizes.values()) > LARGEST:
            break
        found[size_classes.number(sum(size for p, size in sizes.items() if p.is_input))] = dims
    return found


def named_params(kernel: Kernel, one: Specialisation) -> dict[str, Any]:
    """Those of a specialisation that a call has to name."""
    return {name: value for name, value in one.params if len(kernel.params[name]) > 1}


def placed(backend: Backend, given: dict[str, Any]) -> dict[str, Any]:
    """The same arguments, arrays where the backend's calls take them."""
    import numpy as np

    if backend.name == HOST:
        return given
    return {n: backend.to_device(v) if isinstance(v, np.ndarray) else v for n, v in given.items()}


def timed_on(backend: Backend, call: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """Seconds of one call, and the spread; on a device of one of several, after which it is waited for."""
    from .kernels import timed

    if backend.name == HOST:
        return timed(call, seconds)

    def several() -> None:
        for _ in range(LAUNCHES):
            call()
        backend.synchronize()

    least, spread = timed(several, seconds)
    return least / LAUNCHES, spread
