"""A bundle: the manifest and the current objects of a cache in a folder of their own, read-only to the run half.

It is written in the cache and swapped in: whole or not at all, and what a killed build leaves is where no wheel picks
it up. On another file system than the cache it is written beside the folder, and the next one removes what was left.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, Iterator, Mapping

from ..cache.files import read_file
from ..cache.layout import MANIFEST, object_path
from ..cache.lock import locked
from ..cache.writer import (
    TEMPORARY,
    make_folders,
    object_fault,
    remove,
    replace_file,
    sync_folder,
    write_manifest,
)
from .plan import Name

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
    if os.stat(cache).st_dev != os.stat(os.path.dirname(folder)).st_dev or not os.access(cache, os.W_OK):
        return _write(cache, chosen, files, f"{folder}.new", folder)
    with locked(cache, say):
        return _write(cache, chosen, files, os.path.join(cache, f"{TEMPORARY}bundle"), folder)


def _write(
    cache: str, chosen: dict[str, Any], files: Mapping[str, str], fresh: str, folder: str
) -> tuple[int, int]:  # fmt: skip
    count = size = 0
    remove(fresh)
    remove(f"{fresh}.old")
    try:
        make_folders(fresh)
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
        _swap(fresh, folder)
        sync_folder(os.path.dirname(folder))
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return count, size


def require_replaceable(folder: str) -> None:
    """Raise BundleError where something stands that no bundle may replace."""
    if os.path.lexists(folder) and not _may_be_replaced(folder):
        raise BundleError(f"{folder}: not a bundle (no {MANIFEST} in it), so it is not replaced; name another folder")


def _may_be_replaced(folder: str) -> bool:
    """Whether a folder is empty, a bundle, or the package that stands for one in a checkout."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    if not os.listdir(folder) or os.path.isfile(os.path.join(folder, MANIFEST)):
        return True
    try:
        return MADE.encode() in read_file(os.path.join(folder, "__init__.py"))
    except OSError:
        return False


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
    if not os.path.lexists(folder):
        os.rename(fresh, folder)
        return
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
