"""The Python path of a call: arguments → checked call → artifact → results. And the way onto the native path.

A kernel begins here. The first call of a specialisation loads its artifact and puts its native entry point in front,
so that later calls of that kind do not come by; those that it does not serve still do.
"""

from __future__ import annotations

import warnings
from _thread import RLock
from _weakref import ref
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Mapping

import numpy as np

from ..artifact.dtypes import dtype_name
from ..artifact.machine import at_fork
from ..artifact.targets import backend_of
from ..backends.base import Backend
from ..backends.names import HOST
from ..cache.manifest import KernelRecord, SpecialisationRecord
from ..devices.registry import get_backend, owner_of
from ..errors import ArtifactFallbackWarning, ArtifactRefusedError, KernelNotBuiltError
from .choice import Which, choose, require

if TYPE_CHECKING:
    from ..calls.arguments import Call
    from .tuned import Choice

Given = tuple[tuple[Any, ...], Mapping[str, Any]]  # the values of a call, by position and by name
_lock = RLock()  # one for all: a first call is rare, and nothing waits while it holds it


def _before_fork() -> None:
    """Import what calls on the host import when they need it first. A child would wait for ever for a module that
    another thread was importing when it was forked; this waits until it has done so."""
    import json  # noqa: F401
    from fcntl import fcntl  # noqa: F401

    from ..backends import faults  # noqa: F401
    from ..backends.cpu import kernel  # noqa: F401
    from ..cache.files import sha256
    from ..calls import arguments, words  # noqa: F401
    from . import transfer, tuned, vendor  # noqa: F401

    sha256(b"")  # which imports where that is


def _after_fork() -> None:
    """A child of a process that was just loading must not wait for a thread that it does not have."""
    global _lock
    _lock = RLock()


at_fork(before=_before_fork, after_in_child=_after_fork)


