"""Which backends there are: built in, registered by the program, or brought by installed packages."""

from __future__ import annotations

import re
import warnings
from typing import Any, Callable, NamedTuple

from ..errors import BackendFallbackWarning, BackendNotAvailableError
from .base import Backend

ENTRY_POINTS = "pydotcompute.backends"
DEFAULT_PRIORITY = 50


class Registered(NamedTuple):
    factory: Callable[[], Backend]
    priority: int  # "auto" asks the highest first
    origin: str  # "built in", "registered", or the package that brings it


def _cpu() -> Backend:
    from .cpu import CPUBackend

    return CPUBackend()


def _cuda() -> Backend:
    try:
        from .cuda import CUDABackend
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.cuda":
            raise
        raise BackendNotAvailableError("this version of pydotcompute has no CUDA backend") from None
    return CUDABackend()


_registered: dict[str, Registered] = {
    "cuda": Registered(_cuda, 100, "built in"),
    "cpu": Registered(_cpu, 0, "built in"),
}
_instances: dict[str, Backend] = {}
_packages_read = False
_told: set[str] = set()


def register_backend(name: str, factory: Callable[[], Backend], priority: int = DEFAULT_PRIORITY) -> None:
    """Make a backend known. `factory` is called once, when the backend is first asked for.

    priority: "auto" asks the highest first; "cuda" has 100, "cpu" 0. Raises ValueError if the name is taken or is no
    lower-case name, TypeError if the factory cannot be called.
    """
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "auto":
        raise ValueError(f"a backend's name is of lower-case letters, digits and underscores, not {name!r}")
    if not callable(factory):
        raise TypeError(f"the factory of backend '{name}' must be callable, got {type(factory).__name__}")
    if name in _registered:
        raise ValueError(f"a backend '{name}' is registered already ({_registered[name].origin})")
    _registered[name] = Registered(factory, int(priority), "registered")


def unregister_backend(name: str) -> None:
    """Forget a backend that `register_backend` or a package brought. Raises ValueError for any other."""
    if name not in _known():
        raise ValueError(_unknown(name))
    if _registered[name].origin == "built in":
        raise ValueError(f"the backend '{name}' is built in")
    del _registered[name]
    _instances.pop(name, None)


def get_backend(name: str = "auto") -> Backend:
    """The backend of this name, always the same object; "auto": the first available by priority, the CPU last.

    Raises ValueError for an unknown name, BackendNotAvailableError with the reason if it cannot run here. "auto"
    raises nothing, and warns once (BackendFallbackWarning) where it passes over one.
    """
    if name == "auto":
        return _first_available()
    if name not in _registered and name not in _known():
        raise ValueError(_unknown(name))
    return _instance(name)


def backend_names() -> list[str]:
    """Every known backend, by priority."""
    known = _known()
    return sorted(known, key=lambda name: -known[name].priority)


def owner_of(value: Any) -> str:
    """The name of a backend in use that has `value` among its arrays; empty if none has."""
    for name, backend in list(_instances.items()):
        if backend.arrays is not None and backend.arrays.owns(value):
            return name
    return ""


def _instance(name: str) -> Backend:
    if name in _instances:
        return _instances[name]
    try:
        backend = _registered[name].factory()
    except BackendNotAvailableError:
        raise
    except Exception as error:
        raise BackendNotAvailableError(f"the backend '{name}' cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(backend, Backend):
        raise BackendNotAvailableError(f"the backend '{name}' is a {type(backend).__name__}, which is no Backend")
    if not backend.is_available:
        raise BackendNotAvailableError(f"the backend '{name}' is not available here")
    return _instances.setdefault(name, backend)


def _first_available() -> Backend:
    passed = []
    for name in backend_names():
        try:
            backend = _instance(name)
        except BackendNotAvailableError as error:
            passed.append(f"{name}: {error}")
            continue
        if passed and name not in _told:
            _told.add(name)
            told = f"the backend 'auto' is '{name}', because others are not available ({'; '.join(passed)})"
            warnings.warn(told, BackendFallbackWarning, stacklevel=3)
        return backend
    raise AssertionError("the CPU is always there")


def _known() -> dict[str, Registered]:
    """Those of installed packages too; looking for them costs some 20 ms, once."""
    global _packages_read
    if not _packages_read:
        _packages_read = True
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINTS):
            package = point.dist.name if point.dist else point.value
            _registered.setdefault(point.name, Registered(_loader(point), DEFAULT_PRIORITY, f"from {package}"))
    return _registered


def _loader(point: Any) -> Callable[[], Backend]:
    return lambda: point.load()()


def _unknown(name: object) -> str:
    return f"there is no backend {name!r}; there are: auto, {', '.join(backend_names())}"
