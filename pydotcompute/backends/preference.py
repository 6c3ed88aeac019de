"""Which backend is wanted: the names that are always accepted, and the order in which "auto" asks."""

from __future__ import annotations

from enum import StrEnum
from typing import Iterable

from . import registry


class BackendPreference(StrEnum):
    """The names that `get_backend` knows on every machine, whether or not the backend can run there."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    METAL = "metal"
    ROCM = "rocm"
    OPENCL = "opencl"
    WEBGPU = "webgpu"


class _Restored:
    """The order that was there before, for the end of a `with`."""

    def __init__(self, before: tuple[str, ...] | None):
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        registry.set_order(self._before)


def set_backend_priority(names: Iterable[str] | None) -> _Restored:
    """Let "auto" ask just these backends, in this order, and the CPU when none of them is available.

    Holds for every thread of this process from here on; as `with set_backend_priority([...]):`, until the end of the
    block. None: the default order again. Explicit names, arrays and calls of kernels are not concerned.
    Raises ValueError for a name that is unknown or stands there twice, and for an empty list.
    """
    if isinstance(names, str):
        raise TypeError(f"the priority is a list of names, got {names!r}; write [{names!r}]")
    order = None if names is None else tuple(str(name) for name in names)
    if order is not None:
        known = registry.all_names()
        if not order:
            raise ValueError("the priority names no backend; None means the default order")
        for k, name in enumerate(order):
            if name not in known:
                raise ValueError(f"there is no backend {name!r}; there are: {', '.join(known)}")
            if name in order[:k]:
                raise ValueError(f"the backend '{name}' stands twice in the priority")
    return _Restored(registry.set_order(order))
