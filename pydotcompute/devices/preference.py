"""Which backend is wanted: the names that are always accepted, and the order in which "auto" asks."""

from __future__ import annotations

from enum import StrEnum
from threading import RLock
from typing import Iterable
from weakref import ref

from ..artifact.machine import at_fork
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


_wishes: list[_Wish] = []  # in the order in which they were made; the last one counts
_lock = RLock()  # held for moments only, so a fork waits for it: the child finds it free
at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class _Wish:
    """An order that one call, or one block, asks for."""

    def __init__(self, order: tuple[str, ...] | None, priority: _Priority):
        self.order, self.priority = order, ref(priority)


class _Priority:
    """A priority that holds from now on; entered, until the end of the block. It can be entered again."""

    def __init__(self, order: tuple[str, ...] | None):
        self._order = order
        self._entered: list[_Wish] = []
        with _lock:
            # Of those that nobody can enter any more, the plain calls, just the last one counts.
            for wish in [wish for wish in _wishes if wish.priority() is None][:-1]:
                _wishes.remove(wish)
            self._called: _Wish | None = self._wish()

    def __enter__(self) -> None:
        with _lock:
            if self._called is not None:
                _wishes.remove(self._called)
                self._called = None
            self._entered.append(self._wish())

    def __exit__(self, *error: object) -> None:
        with _lock:
            _wishes.remove(self._entered.pop())
            registry.set_order(_wishes[-1].order if _wishes else None)

    def _wish(self) -> _Wish:
        wish = _Wish(self._order, self)
        _wishes.append(wish)
        registry.set_order(self._order)
        return wish


def set_backend_priority(names: Iterable[str] | None) -> _Priority:
    """Let "auto" ask just these backends, in this order, and the CPU when none of them is available.

    Holds for every thread of this process from here on; as `with set_backend_priority([...]):`, until the end of the
    block. The order that was asked for last counts, in whichever thread: the end of a block takes back its own order
    and no other, so a call without `with` outlives the blocks around it. None: the default order.
    Explicit names, arrays and calls of kernels are not concerned.
    Raises ValueError for a name that is unknown or stands there twice, and for an empty list.
    """
    if isinstance(names, str):
        raise TypeError(f"the priority is a list of names, got {names!r}; write [{names!r}]")
    order = None if names is None else tuple(registry.own_name(str(name)) for name in names)
    if order is not None:
        known = registry.all_names()
        if not order:
            raise ValueError("the priority names no backend; None means the default order")
        for k, name in enumerate(order):
            if name not in known:
                raise ValueError(f"there is no backend {name!r}; there are: {', '.join(known)}")
            if name in order[:k]:
                raise ValueError(f"the backend '{name}' stands twice in the priority")
    return _Priority(order)
