"""Machine code of plain functions on disk, in a folder of the user's alone: `$XDG_CACHE_HOME/pydotcompute/functions`.

A file holds the SHA-256 of what follows it. Anything that is not exactly that, or not the user's own, is a miss: the
function is compiled again and the file replaced. So is a folder that cannot be written: nothing is kept then.
"""

from __future__ import annotations

import contextlib
import os
import time
from hashlib import sha256

from ..cache.files import MOST_OBJECT, read
from ..errors import UntrustedCacheError

DIGEST_BYTES = 32
UNFINISHED = ".new"  # the end of the name of a file that is not finished
LONG = 3600.0  # seconds, in which nobody still writes a file


class FunctionStore:
    def __init__(self, folder: str | None = None):
        self.folder = folder if folder is not None else default_folder()

    def get(self, key: str) -> bytes | None:
        """The bytes kept under this key, if they are whole and nobody else could have written them."""
        try:
            data = read(self.folder, key, MOST_OBJECT, self.folder)
        except (OSError, UntrustedCacheError):
            return None
        body = data[DIGEST_BYTES:]
        return body if sha256(body).digest() == data[:DIGEST_BYTES] else None

    def put(self, key: str, data: bytes) -> None:
        """Keep these bytes, whole or not at all. A disk that is full or read-only keeps nothing."""
        temporary = f"{self._path(key)}.{os.urandom(8).hex()}{UNFINISHED}"
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            self._sweep()
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(sha256(data).digest() + data)
            os.replace(temporary, self._path(key))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    def _sweep(self) -> None:
        """Remove what killed writers left."""
        before = time.time() - LONG
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):  # another one removes it too
                if entry.name.endswith(UNFINISHED) and entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key)


def default_folder() -> str:
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "pydotcompute", "functions")
