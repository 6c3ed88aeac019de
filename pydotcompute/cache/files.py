"""Reading the files of a cache or bundle: regular ones alone, of a bounded size, by descriptors that were looked at.

A FIFO, a device or an endless link is refused when it is opened, a terabyte of holes by its size: nothing hangs, and
nothing asks for all memory. In a project's cache nothing is read that others could have written (cache/trust.py).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from functools import cache
from typing import Any, Callable

from . import trust

MOST_MANIFEST = 1 << 28  # bytes: 40 times that of 3,000 kernels
MOST_OBJECT = 1 << 30
MOST_TEXT = 1 << 26  # of a declaration, a template, a list of ours



def _flags(*names: str) -> int:
    """Those of `os` that this system has."""
    found = os.O_RDONLY
    for name in names:
        found |= getattr(os, name, 0)
    return found


# Without O_NONBLOCK a FIFO without a writer would be waited for; O_BINARY is Windows'.
_FILE = _flags("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY")
_FOLDER = _flags("O_PATH", "O_DIRECTORY", "O_CLOEXEC")
_KINDS = {
    stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


def read(folder: str, name: str, most: int, root: str | None = None) -> bytes:
    """What stands in the file `name`, relative to the cache or bundle `folder`.

    root: of the project whose cache this is; then neither the file nor a folder on the way may be anybody else's, or a
    link. Raises OSError where it cannot be read, is no regular file, or has more than `most` bytes;
    UntrustedCacheError.
    """
    path = f"{folder}/{name}"
    if root is None or os.open not in os.supports_dir_fd:  # as on Windows
        return read_file(path, most)
    opened = []
    try:
        opened.append(os.open(folder, _FOLDER))
        trust.require(os.fstat(opened[-1]), folder, folder, root, opened[-1])
        at = folder
        for part in name.split("/")[:-1]:
            at = f"{at}/{part}"
            opened.append(_beneath(at, _FOLDER, opened[-1], folder, root))
        opened.append(_beneath(path, _FILE, opened[-1], folder, root))
        return _content(opened[-1], path, most)
    except OSError as error:
        error.filename = error.filename or path  # no system call on a descriptor names what it failed on
        raise
    finally:
        for handle in opened:
            _close(handle)


def _beneath(path: str, flags: int, above: int, folder: str, root: str) -> int:
    name = path.rpartition("/")[2]
    try:
        handle = os.open(name, flags | os.O_NOFOLLOW, dir_fd=above)
    except OSError as error:
        error.filename = path
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        if not stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            raise
        remedy = f"pydotcompute cache clear -C {root}, then build"
        trust.refuse(f"{path} is a symbolic link", remedy, folder, root)
        return os.open(name, flags, dir_fd=above)  # in a trusted folder
    try:
        trust.require(os.fstat(handle), path, folder, root, handle)
    except BaseException:
        _close(handle)
        raise
    return handle


def _close(handle: int) -> None:
    """Close what was only read: nothing that this could tell matters."""
    with contextlib.suppress(OSError):
        os.close(handle)


def read_file(path: str, most: int = MOST_TEXT) -> bytes:
    """What stands in a regular file of at most so many bytes. Raises OSError."""
    handle = os.open(path, _FILE)
    try:
        return _content(handle, path, most)
    except OSError as error:
        error.filename = error.filename or path
        raise
    finally:
        _close(handle)


def _content(handle: int, path: str, most: int) -> bytes:
    status = os.fstat(handle)
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"{_KINDS.get(kind, 'something else')}, not a file", path)
    if status.st_size > most:
        raise OSError(errno.EFBIG, f"{status.st_size} bytes, more than {most}", path)
    parts = []
    while most and (part := os.read(handle, min(most, max(status.st_size, 1)))):
        parts.append(part)
        most -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sha256(data: bytes | memoryview) -> str:
    """Hex. From the interpreter's own module: hashlib would load OpenSSL, several milliseconds and megabytes."""
    return str(_hash_function()(data).hexdigest())


@cache
def _hash_function() -> Callable[[bytes | memoryview], Any]:
    for module in ("_sha2", "_sha256"):  # the first is there since Python 3.12
        try:
            found: Callable[[bytes | memoryview], Any] = __import__(module).sha256
        except ImportError:
            continue
        return found
    from hashlib import sha256

    return sha256
