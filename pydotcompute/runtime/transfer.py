"""`backend="cuda"`: a call with host arrays, run on another backend. Inputs go there, what was written comes back."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from ..backends.base import Backend
from ..cache.manifest import KernelRecord
from ..calls import arguments, arrays
from ..devices.registry import get_backend


def backend_named(record: KernelRecord, name: Any) -> Backend:
    """The backend of a call's `backend=`. Raises ValueError, BackendNotAvailableError, TypeError."""
    if not isinstance(name, str):
        raise TypeError(f"{record.name}: backend must be a name such as 'cpu' or 'cuda', got {type(name).__name__}")
    backend = get_backend(name)
    if backend.arrays is None:
        raise ValueError(f"{record.name}: the backend '{backend.name}' does not run built artifacts")
    return backend


def run_on(
    backend: Backend, record: KernelRecord, values: Mapping[str, Any], chosen: Mapping[str, Any],
    call: Callable[..., Any],
) -> Any:  # fmt: skip
    """Check a call as one of host arrays, run it on `backend` through `call`, return host arrays and scalars.

    Raises what the call would raise on the host.
    """
    checked = arguments.check(record, values, chosen, arrays)
    moved: dict[str, Any] = {}
    for p in checked.specialisation.parameters:
        if p.name in checked.values:
            array = p.in_memory
            moved[p.name] = backend.to_device(checked.values[p.name]) if array else values[p.name]
    if not any(p.in_memory and p.name in moved for p in checked.specialisation.parameters):
        # No array would say where it runs: outputs do.
        made = [p for p in checked.specialisation.parameters if p.role == "out"]
        moved |= {p.name: backend.arrays.empty(checked.missing[p.name], p.dtype) for p in made}
    results = call(**moved, **chosen)
    outputs = [p.name for p in record.signature.outputs]
    returned = dict(zip(outputs, results if len(outputs) > 1 else (results,)))
    for p in checked.specialisation.parameters:
        if p.writable and p.name in checked.values:
            checked.values[p.name][...] = backend.to_host(moved[p.name])
    final = [
        checked.given[p.name] if p.name in checked.given else _host(backend, returned[p.name], p.is_array)
        for p in record.signature.outputs
    ]
    return None if not final else final[0] if len(final) == 1 else tuple(final)


def _host(backend: Backend, value: Any, is_array: bool) -> Any:
    array = backend.to_host(value)
    return array if is_array else array[()]
