"""The build half's memory: a diskcache of text keys and raw bytes under `build/cache/keys`.

What it holds is history (the fields behind each key, timings), never the only copy of anything a call needs:
deleting it, or a damaged `cache.db`, loses nothing else. diskcache would pickle what is not plain, and unpickle
whatever a file offers; the `Disk` here stores `str` → `bytes` alone and refuses any other row on reading.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from typing import Any, Callable

import diskcache
from diskcache.core import MODE_RAW

from .history import MALFORMED, require_files
from .lock import require_record_locks

WRONG = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)  # of what a damaged file says
NOT_RAW = "the store holds only text keys and raw bytes"


class RawDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """`str` → `bytes` and nothing else; refuses (TypeError, ValueError) instead of pickling or unpickling."""

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            raise TypeError(f"{NOT_RAW}, not a key of type {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or type(key) is not str:
            raise ValueError(NOT_RAW)
        return key

    def store(self, value: object, read: object, key: object = diskcache.UNKNOWN) -> tuple[int, int, None, memoryview]:
        if type(value) is not bytes or read:
            raise TypeError(f"{NOT_RAW}, not a value of type {type(value).__name__}")
        return 0, MODE_RAW, None, sqlite3.Binary(value)

    def fetch(self, mode: object, filename: object, value: object, read: object) -> bytes:
        if mode != MODE_RAW or filename is not None or type(value) is not bytes or read:
            raise ValueError(NOT_RAW)
        return value


class Store:
    """A dictionary of text → JSON on disk. Open it with `open_store`, and only for writing under the build's lock.

    A failure of the database is said once through `say` and ends the history of this process, not the build.
    """

    def __init__(self, folder: str, say: Callable[[str], None]):
        self._folder, self._say = folder, say
        self._cache: diskcache.Cache | None = None

    def get(self, name: str) -> Any:
        """The value under `name`, or None: never stored, not JSON, or not of our making."""
        data = self._try(lambda cache: cache.get(name))
        try:
            return None if data is None else json.loads(data)
        except (ValueError, RecursionError):
            return None

    def set(self, name: str, value: Any) -> None:
        data = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        self._try(lambda cache: cache.set(name, data))

    def delete(self, name: str) -> None:
        self._try(lambda cache: cache.delete(name))

    def names(self) -> dict[str, float]:
        """Every key → when its value was written, seconds since 1970; rows that are not ours left out."""

        def rows(cache: diskcache.Cache) -> dict[str, float]:
            found = cache._sql("SELECT key, store_time FROM Cache WHERE raw = 1 AND typeof(key) = 'text'")
            return {key: float(written) for key, written in found}

        return self._try(rows) or {}

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def _try(self, action: Callable[[diskcache.Cache], Any]) -> Any:
        if self._cache is None:
            return None
        try:
            return action(self._cache)
        except WRONG:
            return None  # a row that is not ours
        except (sqlite3.Error, diskcache.Timeout, OSError) as error:
            self._say(f"{self._folder}: the history of the cache is not kept: {error}")
            self.close()
            return None


def open_store(folder: str, say: Callable[[str], None], start_anew: bool = True) -> Store:
    """The store in `folder`, made if it is not there (owner-only).

    A damaged one is started anew, and that is said, if `start_anew`; otherwise it is treated as empty. A folder
    that cannot be written gives an empty store, said too: history is never a reason for a build to fail.
    """
    store = Store(folder, say)
    try:
        store._cache = _open(folder)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) or not start_anew:
            say(f"{folder}: the history of the cache cannot be read: {error}")
            return store
        shutil.rmtree(folder, ignore_errors=True)
        say(f"{folder}: cache.db was damaged ({error}); its history is lost, the artifacts are not")
        try:
            store._cache = _open(folder)
        except (sqlite3.Error, OSError) as again:
            say(f"{folder}: the history of the cache is not kept: {again}")
    except (OSError, diskcache.Timeout) as error:
        say(f"{folder}: the history of the cache is not kept: {error}")
    return store


def _open(folder: str) -> diskcache.Cache:
    require_files(folder)
    before = os.umask(0o077)  # diskcache makes its files world-readable otherwise
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        require_record_locks(folder)
        cache = diskcache.Cache(
            folder,
            disk=RawDisk,
            eviction_policy="none",
            cull_limit=0,
            size_limit=2**62,
            statistics=0,
            tag_index=0,
            disk_min_file_size=2**31,  # never a file of its own
        )
    except WRONG:  # diskcache believes what it reads
        raise sqlite3.DatabaseError(MALFORMED) from None
    finally:
        os.umask(before)
    # A page damaged in the middle shows only when it is read.
    problem = cache._sql("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        cache.close()
        raise sqlite3.DatabaseError(problem)
    return cache
