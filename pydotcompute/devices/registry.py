"""Which backends there are: built in, registered by the program, or brought by installed packages."""

from __future__ import annotations

import re
import warnings
from _thread import RLock
from importlib import import_module
from typing import Any, Callable, NamedTuple

import numpy as np

from ..artifact.machine import at_fork
from ..backends.base import Backend
from ..backends.names import ALIASES, HOST, KNOWN, recognised
from ..calls import foreign
from ..errors import AllocationError, BackendFallbackWarning, BackendNotAvailableError

DEFAULT_PRIORITY = 50


class Registered(NamedTuple):
    factory: Callable[[], Backend]
    priority: int  # "auto" asks the highest first
    origin: str  # "built in", "registered", or the package that brings it


def own_class(name: str) -> type[Backend] | None:
    """The class of a backend of ours, imported when it is first asked for; None for all other names."""
    if name not in KNOWN or not KNOWN[name].home:
        return None
    module, _, attribute = KNOWN[name].home.partition(":")
    return getattr(import_module(f"..backends.{module}", __package__), attribute)


def _own(name: str) -> Callable[[], Backend]:
    return lambda: own_class(name)()  # type: ignore[misc]  # it is one of ours


_registered: dict[str, Registered] = {
    name: Registered(_own(name), known.priority, "built in") for name, known in KNOWN.items() if known.home
}
_instances: dict[str, Backend] = {}
_packages_read = False
_refused: list[tuple[str, str, str]] = []  # see refused
_order: tuple[str, ...] | None = None  # see preference.set_backend_priority
_told: set[tuple] = set()

_lock = RLock()  # held while a backend is made, by a factory that may ask for other backends


def _after_fork() -> None:
    """A child of a process that was just making a backend must not wait for a thread that it does not have."""
    global _lock
    _lock = RLock()


at_fork(after_in_child=_after_fork)


def register_backend(name: str, factory: Callable[[], Backend], priority: int | None = None) -> None:
    """Make a backend known. `factory` is called once, when the backend is first asked for.

    priority: "auto" asks the highest first; "cuda" has 100, "cpu" 0. Default: 50; for the names rocm, metal, opencl
    and webgpu the places 90, 80, 70 and 60 that are kept for them. Raises ValueError if the name is taken or is no
    lower-case name, TypeError if the factory cannot be called or the priority is no integer.
    """
    if refusal := _refusal(name):
        raise ValueError(refusal)
    if not callable(factory):
        raise TypeError(f"the factory of backend '{name}' must be callable, got {type(factory).__name__}")
    place = _place(name) if priority is None else _integer("priority", priority)
    _registered[name] = Registered(factory, place, "registered")


def unregister_backend(name: str) -> None:
    """Forget a backend that `register_backend` or a package brought. Raises ValueError for any other."""
    if not isinstance(name, str) or name not in _known():
        raise ValueError(no_such(name))
    if _registered[name].origin == "built in":
        raise ValueError(f"the backend '{name}' is built in")
    del _registered[name]
    _instances.pop(name, None)


def get_backend(name: str = "auto", require_bytes: int | None = None) -> Backend:
    """The backend of this name, always the same object; "auto": the first available by priority, the CPU last; one
    whose device is the processor itself (`on_processor`), which "cpu" serves, is passed over without a word.

    require_bytes: memory that must be free there; "auto" takes the next that has as much.
    Raises TypeError for what is no name, ValueError for an unknown one, BackendNotAvailableError with the reason if it
    cannot run here, AllocationError with both figures if its memory (with "auto": everyone's) is too small, or without
    its own if it cannot tell. Otherwise "auto" raises nothing, and warns (BackendFallbackWarning) where it passes over
    one: once for each set of backends that it passes over, and why.
    """
    if not isinstance(name, str):
        raise TypeError(f"a backend is asked for by its name, such as 'cpu' or 'auto', got {name!r}")
    if require_bytes is not None:
        require_bytes = _integer("require_bytes", require_bytes)
        if require_bytes < 0:
            raise ValueError(f"require_bytes must be at least 0, got {require_bytes}")
    if name == "auto":
        return _first_available(require_bytes)
    name = own_name(name)
    if name not in _registered and name not in _known() and name not in KNOWN:
        raise ValueError(no_such(name))
    backend = _instance(name)
    if require_bytes is not None:
        from .memory import lack

        reason, cause = lack(backend, require_bytes)
        if reason:
            raise AllocationError(f"the backend '{name}' {reason}") from cause
    return backend


def own_name(name: str) -> str:
    """The name that a backend has, by it or by another word for it."""
    return name if name in _registered else ALIASES.get(name, name)


def backend_names() -> list[str]:
    """Every known backend, by priority."""
    known = _known()
    return sorted(known, key=lambda name: -known[name].priority)


def owner_of(value: Any) -> str:
    """The name of the backend that an array belongs to: one of ours by its kind, else one in use that says so; empty
    for what is no array of any of them."""
    if isinstance(value, np.ndarray):
        return HOST
    if name := recognised(value):
        return name
    for name, backend in list(_instances.items()):
        if name != HOST and backend.arrays is not None and backend.arrays.owns(value):
            return name
    return HOST if foreign.owns(value) else ""


def in_use() -> list[Backend]:
    """The backends that have been made."""
    return list(_instances.values())


