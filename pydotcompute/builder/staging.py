"""Where a bundle is written before it is swapped in: a place that no wheel takes, and that the next one sweeps."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from typing import Iterator

from ..cache.writer import TEMPORARY, make_folders

NAME = f"{TEMPORARY}bundle-"
PRIVATE = "__pycache__"  # what builders of wheels leave out, wherever it is


@contextlib.contextmanager
def staging(cache: str, folder: str) -> Iterator[str]:
    """A fresh folder from which a rename leads to `folder`; what is in it or beside it at the end is removed, and so is
    what those left there who were killed. Raises OSError."""
    place = _place(os.path.abspath(cache), folder)
    _sweep(place)
    outer, handle = _made(place)
    try:
        fresh = os.path.join(outer, PRIVATE)
        make_folders(fresh)
        yield fresh
    finally:
        shutil.rmtree(outer, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _place(cache: str, folder: str) -> str:
    """Where this may write on the bundle's file system, as far from any wheel as can be: the cache, what it lies in,
    the nearest folder above that is no package; if there is none, the package that the bundle is a part of."""
    parent = above = os.path.dirname(folder)
    places = [cache, os.path.dirname(cache)]
    while above != (above := os.path.dirname(above)):
        if not os.path.exists(os.path.join(above, "__init__.py")):
            places.append(above)
    there = _file_system(parent)
    fitting = (place for place in places if _file_system(place) == there and os.access(place, os.W_OK | os.X_OK))
    return next(fitting, parent)


def _file_system(folder: str) -> tuple[int, str]:
    """Within which a rename is possible: where a device is mounted twice, none leads from one place to the other."""
    try:
        handle = os.open(folder, os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY))
    except OSError:
        return -1, folder
    try:
        device, mounted = os.fstat(handle).st_dev, ""
        with contextlib.suppress(OSError), open(f"/proc/self/fdinfo/{handle}") as file:
            mounted = next((line for line in file if line.startswith("mnt_id:")), "")
        return device, mounted
    finally:
        os.close(handle)


def _made(place: str) -> tuple[str, int | None]:
    """A folder of a random name, and a lock on it, which says that its maker lives: a number of a process would say
    nothing in another container. None: this file system has no locks, so that nobody sweeps there."""
    while True:
        path = os.path.join(place, NAME + os.urandom(8).hex())
        os.mkdir(path, 0o700)
        try:
            handle = _locked(path)
        except OSError:
            return path, None
        if handle is not None:  # else it was swept before it was locked
            return path, handle


def _sweep(place: str) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if name.startswith(NAME) and (handle := _locked(path)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(handle)


def _locked(folder: str) -> int | None:
    """A descriptor with the lock of a folder; None where that is gone, or somebody has it. Raises OSError."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.exists(folder):
            return handle
    except BlockingIOError:
        pass
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return None
