"""Writing a cache: objects first, the manifest last by rename, all of it under one lock between processes.

Whoever reads sees the state before or the state after, also when the writer is killed. Every function may raise
OSError (a full disk, no permission); nothing half-written stays under a name that a reader looks at.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
from typing import Any

from ..artifact.identity import difference, of
from .files import MOST_MANIFEST, read_file
from .json_text import text_of
from .keys import digest
from .layout import MANIFEST, OBJECTS, RECORDS, VERSION, object_path, record_path
from .manifest import parsed
from .records import FAULTS, brief, digest as digest_of, joined, split
from .sealed import is_whole, seal
from .trust import fault

FEW = 8  # files that are brought to the disk one by one
TEMPORARY = ".new-"  # the start of the name of every file that is not finished


def make_folders(folder: str) -> None:
    """Make a folder and those above it that are missing: others may read them and not write, whatever the umask."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        above = os.path.dirname(os.path.abspath(folder))
        if above == folder:
            break
        folder = above
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
        else:
            os.chmod(folder, 0o755)
            sync_folder(os.path.dirname(os.path.abspath(folder)))


def make_way(folder: str, name: str) -> str:
    """The path of a file of a cache that is to be written: the folders that it lies in are made. What stands in the
    place of one and is none goes, and so does an empty folder in the place of the file: a cache has neither. Raises
    OSError where that folder has something in it. Only under the lock."""
    path, *parts = folder, *name.split("/")
    for part in parts[:-1]:
        path = os.path.join(path, part)
        if os.path.lexists(path) and not os.path.isdir(path):
            os.unlink(path)
    make_folders(path)
    path = os.path.join(path, parts[-1])
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    return path


def close_to_others(folder: str) -> str:
    """Take from others the right to write to a cache of this user's, and to all that is in it; returns who had it."""
    try:
        status = os.stat(folder)
    except FileNotFoundError:
        return ""
    had = fault(status, folder)
    if not had or status.st_uid != os.geteuid():
        return ""
    places = [folder]
    for at, folders, names in os.walk(folder):
        places += [os.path.join(at, name) for name in (*folders, *names)]
    for place in places:
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(place)
            if status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode):
                os.chmod(place, stat.S_IMODE(status.st_mode) & ~0o022)
    return had


def replace_file(path: str, data: bytes, sync: bool = True) -> None:
    """Write `data` under `path`, whole or not at all: a file beside it, on the disk, then renamed; with the folder on
    the disk too, what is written next cannot be there after a power cut while this is not."""
    folder, name = os.path.split(path)
    # random: two containers that share a folder may have builders of one process id
    temporary = os.path.join(folder, f"{TEMPORARY}{os.urandom(8).hex()}-{name}"[:250])
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            if sync:
                _sync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if sync:
        sync_folder(folder)


def replace_regular(path: str, data: bytes) -> None:
    """As `replace_file`, for a file of the user's choice: a link is followed, and what is there and is no file stays.

    Raises ValueError where it is something else; OSError.
    """
    path = os.path.realpath(path)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: a file is to be written there, and it is something else")
    try:
        replace_file(path, data, sync=False)
    except OSError as error:
        error.filename = path
        raise


def sync_folder(folder: str) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):  # a file system that cannot
            raise


def write_object(folder: str, data: bytes, suffix: str) -> str:
    """Keep `data` under its digest and return that. One that is there with the same bytes is left alone."""
    name = digest(data)
    if not object_is_intact(folder, name, suffix, len(data)):
        replace_file(make_way(folder, object_path(name, suffix)), data)
    return name


def object_is_intact(folder: str, name: str, suffix: str, size: int) -> bool:
    return object_fault(folder, name, suffix, size) == ""


def object_fault(folder: str, name: str, suffix: str, size: int, said: str = "") -> str:
    """Why the object is not what its name says, in some words; empty if it is. said: the line that it must have
    (artifact/identity.py)."""
    try:
        data = read_file(os.path.join(folder, *object_path(name, suffix).split("/")), size)
    except FileNotFoundError:
        return "object missing"
    except OSError as error:
        return "object damaged" if error.errno == errno.EFBIG else f"object cannot be read ({error.strerror})"
    if len(data) != size or digest(data) != name:
        return "object damaged"
    if said and (problem := difference(of(data)[0], said)):
        return f"object {problem}"
    return ""