def all_names() -> list[str]:
    """Every known backend, and those that only have a name yet, by priority."""
    places = {name: known.priority for name, known in KNOWN.items()}
    places |= {name: registered.priority for name, registered in _known().items()}
    return sorted(places, key=lambda name: -places[name])


def preferred_names() -> list[str]:
    """The backends in the order in which "auto" asks them now; a set order may have names that have no backend."""
    return backend_names() if _order is None else list(dict.fromkeys((*_order, HOST)))


def set_order(order: tuple[str, ...] | None) -> None:
    """Replace the order of `preferred_names`; None: the default."""
    global _order
    _order = order


def describe(name: str) -> tuple[str, str]:
    """How a summary calls a backend, and of which kind it is: ("CUDA", "CUDA"), ("mine", "registered")."""
    origin = _registered[name].origin if name in _registered else ""
    title = KNOWN[name].title if name in KNOWN else name
    return title, title if origin in ("", "built in") else origin


def refused() -> list[tuple[str, str, str]]:
    """What installed packages bring that cannot be used: the name, where it comes from, and why."""
    _known()
    return list(_refused)


def _refusal(name: Any) -> str:
    """Why nothing can be registered under this name; empty if it can."""
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "auto":
        return f"a backend's name is of lower-case letters, digits and underscores, and not 'auto'; got {name!r}"
    if name in _registered:
        return f"a backend '{name}' is registered already ({_registered[name].origin})"
    return ""


def _place(name: str) -> int:
    return KNOWN[name].priority if name in KNOWN else DEFAULT_PRIORITY


def not_yet(name: str) -> str:
    """Why a name that a place is kept for has no backend; empty if it has one."""
    return "" if name in _registered or name in _known() else _not_yet(name)


def _not_yet(name: str) -> str:
    if name not in KNOWN:
        return f"there is no backend '{name}' any more"
    built = KNOWN[name].built
    waits = f"it waits for a machine to be tried on: artifacts for {built} can be built, nothing here runs them; "
    return (
        f"this version of pydotcompute has no {KNOWN[name].title} backend; {waits if built else ''}one may be brought "
        f"by a package or by register_backend('{name}', …)"
    )


def _integer(what: str, value: Any) -> int:
    from operator import index

    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, got {value!r}") from None


def _instance(name: str) -> Backend:
    backend = _instances.get(name)
    if backend is None:
        with _lock:
            backend = _instances.get(name)
            if backend is None:
                backend = _instances[name] = _made(name)
    return backend


def _made(name: str) -> Backend:
    registered = _registered.get(name) or _known().get(name)
    if registered is None:
        raise BackendNotAvailableError(_not_yet(name))
    try:
        backend = registered.factory()
        available = isinstance(backend, Backend) and backend.is_available
        called = backend.name if available else name
    except BackendNotAvailableError:
        raise
    except (Exception, SystemExit) as error:  # somebody else's code does not end the program
        told = f"the backend '{name}' cannot be made: {type(error).__name__}: {error}"
        raise BackendNotAvailableError(told) from error
    if not isinstance(backend, Backend):
        raise BackendNotAvailableError(f"the backend '{name}' is a {type(backend).__name__}, which is not a Backend")
    if not available:
        raise BackendNotAvailableError(f"the backend '{name}' is not available here")
    if called != name:
        told = f"the backend registered as '{name}' calls itself {called!r}: targets and moves of arrays go by that"
        warnings.warn(told, stacklevel=4)
    return backend


def _first_available(require_bytes: int | None) -> Backend:
    passed: list[tuple[str, str, str]] = []  # name, in what way it is lacking, the whole reason
    unknown: BaseException | None = None
    for name in preferred_names():
        try:
            backend = _instance(name)
        except BackendNotAvailableError as error:
            passed.append((name, "not available", str(error)))
            continue
        if backend.on_processor:
            continue
        if require_bytes is not None:
            from .memory import lack

            reason, cause = lack(backend, require_bytes)
            if reason:
                passed.append((name, "of unknown memory" if cause else "too small", reason))
                unknown = unknown or cause
                continue
        # Told once for each way to come here: figures of memory differ from call to call.
        way = (name, *((other, kind) for other, kind, _ in passed))
        if passed and way not in _told:
            _told.add(way)
            kinds = " or ".join(dict.fromkeys(kind for _, kind, _ in passed))
            told = f"the backend 'auto' is '{name}', because others are {kinds} ({_reasons(passed)})"
            warnings.warn(told, BackendFallbackWarning, stacklevel=3)
        return backend
    raise AllocationError(f"no backend has the memory: {_reasons(passed)}") from unknown


def _reasons(passed: list[tuple[str, str, str]]) -> str:
    return "; ".join(f"{name}: {reason}" for name, _, reason in passed)


def _known() -> dict[str, Registered]:
    """Those of installed packages too; looking for them costs some 50 ms, once."""
    global _packages_read
    if not _packages_read:
        with _lock:
            if not _packages_read:
                from .packages import brought

                for name, origin, factory, problem in list(brought()):
                    if problem := problem or _refusal(name):
                        _refused.append((name, origin, problem))
                    else:
                        assert factory is not None  # else there is a problem
                        _registered[name] = Registered(factory, _place(name), origin)
                _packages_read = True
    return _registered


def no_such(name: object) -> str:
    """That there is no backend of this name, and which there are."""
    return f"there is no backend {name!r}; there are: auto, {', '.join(all_names())}"
