"""Calls that a library of the hardware's vendor serves faster: NumPy's and CuPy's functions, which call a BLAS.

A kernel declares the function and the sizes (`vendor:` in kernels.yaml). A pinned target means that target's own
code, so then nobody else is asked. CuPy does not bring cuBLAS: without it the kernel serves, and `which()` says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ..artifact.dimensions import Tree, evaluate
from ..backends.names import HOST
from ..cache.manifest import KernelRecord

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..calls.arguments import Call


def name(record: KernelRecord, backend: Backend, pinned: str | None) -> str:
    """The function that some calls on this backend go to, `numpy.matmul`; empty if there is none."""
    if not record.vendor or pinned is not None or not backend.vendor or backend.vendor_lacks():
        return ""
    return f"{backend.vendor}.{record.vendor}"


def function(record: KernelRecord, backend: Backend, pinned: str | None) -> Callable[..., Any] | None:
    """That function itself."""
    from importlib import import_module

    module, _, attribute = name(record, backend, pinned).partition(".")
    found: Callable[..., Any] | None = getattr(import_module(module), attribute) if module else None
    return found


def is_faster(record: KernelRecord, call: Call, backend: Backend) -> bool:
    """Whether the declaration says so for the sizes of this call."""
    if _elements(call) < backend.vendor_least:
        return False
    condition = when(record, backend)
    return condition is None or bool(evaluate(condition, {**call.dims, **call.specialisation.params}))


def when(record: KernelRecord, backend: Backend) -> Tree | None:
    """The condition that the declaration has for this backend; None: always."""
    on_device = None if backend.name == HOST else record.vendor_on_device
    return record.vendor_when if on_device is None else on_device


def _elements(call: Call) -> int:
    """Of the output."""
    (name,) = (p.name for p in call.specialisation.parameters if p.role == "out")
    size = 1
    for n in call.missing[name] if name in call.missing else call.values[name].shape:
        size *= n
    return size


def run(
    serve: Callable[..., Any], record: KernelRecord, call: Call, backend: Backend,
    keep: Callable[..., None] | None = None,
) -> Any:  # fmt: skip
    """A checked call, served by the vendor's function. `keep` is told what `LaunchCache.remember` wants to know."""
    *inputs, output = (p.name for p in call.specialisation.parameters)
    with backend.running(record.name):
        values, finish = call.complete()
        serve(*(values[name] for name in inputs), out=values[output])
        if keep:
            keep(backend, vendor=serve)
    return finish()
