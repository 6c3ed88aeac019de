"""Calls that a library of the hardware's vendor serves faster: NumPy's and CuPy's functions, which call a BLAS.

A kernel declares the function and the sizes (`vendor:` in kernels.yaml). A pinned target means that target's own
code, so then nobody else is asked. CuPy does not bring cuBLAS: without it the kernel serves, and `which()` says so.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Callable

from ..artifact.dimensions import evaluate
from ..cache.manifest import KernelRecord

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..calls.arguments import Call

MODULES = {"cpu": "numpy", "cuda": "cupy"}


def name(record: KernelRecord, backend: str, pinned: str | None) -> str:
    """The function that some calls on this backend go to, `numpy.matmul`; empty if there is none."""
    if not record.vendor or pinned is not None or backend not in MODULES or missing(backend):
        return ""
    return f"{MODULES[backend]}.{record.vendor}"


@cache
def missing(backend: str) -> str:
    """The library that a vendor's function of this backend needs and does not find; empty if all is there."""
    if backend != "cuda":
        return ""  # NumPy brings its own
    try:
        from cupy_backends.cuda.libs import cublas  # noqa: F401
    except ImportError:
        return "cuBLAS"
    return ""


def function(record: KernelRecord, backend: str, pinned: str | None) -> Callable | None:
    """That function itself."""
    from importlib import import_module

    module, _, attribute = name(record, backend, pinned).partition(".")
    return getattr(import_module(module), attribute) if module else None


def is_faster(record: KernelRecord, call: Call, backend: str) -> bool:
    """Whether the declaration says so for the sizes of this call."""
    if backend == "cuda" and _elements(call) == 1:
        return False  # CuPy has no library for a product of one element: it would compile a sum
    if record.vendor_when is None:
        return True
    return bool(evaluate(record.vendor_when, {**call.dims, **call.specialisation.params}))


def _elements(call: Call) -> int:
    """Of the output."""
    (name,) = (p.name for p in call.specialisation.parameters if p.role == "out")
    size = 1
    for n in call.missing[name] if name in call.missing else call.values[name].shape:
        size *= n
    return size


def run(serve: Callable, record: KernelRecord, call: Call, backend: Backend, keep: Callable | None = None) -> Any:
    """A checked call, served by the vendor's function. `keep` is told what `Again.remember` wants to know."""
    *inputs, output = (p.name for p in call.specialisation.parameters)
    with backend.running(record.name):
        values, finish = call.complete()
        serve(*(values[name] for name in inputs), out=values[output])
        if keep:
            keep({"arguments": (), "scratch": (), "launches": ()}, backend, (), (), serve)
    return finish()
