"""The kernels of a project or a bundle, and opening one."""

from __future__ import annotations

import os
import warnings
from time import monotonic
from typing import Any, Iterator, Mapping

from ..artifact import remedies
from ..artifact.identity import title
from ..cache import manifest
from ..cache.layout import MANIFEST
from ..cache.records import Kernels
from ..calls import settings
from ..devices.pinned import target as pinned_target
from ..devices.registry import in_use
from ..errors import KernelNotBuiltError, StaleArtifactWarning
from .kernel import Kernel
from .origin import Origin

SECONDS_BETWEEN_LOOKS = 0.25
State = tuple[int, int, int]  # of a manifest: who writes another one puts another file in its place

_open: dict[tuple[object, ...], KernelLibrary] = {}  # the last of each, by folder, target and strictness
_warned: set[tuple[str, str]] = set()


class KernelLibrary:
    """The kernels of one project or bundle: `lib.saxpy`, `lib["saxpy"]`, `list(lib)`, `"saxpy" in lib`."""

    def __init__(self, kernels: Kernels, origin: Origin, state: State | None = None):
        self._kernels, self._origin, self._state = kernels, origin, state
        self._opened: dict[str, Kernel] = {}
        self._look_at, self._told = 0.0, state

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(f"a library of kernels has no attribute '{name}'")
        try:
            # Of a bundle, which is not built where it lies, an opened kernel stands in `__dict__`: nobody comes here.
            if monotonic() < self._look_at:
                return self._opened[name]
        except KeyError:
            pass
        try:
            return self._kernel(name)
        except KeyError:
            raise AttributeError(self._unknown(name), name=name, obj=self) from None

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernel(name)
        except KeyError:
            raise KeyError(self._unknown(name)) from None

    def _kernel(self, name: str) -> Kernel:
        """Raises KeyError."""
        origin, kernels, opened = self._origin, self._kernels, self._opened
        if origin.is_project and monotonic() >= self._look_at:
            self._tell_of_changes()
        if name not in opened:
            if name not in kernels:
                raise KeyError(name)
            record = manifest.kernel_record(kernels, name, origin.folder, origin.root)
            kernel = opened.setdefault(name, Kernel(record, origin, kernels.digests[name]))
            if not origin.is_project and not hasattr(type(self), name):
                self.__dict__[name] = kernel
                if self._opened is not opened:  # another thread has reloaded it meanwhile
                    self.__dict__.pop(name, None)
        return opened[name]

    def _tell_of_changes(self) -> None:
        """Warn, once, where the manifest is another one than that which was opened. Not every access looks."""
        self._look_at = monotonic() + SECONDS_BETWEEN_LOOKS
        state = _state(self._origin.folder)
        if None not in (state, self._state) and state not in (self._state, self._told):
            self._told = state
            warnings.warn(
                f"the kernels of {self._origin.root} were built again after this library was opened, which goes on "
                "with the earlier ones; its reload() takes those that are built now",
                StaleArtifactWarning, stacklevel=4,
            )  # fmt: skip

    def reload(self) -> KernelLibrary:
        """Take what is built now, and return the library. Kernels that were taken from it before stay what they are.

        Raises what `load` raises; then it stays as it was.
        """
        kernels, state = _read(self._origin)
        before = self._opened
        self._kernels, self._state, self._opened = kernels, state, {}
        for name in [*before]:
            self.__dict__.pop(name, None)
        _open[self._origin.key] = self
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __dir__(self) -> list[str]:
        return list(self._kernels)

    def __repr__(self) -> str:
        pinned = f", target {self._origin.pinned}" if self._origin.pinned else ""
        return f"<{len(self)} kernel{'s' * (len(self) != 1)} of {self._origin.root}{pinned}: {', '.join(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._origin.reopen, self._origin.sent

    def raise_faults(self) -> None:
        """Wait for the devices that calls have gone to, and raise the first index outside of its array that a kernel
        has met there; nothing if there is none. On the host calls raise theirs themselves; on devices, where they do
        not wait, the next call does, `to_host` and `synchronize` of the backend, and this.

        Raises IndexError, with the kernel's line and the values.
        """
        for backend in in_use():
            backend.raise_faults()

    def _unknown(self, name: object) -> str:
        from difflib import get_close_matches

        close = get_close_matches(str(name), list(self), 1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(self) or 'none'}"
        return f"{self._origin.root} has no kernel '{name}'; {hint}"


def load(path: str | os.PathLike[str], target: str | None = None, strict: bool = False) -> KernelLibrary:
    """The kernels that are built in a project (its `build/cache`), a cache or a bundle.

    target: the only target to use, such as "cpu:x86-64-v2" (default: PYDOTCOMPUTE_TARGET, else the best of each
    call). strict: refuse artifacts that a failed or unfinished build left behind, instead of warning once
    (StaleArtifactWarning). Nothing is built, and no artifact is loaded before its first call.
    Raises KernelNotBuiltError, with the command that helps, where there is no usable manifest; ValueError for a
    wrong target or PYDOTCOMPUTE_THREADS.
    """
    folder, root = manifest.find(os.path.abspath(os.fspath(path)))
    origin = Origin(folder, root, pinned_target(target), strict, reopened)
    settings.threads()
    known = _open.get(origin.key)
    if known is None or known._state is None or known._state != _state(folder):
        kernels, state = _read(origin)
        known = _open[origin.key] = KernelLibrary(kernels, origin, state)
    return known


def reopened(module: str, *arguments: Any) -> KernelLibrary:
    """The library of which `Origin.sent` of another process tells."""
    if not module:
        return load(*arguments)
    from importlib import import_module

    _, pinned, strict = arguments
    return limited(import_module(module).__library__, pinned, strict)


def limited(opened: KernelLibrary, target: str | None, strict: bool) -> KernelLibrary:
    """The library that a module has opened; or another one of the same kernels, with what `load` is told."""
    if target is None and not strict:
        return opened
    other = load(opened._origin.root, target, strict)
    other._origin.module = opened._origin.module
    return other


def _state(folder: str) -> State | None:
    try:
        status = os.stat(f"{folder}/{MANIFEST}")
    except OSError:
        return None  # reading it says why
    return status.st_ino, status.st_mtime_ns, status.st_size


def _read(origin: Origin) -> tuple[Kernels, State | None]:
    state = _state(origin.folder)  # before: what is written meanwhile is told later
    kernels = manifest.read(origin.folder, origin.root)
    _refuse_stale(kernels, origin.folder, origin.root, origin.pinned, origin.strict)
    return kernels, state


def _refuse_stale(kernels: Mapping[str, Any], folder: str, root: str, pinned: str | None, strict: bool) -> None:
    stale = [entry for entry in manifest.stale_artifacts(kernels) if pinned in (None, entry[2])]
    if not stale:
        return
    kernel, specialisation, target, reason = stale[0]
    more = f", and {len(stale) - 1} more" if len(stale) > 1 else ""
    names = dict.fromkeys(entry[0] for entry in stale)
    which = " ".join(names) if len(names) <= 3 else ""
    told = (
        f"{title(kernel, specialisation)} for {target} is stale ({reason}){more}; "
        f"{remedies.build_again(folder, root, which)}"
    )
    if strict:
        raise KernelNotBuiltError(told)
    if (folder, told) not in _warned:
        _warned.add((folder, told))
        warnings.warn(told, StaleArtifactWarning, stacklevel=4)
