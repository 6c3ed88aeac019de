"""Arrays from one backend to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.base import Backend
from ..backends.names import HOST
from .registry import get_backend, in_use, owner_of


def backend_of(array: Any) -> Backend:
    """The backend that an array belongs to, of the device that it lies on.

    Raises TypeError for what is not an array of any backend in use.
    """
    return _found(array)[0]


def _found(array: Any) -> tuple[Backend, np.ndarray | None]:
    """The backend of an array; its values too, where to ask for them was the one way to know."""
    if owner := owner_of(array):
        return get_backend(owner).of_array(array), None
    for backend in in_use():
        if backend.arrays is None:  # it has no other word for what is its own than that it gives the values
            try:
                return backend, backend.to_host(array)
            except (TypeError, AttributeError):
                pass
    raise TypeError(f"{type(array).__name__} is not an array of any backend in use; np.asarray makes a NumPy array")


def to_backend(array: Any, name: str | Backend = "cpu") -> Any:
    """The array on the backend of this name: itself if it is there already, else a copy; `array` stays as it is.
    A backend itself, in place of a name, means its device.

    Between two backends the values go by way of the host, once work that is pending on them is done.
    Raises TypeError for what is no array, BackendNotAvailableError, AllocationError where the memory is too small.
    """
    wanted = name if isinstance(name, Backend) else get_backend(name)
    source, values = _found(array)
    same = source.name == wanted.name
    if same and (isinstance(name, str) or wanted.of_array(array) is wanted):
        return array
    if values is None:
        values = array if same or source.name == HOST else source.to_host(array)
    return values if wanted.name == HOST else wanted.to_device(values)
