"""Objects that were read and are what their names say: a plan reads again those alone whose files have changed since.

A file counts as unchanged by its size, its times and its inode. One that was younger than two seconds when it was read
is read again the next time: within the grain of a clock it may change and show nothing. `cache verify` asks nobody.
"""

from __future__ import annotations

import json
import os
from time import time_ns
from typing import Any

from .files import read_file
from .keys import digest
from .layout import object_path
from .writer import object_fault, replace_file

SEEN = "seen.json"  # in the cache's folder: path → size, mtime, ctime, inode, digest of the line that it says
YOUNG = 2_000_000_000  # nanoseconds


class Seen:
    """What is known of the objects in a cache."""

    def __init__(self, folder: str):
        self._folder = folder
        self._path = os.path.join(folder, SEEN)
        self._before = self._read()
        self._now: dict[str, list[Any]] = {}

    def fault(self, name: str, suffix: str, size: int, said: str) -> str:
        """As `writer.object_fault`."""
        path = object_path(name, suffix)
        try:
            status = os.stat(os.path.join(self._folder, path))
        except OSError:
            return object_fault(self._folder, name, suffix, size, said)
        state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, digest(said)[:16]]
        if state[0] != size or state not in (self._before.get(path), self._now.get(path)):
            young = time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < YOUNG
            if (problem := object_fault(self._folder, name, suffix, size, said)) or young:
                return problem
        self._now[path] = state
        return ""

    def save(self) -> None:
        """Keep what was found out since. Raises OSError."""
        if not self._now.items() <= self._before.items():
            self._before |= self._now
            there = {path: state for path, state in self._before.items() if path in self._now or self._is_there(path)}
            replace_file(self._path, json.dumps(there, separators=(",", ":")).encode(), sync=False)

    def _is_there(self, path: str) -> bool:
        return os.path.exists(os.path.join(self._folder, path))

    def _read(self) -> dict[str, list[Any]]:
        try:
            found = json.loads(read_file(self._path))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