class Dispatcher:
    """Serves the calls of one kernel. `prepend` is told when a builtin function is to stand in front of `call`."""

    def __init__(self, record: KernelRecord, place: tuple[str, str], pinned: str | None):
        self.record, self.place, self.pinned = record, place, pinned  # place: the cache's folder, the root
        self.prepend: Callable[[Callable[..., Any]], None] = lambda function: None
        self.loaded: dict[tuple[str, Backend], Any] = {}  # (specialisation, backend) → what runs a checked call
        self.refused: dict[tuple[str, str, Backend], str] = {}  # (specialisation, target, backend) → why not loaded
        self._entry: Callable[[], Any] = lambda: None
        self.glanced = False
        self.tuned: dict[tuple[Any, ...], tuple[Choice, ...]] = {}  # (backend, dtypes) → by size class
        self.launch_cache: Any = None  # serves calls like an earlier one, or says NotImplemented
        self.poison: Callable[[str], Any] | None = None  # what scratch that has no fill is to hold, by dtype

    @property
    def entry(self) -> Any:
        """The native entry point, which serves all that are loaded on the host, as long as somebody holds its builtin
        function (backends/cpu/native.py); else None."""
        return self._entry()

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Check the arguments and run the kernel. Raises what language rules and missing artifacts demand."""
        if "stream" in kwargs:
            return self._call_on_stream(kwargs.pop("stream"), args, kwargs)
        if "backend" in kwargs:
            return self._call_on(kwargs.pop("backend"), args, kwargs)
        if self.launch_cache is not None and self.poison is None:
            result = self.launch_cache(args, kwargs)
            if result is not NotImplemented:
                return result
        if not self.glanced and self.poison is None:
            self.glanced = True
            if self._load_for(args) and (entry := self.entry) is not None:
                return entry.function(*args, **kwargs)  # which comes back here if it does not serve the call
        adopted = self._adopted(args, kwargs)
        if adopted:
            return self._call_adopted(adopted, args, kwargs)
        return self._by_rules(args, kwargs)

    def _by_rules(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], given: Given | None = None) -> Any:
        """A call with arrays of the backend's own. given: with those that they were taken from, which such a call is to
        be remembered by."""
        call, backend = self.checked(args, kwargs)
        call = call if self.poison is None else call._replace(poison=self.poison)
        key = (call.specialisation.name, backend)
        loaded = self.loaded.get(key)
        if loaded is None:
            loaded = self._load(call.specialisation, backend)
        if self.record.vendor:
            from . import vendor

            serve = vendor.function(self.record, backend, self.pinned)
            if serve is not None and vendor.is_faster(self.record, call, backend):
                return vendor.run(serve, self.record, call, backend, self._remember(loaded, args, kwargs, call, given))
        keep = self._remember(loaded, args, kwargs, call, given)
        return loaded(call, keep) if keep else loaded(call)

    def _remember(
        self, loaded: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], call: Call, given: Given | None
    ) -> Callable[..., None] | None:
        """Who keeps what this call works out, for others like it; None where the native entry serves those."""
        if not hasattr(loaded, "launch_cache"):
            return None
        self.launch_cache = self.launch_cache or loaded.launch_cache(self.record)
        return partial(self.launch_cache.remember, args, kwargs, call, given=given)

    def _adopted(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
        """Of the values for arrays that are arrays of packages which a backend does not know: (value, the same memory
        as an array of the backend's, what looks at those)."""
        parameters = self.record.signature.parameters
        scalars = {p.name for p in parameters if not p.in_memory}
        values = (*zip((p.name for p in parameters), args), *kwargs.items())
        owned = [(n, v, owner_of(v)) for n, v in values if n not in scalars]
        owners = {owner for _, _, owner in owned} - {""}
        if len(owners) != 1:
            return []  # of a mixture the rules say what is wrong
        arrays, found = get_backend(owners.pop()).arrays, []
        if not hasattr(arrays, "adopt"):
            return []
        for name, value, owner in owned:
            if not owner:
                continue
            try:
                own = arrays.adopt(value)
            except TypeError as error:
                raise TypeError(f"{self.record.name}: '{name}' {error}") from error
            if own is not value:
                found.append((value, own, arrays))
        return found

    def _call_adopted(
        self, adopted: list[tuple[Any, Any, Any]], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """The call with arrays of the backend's own; outputs that were given come back as they were."""
        values, arrays, (looks, *_) = zip(*adopted)
        own = dict(zip(map(id, values), arrays))
        given = dict(zip((p.name for p in self.record.signature.parameters), args), **kwargs)
        outputs = [given[p.name] for p in self.record.signature.outputs if p.name in given]
        theirs = {id(own[id(v)]): v for v in outputs if id(v) in own}
        entry = self.entry if looks is get_backend(HOST).arrays else None
        taken = tuple(own.get(id(v), v) for v in args)
        named = {n: own.get(id(v), v) for n, v in kwargs.items()}
        if entry is not None:
            result = entry.function(*taken, **named)
        elif self.poison is None and self.launch_cache and self.launch_cache.wants(args, kwargs):
            result = self._by_rules(taken, named, (args, kwargs))
        else:
            result = self.call(*taken, **named)
        looks.hand_back(values, arrays)
        if isinstance(result, tuple):
            return tuple(theirs.get(id(r), r) for r in result)
        return theirs.get(id(result), result)

    def _call_on_stream(self, stream: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """A call with `stream=`: on a stream of the device that its arrays are on, or go to."""
        if stream is None:
            return self.call(*args, **kwargs)
        backend = self._backend_of(args, kwargs)
        with backend.on_stream(stream):
            return self.call(*args, **kwargs)

    def _backend_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Backend:
        """Of a call whose values nobody has looked at yet."""
        if "backend" in kwargs:
            from .transfer import backend_named

            named = backend_named(self.record, kwargs["backend"])
            others = [v for v in (*args, *kwargs.values()) if owner_of(v) == named.name]
            return named.of_array(others[0]) if others else named
        values = zip((p.name for p in self.record.signature.parameters), args)
        return self._backend({**dict(values), **kwargs}, False)

    def _call_on(self, name: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """A call with `backend=`: on its own arrays a plain call, with host arrays one that moves them."""
        from ..calls import arguments
        from . import transfer

        record = self.record
        backend = transfer.backend_named(record, name)
        values, chosen = arguments.assign(record.name, record.signature, record.params, args, kwargs)
        owners = {owner_of(value) for value in values.values()} - {""}
        if backend.name != HOST and owners <= {HOST}:
            return transfer.run_on(backend, record, values, chosen, self.call)
        if owners - {backend.name}:
            raise ValueError(
                f"{record.name}: backend={name!r}, but there are arrays of the backend '{min(owners - {backend.name})}'"
            )
        return self.call(*args, **kwargs)

    def _load_for(self, args: tuple[Any, ...]) -> bool:
        """A glance at the first call: load the specialisation that its arrays mean, before anything is checked.

        Saves most programs the import of the rules. Whatever is not plain is left to them, all errors too.
        """
        record = self.record
        types: dict[str, str] = {}
        if record.by_size or self.pinned is not None and not get_backend(HOST).owns(self.pinned):
            return False
        for p, value in zip(record.signature.parameters, args):
            if p.is_array:
                if type(value) is not np.ndarray:
                    return False
                types.setdefault(p.dtype, dtype_name(value.dtype))
        defaults = {name: choices[0] for name, choices in record.params.items()}
        for specialisation in record.specialisations.values():
            if specialisation.params == defaults and all(types.get(k) == v for k, v in specialisation.types.items()):
                if record.reference and self._choose(specialisation, get_backend(HOST)).artifact is None:
                    return False
                try:
                    self._load(specialisation, get_backend(HOST))
                except KernelNotBuiltError:
                    return False  # unless the arguments are wrong, the rules come to the same
                return self.entry is not None
        return False

    def checked(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], moved: Backend | None = None
    ) -> tuple[Call, Backend]:
        """The call with everything checked but whether it is built; and the backend that its arrays belong to.

        moved: the backend that host arrays will be brought to, which a pinned target may be of."""
        from ..calls import arguments

        record = self.record
        values, chosen = arguments.assign(record.name, record.signature, record.params, args, kwargs)
        backend = self._backend(values, moved is not None)
        runs = moved if moved and backend.name == HOST else backend
        tuned = partial(self._tuned, runs) if record.by_size else None
        return arguments.check(record, values, chosen, backend.arrays, tuned), backend

    def _tuned(self, backend: Backend, types: dict[str, str], plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a call of these types with these arrays gets for the params that are tuned."""
        from . import tuned

        return tuned.of_call(self._by_size(backend, types), self.record, plain).params

    def _by_size(self, backend: Backend, types: Mapping[str, str]) -> tuple[Choice, ...]:
        """What calls of these types get, by size class."""
        from .tuned import choices

        key = (backend, *types.values())
        if key not in self.tuned:
            first = next((s for s in self.record.specialisations.values() if s.types == types), None)
            target = self._choose(first, backend).target if first else None
            self.tuned[key] = choices(self.record, types, target, backend.device_name)
        return self.tuned[key]

    def which(self, /, *args: Any, **kwargs: Any) -> Which:
        """The artifact that a call with these arguments would run, and why every other one would not."""
        named, moved = kwargs.pop("backend", None), None
        kwargs.pop("stream", None)
        if named is not None:
            from .transfer import backend_named

            moved = backend_named(self.record, named)
        call, backend = self.checked(args, kwargs, moved)
        if moved and backend.name == HOST:
            backend = moved  # the arrays would be moved there
        found = self._choose(call.specialisation, backend)
        if self.record.tune:
            found = found._replace(tuned=self._why(call, backend, {*kwargs}))
        if self._has_reference(found, backend):
            from .reference import reason

            return found._replace(reference=reason(found))
        if self.record.vendor and found.artifact:
            from . import vendor

            other = vendor.name(self.record, backend, self.pinned)
            if other and vendor.is_faster(self.record, call, backend):
                return found.handed_to(other, vendor.when(self.record, backend))
            if backend.vendor and (lacking := backend.vendor_lacks()):
                return found.without(f"{backend.vendor}.{self.record.vendor}", lacking)
        return found

    def _why(self, call: Call, backend: Backend, named: set[str]) -> str:
        """Which values the params have that are tuned, and why."""
        from .tuned import Choice, of_call

        types, params = call.specialisation.types, call.specialisation.params
        own = {name: params[name] for name in self.record.tune}
        if named.intersection(own):
            return str(Choice(own, "as the call says"))
        if not self.record.by_size:
            return str(Choice(own, "the first declared, as nothing was measured"))
        return str(of_call(self._by_size(backend, types), self.record, call.values))

    def _backend(self, values: Mapping[str, Any], moved: bool) -> Backend:
        owners: dict[str, str] = {}
        for p in self.record.signature.parameters:
            if p.in_memory and p.name in values:
                owner = owner_of(values[p.name])
                if owner:
                    owners.setdefault(owner, p.name)
        if len(owners) > 1:
            (one, first), (other, second) = list(owners.items())[:2]
            raise ValueError(
                f"{self.record.name}: '{second}' is an array of the backend '{other}', but '{first}' of '{one}'"
            )
        pinned = backend_of(self.pinned) if self.pinned else None
        for owner, name in owners.items():
            if pinned not in (None, owner) and not (moved and owner == HOST):
                raise ValueError(
                    f"{self.record.name}: '{name}' is an array of the backend '{owner}', but the target "
                    f"{self.pinned} is pinned" + (f"; backend='{pinned}' moves it there" if owner == HOST else "")
                )
            return get_backend(owner).of_array(values[name])
        return get_backend(pinned or HOST)

    def _load(self, specialisation: SpecialisationRecord, backend: Backend) -> Any:
        key = (specialisation.name, backend)
        with _lock:
            if key in self.loaded:
                return self.loaded[key]
            loaded = self.loaded[key] = self._load_best(specialisation, backend)
            if hasattr(loaded, "bind"):
                self._bind(specialisation, loaded)
            return loaded

    def _load_best(self, specialisation: SpecialisationRecord, backend: Backend) -> Any:
        """The artifact that comes first of those that load; which ones do not is said."""
        told: list[str] = []
        while True:
            which = self._choose(specialisation, backend)
            if self._has_reference(which, backend):
                from .reference import Reference, tell

                tell(which, self.place[0])
                return Reference(self.record, self.place[0])
            artifact = require(which)
            try:
                loaded = backend.load_kernel(artifact)
            except ArtifactRefusedError as error:
                self.refused[specialisation.name, artifact.target, backend] = f"it cannot be loaded ({error.__cause__})"
                if self._choose(specialisation, backend).artifact is None:
                    raise
                told.append(str(error))
                continue
            for text in told:
                warnings.warn(f"{text}\n  {artifact} serves in its place", ArtifactFallbackWarning, stacklevel=5)
            return loaded

    def _has_reference(self, which: Which, backend: Backend) -> bool:
        """Whether the kernel's declared reference serves a call for which there is no artifact."""
        if which.artifact is not None or self.pinned is not None or backend.name != HOST:
            return False
        return bool(self.record.reference)

    def _choose(self, specialisation: SpecialisationRecord, backend: Backend) -> Which:
        wanted = specialisation.name, backend
        refused = {target: why for (name, target, b), why in self.refused.items() if (name, b) == wanted}
        return choose(self.record, specialisation, backend, self.pinned, self.place, refused)

    def _bind(self, specialisation: SpecialisationRecord, loaded: Any) -> None:
        """Let the kernel's native entry point find it."""
        serve = None
        if self.record.vendor:
            from . import vendor

            serve = vendor.function(self.record, get_backend(HOST), self.pinned)
        known = self.entry
        by_size = self._by_size(get_backend(HOST), specialisation.types) if self.record.by_size else ()
        preferred = [choice.params for choice in by_size]
        entry = loaded.bind(known, self.record, specialisation, self.call, serve, preferred)
        if known is None and entry is not None:
            self._entry = ref(entry)
            self.prepend(entry.function)