def drop_damaged(folder: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Remove objects that a manifest named and its successor does not, where they are not what their names say:
    others are kept, because a program that has read the old one may still load them. Only under the lock."""
    kept = {found[:2] for found in _objects(new)}  # whatever size the old one said
    for name, suffix, size in _objects(old):
        path = os.path.join(folder, *object_path(name, suffix).split("/"))
        if (name, suffix) not in kept and os.path.exists(path) and not object_is_intact(folder, name, suffix, size):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _objects(manifest: dict[str, Any]) -> set[tuple[str, str, int]]:
    return {
        (entry["object"], entry["suffix"], entry["size"])
        for kernel in manifest["kernels"].values()
        for specialisation in kernel["specializations"].values()
        for entry in specialisation["artifacts"].values()
    }


def write_manifest(folder: str, manifest: dict[str, Any]) -> None:
    """Write the records of a manifest that are not there, then its index."""
    index, records = split(manifest, manifest_text)
    files = {record_path(name): data for name, data in records.items()}
    new = {path: data for path, data in files.items() if not _is(os.path.join(folder, path), data)}
    for path, data in new.items():
        replace_file(make_way(folder, path), data, sync=len(new) <= FEW)
    if len(new) > FEW:
        _sync_file_system(os.path.join(folder, RECORDS))
    replace_file(make_way(folder, MANIFEST), seal(manifest_text(index)))


def _is(path: str, data: bytes) -> bool:
    try:
        return read_file(path, len(data)) == data
    except OSError:
        return False


def _sync_file_system(folder: str) -> None:
    """Have all of the files in a folder on the disk, with whatever else is written there: a thousand at once cost
    little more than one."""
    import ctypes

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        syncfs = getattr(ctypes.CDLL(None), "syncfs", None)
        if syncfs is not None and syncfs(handle) == 0:
            return
    finally:
        os.close(handle)
    for name in os.listdir(folder):
        handle = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
        try:
            _sync(handle)
        finally:
            os.close(handle)
    sync_folder(folder)


def manifest_text(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read_manifest(folder: str) -> tuple[dict[str, Any], str]:
    """The manifest of a cache, and what is wrong with it: an empty one where there is none or its index is damaged or
    no file, one without the kernels whose records are.

    Raises OSError where it is there and cannot be read.
    """
    path = os.path.join(folder, MANIFEST)
    empty: dict[str, Any] = {"version": VERSION, "kernels": {}}
    try:
        data = read_file(path, MOST_MANIFEST)
        index = json.loads(text_of(data))
    except (FileNotFoundError, NotADirectoryError):
        return empty, ""
    except (ValueError, RecursionError) as error:
        return empty, f"{path}: damaged ({error})"
    except OSError as error:
        if not _is_replaced(error):
            raise
        return empty, f"{path}: damaged ({error.strerror})"
    found = index.get("version") if isinstance(index, dict) else None
    if type(found) is int and found != VERSION:
        return empty, f"{path}: of format version {found}, this is {VERSION}"
    parts = isinstance(index, dict) and all(isinstance(index.get(part), dict) for part in ("kernels", "stale"))
    if type(found) is not int or not parts or not is_whole(data):
        return empty, f"{path}: damaged"
    manifest, problem = empty, ""
    for name, record in index["kernels"].items():
        try:
            data = read_file(os.path.join(folder, record_path(digest_of(record))), MOST_MANIFEST)
            entry = joined(data, record, index["stale"].get(name, {}), json.loads)
            parsed(entry, name, folder, folder)
            manifest["kernels"][name] = entry
        except FileNotFoundError:
            problem = problem or f"{os.path.join(folder, record_path(record))}: missing (kernel '{name}')"
        except (OSError, *FAULTS) as error:
            if isinstance(error, OSError) and not _is_replaced(error):
                raise
            why = error.strerror if isinstance(error, OSError) else brief(error)
            at = os.path.join(folder, record_path(str(record)))
            problem = problem or f"{at}: damaged (kernel '{name}': {why})"
    return manifest, problem


def _is_replaced(error: OSError) -> bool:
    """Whether what could not be read is no file, or too large for one of ours: a build puts its own there."""
    return error.errno == errno.EFBIG or not os.path.isfile(error.filename)


def sweep(folder: str) -> None:
    """Remove what killed writers left unfinished. Only under the lock."""
    objects = os.path.join(folder, OBJECTS)
    places = [folder, os.path.join(folder, RECORDS), objects]
    with contextlib.suppress(OSError):
        places += [entry.path for entry in os.scandir(objects) if entry.is_dir(follow_symlinks=False)]
    for place in places:
        with contextlib.suppress(OSError):
            for entry in os.scandir(place):
                if entry.name.startswith(TEMPORARY):
                    remove(entry.path)


def drop_records(folder: str) -> None:
    """Remove the records that the index does not name: what the builds before the last one left for programs that had
    opened the library. Only under the lock."""
    try:
        index = json.loads(read_file(os.path.join(folder, MANIFEST), MOST_MANIFEST))
        named = {record_path(name) for name in index["kernels"].values()}
    except (OSError, *FAULTS):
        return  # a build makes all of it anew
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(folder, RECORDS)):
            if f"{RECORDS}/{name}" not in named:
                os.unlink(os.path.join(folder, RECORDS, name))


def remove(path: str) -> None:
    """Remove a file or a folder, if it is there. Raises OSError."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def explain_os_error(error: OSError, folder: str) -> str:
    """One line: what could not be written, why, and what to do."""
    place = error.filename or folder
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}: no space left on the device; free some, then build again (what was there before still works)"
    if error.errno == errno.EFBIG:
        return f"{place}: larger than this process may write (ulimit -f); nothing was changed"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{place}: cannot be written ({error.strerror}); build where you may write, or change its permissions"
    if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ELOOP):
        place = error.filename2 or place  # of a rename, where to
        return f"{place}: something else stands there ({error.strerror}); remove it, then build again"
    return f"{place}: {error.strerror or error}"
