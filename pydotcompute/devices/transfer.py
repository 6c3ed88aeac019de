"""Arrays from one backend to another."""

from __future__ import annotations

from typing import Any

from ..backends.base import Backend
from ..backends.names import HOST
from .registry import get_backend, owner_of


def backend_of(array: Any) -> Backend:
    """The backend that an array belongs to, of the device that it lies on.

    Raises TypeError for what is not an array of any backend in use.
    """
    owner = owner_of(array)
    if not owner:
        raise TypeError(f"{type(array).__name__} is not an array of any backend in use; np.asarray makes a NumPy array")
    return get_backend(owner).of_array(array)


def to_backend(array: Any, name: str | Backend = "cpu") -> Any:
    """The array on the backend of this name: itself if it is there already, else a copy; `array` stays as it is.
    A backend itself, in place of a name, means its device.

    Between two backends the values go by way of the host, once work that is pending on them is done.
    Raises TypeError for what is no array, BackendNotAvailableError, AllocationError where the memory is too small.
    """
    wanted = name if isinstance(name, Backend) else get_backend(name)
    source = backend_of(array)
    same = source.name == wanted.name
    if same and (isinstance(name, str) or wanted.of_array(array) is wanted):
        return array
    values = array if same or source.name == HOST else source.to_host(array)
    return values if wanted.name == HOST else wanted.to_device(values)
