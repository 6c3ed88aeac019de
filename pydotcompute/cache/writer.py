"""Writing a cache: objects first, the manifest last by rename, all of it under one lock between processes.

Whoever reads sees the state before or the state after, also when the writer is killed. Every function may raise
OSError (a full disk, no permission); nothing half-written stays under a name that a reader looks at.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from typing import Any, Callable, Iterator

from .keys import digest
from .layout import MANIFEST, OBJECTS, VERSION, object_path

LOCK = "lock"
TEMPORARY = ".new-"  # the start of the name of every file that is not finished


def make_private(folder: str) -> None:
    """Make the cache's folder (and its parents); it is its owner's alone, also if it was there before."""
    os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    status = os.stat(folder)
    if status.st_mode & 0o077 and status.st_uid == os.geteuid():
        os.chmod(folder, 0o700)


@contextlib.contextmanager
def locked(folder: str, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the cache for writing. `waiting` is called once, with who holds it, if that is somebody else.

    The kernel gives the lock back when the holder dies, however it dies.
    """
    handle = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
            waiting(f"process {holder}" if holder.isdigit() else "another process")
            fcntl.flock(handle, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):  # only for the message of the next one
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def replace_file(path: str, data: bytes, mode: int = 0o600, sync: bool = True) -> None:
    """Write `data` under `path`, whole or not at all: a file beside it, on the disk, then renamed."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{TEMPORARY}{os.getpid()}-{name}"[-250:])
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_object(folder: str, data: bytes, suffix: str) -> str:
    """Keep `data` under its digest and return that. One that is there with the same bytes is left alone."""
    name = digest(data)
    path = os.path.join(folder, *object_path(name, suffix).split("/"))
    if object_is_intact(folder, name, suffix, len(data)):
        return name
    for parent in (os.path.join(folder, OBJECTS), os.path.dirname(path)):
        with contextlib.suppress(FileExistsError):
            os.mkdir(parent, 0o700)
    replace_file(path, data)
    return name


def object_is_intact(folder: str, name: str, suffix: str, size: int) -> bool:
    return object_fault(folder, name, suffix, size) == ""


def object_fault(folder: str, name: str, suffix: str, size: int) -> str:
    """Why the object is not what its name says, in a word or two; empty if it is."""
    try:
        with open(os.path.join(folder, *object_path(name, suffix).split("/")), "rb", buffering=0) as file:
            data = file.read()
    except FileNotFoundError:
        return "object missing"
    except OSError as error:
        return f"object cannot be read ({error.strerror})"
    if len(data) != size or digest(data) != name:
        return "object damaged"
    return ""


def drop_damaged(folder: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Remove objects that a manifest named and its successor does not, where they are not what their names say:
    others are kept, because a program that has read the old one may still load them. Only under the lock."""
    for name, suffix, size in _objects(old) - _objects(new):
        path = os.path.join(folder, *object_path(name, suffix).split("/"))
        if os.path.exists(path) and not object_is_intact(folder, name, suffix, size):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _objects(manifest: dict[str, Any]) -> set[tuple[str, str, int]]:
    return {
        (entry["object"], entry["suffix"], entry["size"])
        for kernel in manifest["kernels"].values()
        for specialisation in kernel["specializations"].values()
        for entry in specialisation["artifacts"].values()
    }


def write_manifest(folder: str, manifest: dict[str, Any], mode: int = 0o600) -> None:
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    replace_file(os.path.join(folder, MANIFEST), text.encode(), mode)


def read_manifest(folder: str) -> tuple[dict[str, Any], str]:
    """The manifest of a cache and what is wrong with it; an empty one where there is none or it is damaged.

    Raises OSError where it is there and cannot be read.
    """
    path = os.path.join(folder, MANIFEST)
    empty: dict[str, Any] = {"version": VERSION, "kernels": {}}
    try:
        with open(path, "rb") as file:
            manifest = json.loads(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return empty, ""
    except ValueError as error:
        return empty, f"{path}: damaged ({error})"
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION or not _is_whole(manifest):
        found = manifest.get("version") if isinstance(manifest, dict) else None
        problem = "damaged" if found in (VERSION, None) else f"of format version {found}, this is {VERSION}"
        return empty, f"{path}: {problem}"
    return manifest, ""


def _is_whole(manifest: dict[str, Any]) -> bool:
    """Whether every part that a plan looks at has the type it must have."""
    try:
        return all(
            isinstance(artifact[name], kind)
            for kernel in manifest["kernels"].values()
            for specialisation in kernel["specializations"].values()
            for artifact in specialisation["artifacts"].values()
            for name, kind in (("object", str), ("suffix", str), ("size", int), ("key", str), ("meta", dict))
        )
    except (KeyError, TypeError, AttributeError):
        return False


def sweep(folder: str) -> None:
    """Remove what killed writers left unfinished. Only under the lock."""
    objects = os.path.join(folder, OBJECTS)
    places = [folder, objects]
    with contextlib.suppress(OSError):
        places += [entry.path for entry in os.scandir(objects) if entry.is_dir(follow_symlinks=False)]
    for place in places:
        with contextlib.suppress(OSError):
            for entry in os.scandir(place):
                if entry.name.startswith(TEMPORARY):
                    os.unlink(entry.path)


def explain_os_error(error: OSError, folder: str) -> str:
    """One line: what could not be written, why, and what to do."""
    place = error.filename or folder
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}: no space left on the device; free some, then build again (what was there before still works)"
    if error.errno == errno.EFBIG:
        return f"{place}: larger than this process may write (ulimit -f); nothing was changed"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{place}: cannot be written ({error.strerror}); build where you may write, or change its permissions"
    return f"{place}: {error.strerror or error}"
