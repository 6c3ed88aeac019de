"""Names of kernels for perf: a jitdump of what this process loads from memory, in the folder of PYDOTCOMPUTE_JITDUMP.

perf knows code by files, and these objects lie in none. `perf record -k mono`, then `perf inject --jit`, which finds
the dump by the mapping of it. The format: tools/perf/Documentation/jitdump-specification.txt in Linux's sources.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import threading
import time
from itertools import count
from typing import BinaryIO

from ...artifact.cpu_levels import machine
from ...artifact.machine import at_fork

VARIABLE = "PYDOTCOMPUTE_JITDUMP"
_MAGIC, _VERSION, _LOAD = 0x4A695444, 1, 0
_MACHINES = {"x86-64": 62, "aarch64": 183}  # as in the header of an ELF file
_HEADER = struct.Struct("=IIIIIIQQ")
_PREFIX = struct.Struct("=IIQ")
_CODE = struct.Struct("=IIQQQQ")

_lock = threading.Lock()
_dumps: dict[int, tuple[BinaryIO, mmap.mmap]] = {}  # of each process: a fork has one of its own
_numbers = count()


def note(name: str, inside: int, folder: str) -> None:
    """Write down the code around an address, as a function of this name. Raises ValueError where that cannot be done in
    the folder."""
    start, end = _mapped(inside)
    code = ctypes.string_at(start, end - start)
    text = name.encode() + b"\0"
    path = os.path.join(folder, f"jit-{os.getpid()}.dump")
    try:
        with _lock:
            file = _dump(path)
            size = _PREFIX.size + _CODE.size + len(text) + len(code)
            file.write(_PREFIX.pack(_LOAD, size, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
            file.write(_CODE.pack(os.getpid(), threading.get_native_id(), start, start, len(code), next(_numbers)))
            file.write(text + code)
    except OSError as error:
        told = f"{path}: {error.strerror}; name a folder where this program may write, and that code may be mapped from"
        raise ValueError(f"{VARIABLE}={folder!r}: {told}") from None


def _dump(path: str) -> BinaryIO:
    """The dump of this process, which it begins."""
    pid = os.getpid()
    if pid not in _dumps:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb", 0)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        file.write(_HEADER.pack(_MAGIC, _VERSION, _HEADER.size, _MACHINES.get(machine(), 0), 0, pid, now, 0))
        _dumps.clear()  # of the process that this one was forked from
        # perf hears of mappings that may be executed, and so of the file
        _dumps[pid] = file, mmap.mmap(file.fileno(), _HEADER.size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    return _dumps[pid][0]


def _mapped(address: int) -> tuple[int, int]:
    """Where the mapping with an address begins and ends."""
    with open("/proc/self/maps", errors="surrogateescape") as maps:  # names of files are bytes
        for line in maps:
            start, end = (int(part, 16) for part in line.partition(" ")[0].split("-"))
            if start <= address < end:
                return start, end
    raise ValueError(f"there is no code at {address:#x}")


def _after_fork() -> None:
    """A child must not wait for a thread that it does not have."""
    global _lock
    _lock = threading.Lock()


at_fork(after_in_child=_after_fork)
