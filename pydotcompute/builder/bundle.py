"""A bundle: the manifest and the current objects of a cache in a folder of their own, read-only to the run half.

It is written elsewhere (builder/staging.py) and swapped in: whole or not at all, and what a killed build leaves lies
where no wheel picks it up.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import Any, Callable, Iterator, Mapping

from ..cache.files import read_file
from ..cache.layout import KEYS, MANIFEST, object_path
from ..cache.lock import locked
from ..cache.manifest import find
from ..cache.writer import make_folders, object_fault, replace_file, sync_folder, write_manifest
from .plan import Name
from .staging import staging

EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
AT_FDCWD = -100
# In the `__init__.py` of what may be replaced, beside bundles.
MADE = "Written by 'pydotcompute build'; what is changed here is lost with the next one."


class BundleError(Exception):
    """The bundle was not made; one line that says why."""


def write_bundle(
    cache: str, manifest: dict[str, Any], wanted: set[Name], folder: str, say: Callable[[str], None],
    beside: Callable[[dict[str, Any]], Mapping[str, str]] = lambda manifest: {},
) -> tuple[int, int]:  # fmt: skip
    """Write the wanted artifacts of `manifest`, which are current, to `folder`; returns how many, and their bytes.
    `say` hears who is waited for.

    beside: from the manifest of the bundle, further files in it by name. Raises BundleError where `folder` is
    something else than a bundle or an object is damaged, OSError where the disk refuses; `folder` is then as it was.
    """
    folder = os.path.abspath(folder)
    require_replaceable(folder)
    make_folders(os.path.dirname(folder))
    chosen = _selection(manifest, wanted)
    files = beside(chosen)
    # A cache that may only be read is no reason not to make a bundle of it.
    with locked(cache, say) if os.access(cache, os.W_OK) else contextlib.nullcontext(), staging(cache, folder) as fresh:
        count, size = _write(cache, chosen, files, fresh)
        _swap(fresh, folder)
        sync_folder(os.path.dirname(folder))
    return count, size


def _write(cache: str, chosen: dict[str, Any], files: Mapping[str, str], fresh: str) -> tuple[int, int]:
    count = size = 0
    for entry in _entries(chosen):
        fault = object_fault(cache, entry["object"], entry["suffix"], entry["size"])
        if fault:
            raise BundleError(f"{cache}: {fault} ({entry['object'][:12]}); run 'pydotcompute build'")
        path = object_path(entry["object"], entry["suffix"])
        count += 1
        if os.path.exists(os.path.join(fresh, path)):
            continue
        make_folders(os.path.dirname(os.path.join(fresh, path)))
        replace_file(os.path.join(fresh, path), read_file(os.path.join(cache, path), entry["size"]), sync=False)
        size += entry["size"]
    for name, text in files.items():
        make_folders(os.path.dirname(os.path.join(fresh, name)))
        replace_file(os.path.join(fresh, name), text.encode(), sync=False)
    write_manifest(fresh, chosen)
    return count, size


def require_replaceable(folder: str) -> None:
    """Raise BundleError where something stands that no bundle may replace."""
    if os.path.lexists(folder) and not _may_be_replaced(folder):
        why = "a project's cache" if _is_cache(folder) else f"no {MANIFEST} in it"
        raise BundleError(f"{folder}: not a bundle ({why}), so it is not replaced; name another folder")


def _may_be_replaced(folder: str) -> bool:
    """Whether a folder is empty, a bundle, or the package that stands for one in a checkout."""
    if os.path.islink(folder) or not os.path.isdir(folder) or _is_cache(folder):
        return False
    if not os.listdir(folder) or os.path.isfile(os.path.join(folder, MANIFEST)):
        return True
    try:
        return MADE.encode() in read_file(os.path.join(folder, "__init__.py"))
    except OSError:
        return False


def _is_cache(folder: str) -> bool:
    """Whether a folder is the cache of a project: of one that is gone too, or of imported artifacts alone."""
    folder = os.path.abspath(folder)
    return os.path.isdir(os.path.join(folder, KEYS)) or find(folder)[1] != folder


def _selection(manifest: dict[str, Any], wanted: set[Name]) -> dict[str, Any]:
    """The manifest with the wanted artifacts alone, and the kernels and specialisations that have any."""
    kernels = {}
    for kernel, header in manifest["kernels"].items():
        specialisations = {}
        for label, specialisation in header["specializations"].items():
            artifacts = {
                target: entry
                for target, entry in specialisation["artifacts"].items()
                if (kernel, label, target) in wanted and not entry["stale"]
            }
            if artifacts:
                specialisations[label] = {**specialisation, "artifacts": artifacts}
        if specialisations:
            kernels[kernel] = {**header, "specializations": specialisations}
    return {**manifest, "kernels": kernels}


def _entries(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for header in manifest["kernels"].values():
        for specialisation in header["specializations"].values():
            yield from specialisation["artifacts"].values()


def _swap(fresh: str, folder: str) -> None:
    """Put `fresh` in the place of `folder`; what was there is then under the name `fresh`, for the caller to remove."""
    try:
        os.rename(fresh, folder)
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    arguments = (AT_FDCWD, os.fsencode(fresh), AT_FDCWD, os.fsencode(folder), EXCHANGE)
    if renameat2 is not None and renameat2(*arguments) == 0:
        return
    # A file system that cannot exchange: there is a moment without a bundle, never one with half of it.
    old = f"{fresh}.old"
    os.rename(folder, old)
    try:
        os.rename(fresh, folder)
    except OSError:
        os.rename(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
