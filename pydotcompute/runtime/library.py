"""The kernels of a project or a bundle, and opening one."""

from __future__ import annotations

import os
import warnings
from typing import Any, Iterator, Mapping

from ..artifact import remedies
from ..artifact.identity import title
from ..cache import manifest
from ..cache.layout import MANIFEST
from ..calls import settings
from ..devices.pinned import target as pinned_target
from ..devices.registry import in_use
from ..errors import KernelNotBuiltError, StaleArtifactWarning
from .kernel import Kernel

_open: dict[tuple[object, ...], tuple[tuple[object, ...], KernelLibrary]] = {}  # the last of each, and of which file
_warned: set[tuple[str, str]] = set()


class KernelLibrary:
    """The kernels of one project or bundle: `lib.saxpy`, `lib["saxpy"]`, `list(lib)`, `"saxpy" in lib`."""

    def __init__(self, kernels: Mapping[str, Any], folder: str, root: str, pinned: str | None, strict: bool):
        self._kernels, self._folder, self._root, self._pinned, self._strict = kernels, folder, root, pinned, strict

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(f"a library of kernels has no attribute '{name}'")
        if name not in self._kernels:
            raise AttributeError(self._unknown(name), name=name, obj=self)
        record = manifest.kernel_record(self._kernels, name, self._folder, self._root)
        reopen = (load, self._root, self._pinned, self._strict)
        kernel = Kernel(record, self._folder, self._root, self._pinned, reopen)
        opened: Kernel = self.__dict__.setdefault(name, kernel)  # the next access does not come here
        return opened

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            raise KeyError(self._unknown(name))
        kernel: Kernel = getattr(self, name)
        return kernel

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __dir__(self) -> list[str]:
        return list(self._kernels)

    def __repr__(self) -> str:
        pinned = f", target {self._pinned}" if self._pinned else ""
        return f"<{len(self)} kernel{'s' * (len(self) != 1)} of {self._root}{pinned}: {', '.join(self)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._root, self._pinned, self._strict)

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
        return f"{self._root} has no kernel '{name}'; {hint}"


def load(path: str | os.PathLike[str], target: str | None = None, strict: bool = False) -> KernelLibrary:
    """The kernels that are built in a project (its `build/cache`), a cache or a bundle.

    target: the only target to use, such as "cpu:x86-64-v2" (default: PYDOTCOMPUTE_TARGET, else the best of each
    call). strict: refuse artifacts that a failed or unfinished build left behind, instead of warning once
    (StaleArtifactWarning). Nothing is built, and no artifact is loaded before its first call.
    Raises KernelNotBuiltError, with the command that helps, where there is no usable manifest; ValueError for a
    wrong target or PYDOTCOMPUTE_THREADS.
    """
    root = os.path.abspath(os.fspath(path))
    folder, root = manifest.find(root)
    pinned = pinned_target(target)
    settings.threads()
    try:
        status = os.stat(f"{folder}/{MANIFEST}")
        file: tuple[object, ...] = (status.st_ino, status.st_mtime_ns, status.st_size)
    except OSError:
        file = ()  # reading it says why
    known, library = _open.get((folder, pinned, strict), ((), None))
    if library is None or known != file:
        kernels = manifest.read(folder, root)
        _refuse_stale(kernels, folder, root, pinned, strict)
        library = KernelLibrary(kernels, folder, root, pinned, strict)
        _open[folder, pinned, strict] = file, library  # what nobody holds of the one before goes
    return library


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
        warnings.warn(told, StaleArtifactWarning, stacklevel=3)
