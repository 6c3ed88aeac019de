"""One writer at a time: the lock of a cache, between processes and containers.

The kernel keeps it, and gives it back when the holder dies, however it dies. Where a file system has no such locks, a
file that is there while somebody writes takes its place; one that a dead process of this machine left is removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import tempfile
import time
from typing import Callable, Iterator

from ..errors import CompilerNotInstalledError
from .files import read_file

try:
    import fcntl
except ImportError:
    raise CompilerNotInstalledError(
        "nothing is built on this system, whose files cannot be locked: install a wheel that was built on Linux"
    ) from None

LOCK = "lock"
HELD = "lock.held"  # the file that is there while somebody writes, where the kernel keeps no locks
WAIT = 0.1  # seconds between two looks at it
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@contextlib.contextmanager
def locked(folder: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the cache for writing. `say` is told once who else is, if somebody is waited for, and if the file system
    has no locks. Raises OSError."""
    handle = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    held = ""
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
            who = f"process {holder}" if holder.isdigit() else "another process"
            say(f"waiting for {who}, which is building here")
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            held = os.path.join(folder, HELD)
            say(f"{folder}: this file system has no locks ({error.strerror}); {held} is there while this builds")
            _create(held, say)
        with contextlib.suppress(OSError):  # only for the message of the next one
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        if held:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(held)
        os.close(handle)


def require_record_locks(folder: str) -> None:
    """Raise OSError where the file system has no locks of the kind that SQLite takes, which it would wait for."""
    with tempfile.TemporaryFile(dir=folder) as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _create(path: str, say: Callable[[str], None]) -> None:
    """Make the file that says who writes, once nobody else does."""
    told = False
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            holder = _holder(path)
            if _is_dead(holder):
                _remove(path, say)
                continue
            if not told:
                say(f"waiting for {holder or 'another process'}, which is building here; if nobody is, remove {path}")
                told = True
            time.sleep(WAIT)
        else:
            with contextlib.suppress(OSError):
                os.write(handle, f"process {os.getpid()} on {_machine() or platform.node()}".encode())
            os.close(handle)
            return


def _remove(path: str, say: Callable[[str], None]) -> None:
    """Remove the file that a dead process left. One does so at a time, and looks again first: of two that saw the same
    dead process, the later would else remove the file of the earlier, and both would write."""
    mine = path + ".removing"
    _create(mine, say)
    try:
        if _is_dead(_holder(path)):
            os.unlink(path)
    finally:
        os.unlink(mine)


def _holder(path: str) -> str:
    try:
        return read_file(path)[:300].decode(errors="replace").strip()
    except OSError:
        return ""


def _machine() -> str:
    """Where the numbers of processes mean what they mean here: the machine since it started, as two may have one name,
    and the container in it. Empty where nobody says that."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{platform.node()} {file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _is_dead(holder: str) -> bool:
    """Whether this names a process that is no more, of this machine and this container."""
    process, _, machine = holder.removeprefix("process ").partition(" on ")
    if not process.isdigit() or not machine or machine != _machine():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass
    return False
