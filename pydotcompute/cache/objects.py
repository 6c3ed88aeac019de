"""Reading objects: once, checked against their digest, and loaded from those very bytes.

What happens to the file afterwards, in place of it or to its folder, does not reach a running process.
"""

from __future__ import annotations

import errno
import os
from itertools import count
from time import time
from typing import TYPE_CHECKING

from ..artifact import identity
from ..artifact.cpu_levels import WINDOWS, system
from ..errors import KernelNotBuiltError
from . import files, trust
from .layout import USED

if TYPE_CHECKING:
    import ctypes

    from .manifest import Artifact


DAY = 86400  # seconds
COPY = "pydotcompute-"  # what the names of private copies begin with


def read(artifact: Artifact) -> bytes:
    """The verified bytes of an artifact, machine code without the line that says what it is, for a program that runs
    it: that it was used is noted. Raises as `read_whole`."""
    code = identity.of(read_whole(artifact))[1]
    if artifact.owned is not None:
        _note_use(f"{artifact.folder}/{USED}/{artifact.digest}")
    return code


def _note_use(path: str) -> None:
    """At most once a day, and only where a build has made the folder. Nothing that happens here is a reason not to
    load: a cache that may only be read is one whose uses nobody knows."""
    try:
        if not 0 <= time() - os.stat(path, follow_symlinks=False).st_mtime < DAY:
            os.utime(path, follow_symlinks=False)
    except FileNotFoundError:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        except OSError:
            pass
    except OSError:
        pass


def read_whole(artifact: Artifact) -> bytes:
    """The verified bytes of an artifact.

    Raises KernelNotBuiltError, with the file, what was found and expected, and the command that builds it again;
    UntrustedCacheError.
    """
    try:
        data = files.read(artifact.folder, artifact.file, artifact.size, artifact.owned)
    except (FileNotFoundError, NotADirectoryError):
        raise KernelNotBuiltError(f"{artifact}: its object {artifact.path} is missing; {artifact.remedy}") from None
    except OSError as error:
        told = f"cannot be read ({error.strerror})"
        if error.errno == errno.EFBIG:
            told = f"is damaged: {error.strerror}"
        raise KernelNotBuiltError(f"{artifact}: {artifact.path} {told}; {artifact.remedy}") from None
    found = files.sha256(data)
    if found != artifact.digest:
        raise KernelNotBuiltError(
            f"{artifact}: {artifact.path} is damaged: {len(data)} bytes with SHA-256 {found}, "
            f"expected {artifact.size} bytes with {artifact.digest}; {artifact.remedy}"
        )
    if problem := identity.difference(identity.of(data)[0], artifact.said):
        raise KernelNotBuiltError(f"{artifact}: {artifact.path} {problem}; {artifact.remedy}")
    return data


def open_library(artifact: Artifact) -> ctypes.CDLL:
    """Load a shared object from bytes that are checked once and cannot change: a sealed memfd.

    Where memfds are missing or may not be executed, a private temporary file takes its place. One with debug
    information comes from its own file, once in a process, where nobody else can put another one in its place:
    debuggers and profilers read it there; so does each on Windows, which deletes no file that is loaded. Every call
    maps the object anew, with variables of its own. Raises KernelNotBuiltError.
    """
    data = read(artifact)
    in_place = artifact.meta.get("debug_info") or system() == WINDOWS
    if in_place and (library := _load_file(artifact.path)):
        return library
    if hasattr(os, "memfd_create"):
        try:
            return _load_sealed(data, artifact.kernel)
        except OSError:  # said below, if the bytes are at fault
            pass
    try:
        return _load_copy(data, artifact.suffix)
    except OSError as error:
        raise KernelNotBuiltError(
            f"{artifact}: {artifact.path} cannot be loaded ({error}); {artifact.remedy}"
        ) from None


def close_library(library: ctypes.CDLL) -> None:
    """Unload what `open_library` has loaded. No thread may be in it, or come to it."""
    import ctypes

    for name in [name for name, handle in _files.items() if handle == library._handle]:
        del _files[name]
    handle = ctypes.c_void_p(library._handle)
    if system() == WINDOWS:  # by functions that keep the GIL
        ctypes.PyDLL("kernel32").FreeLibrary(handle)
        _remove(library._name)
    else:
        ctypes.PyDLL(None).dlclose(handle)


def _load_sealed(data: bytes, name: str) -> ctypes.CDLL:
    import ctypes
    from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_WRITE, fcntl

    handle = os.memfd_create(f"pydotcompute-{name}"[:200], os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        _write(handle, data)
        fcntl(handle, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
        # The dynamic loader knows a library again by the spelling of its path, and the number will be used again:
        # so each path is spelt differently, the count in binary as "/" and "/.".
        spelling = "".join("/." if bit == "1" else "/" for bit in f"{next(_loaded):b}")
        return ctypes.CDLL(f"/proc/self/fd{spelling}/{handle}")
    finally:
        os.close(handle)


def _load_file(path: str) -> ctypes.CDLL | None:
    """The library of a file. None: this process has it already, and would get the same variables; or cannot; or others
    could have changed what the path leads to since the file was looked at."""
    import ctypes

    try:
        path = os.path.realpath(path)
        status = os.stat(path)
        names: set[str | tuple[int, int]] = {path, (status.st_dev, status.st_ino)}  # by either the linker knows it
        if names & _files.keys() or not trust.is_lasting(path):
            return None
        library = ctypes.CDLL(path)
        _files.update(dict.fromkeys(names, library._handle))
        return library
    except (OSError, UnicodeDecodeError):  # the latter of the loader's message, with a path that is not UTF-8
        return None


def _load_copy(data: bytes, suffix: str) -> ctypes.CDLL:
    import ctypes
    import tempfile

    handle, path = tempfile.mkstemp(prefix=COPY, suffix=suffix)
    try:
        try:
            _write(handle, data)
        finally:
            os.close(handle)
        return ctypes.CDLL(path)
    finally:
        _remove(path)
        _remove_old(os.path.dirname(path), suffix)


def _remove(path: str) -> None:
    """A copy, where that can be done: Windows does not while it is loaded."""
    if os.path.basename(path).startswith(COPY):
        try:
            os.unlink(path)
        except PermissionError:
            pass


def _remove_old(folder: str, suffix: str) -> None:
    """Copies that could not be removed by processes which are gone."""
    for entry in os.scandir(folder) if system() == WINDOWS else ():
        if entry.name.startswith(COPY) and entry.name.endswith(suffix) and time() - entry.stat().st_mtime > DAY:
            _remove(entry.path)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


_loaded = count(1)
_files: dict[str | tuple[int, int], int] = {}  # path, or device and inode, of what is loaded from its file → its handle
