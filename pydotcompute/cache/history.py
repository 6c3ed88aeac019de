"""What the build's history says of artifacts, read without changing it, and without the package that writes it."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import Any
from urllib.parse import quote

from .keys import is_time
from .layout import KEYS, record_name

FILES = ("cache.db", "cache.db-wal", "cache.db-shm", "cache.db-journal")
MOST = 1 << 30  # bytes
MALFORMED = "malformed database schema"


def require_files(folder: str) -> None:
    """Raise sqlite3.DatabaseError where a database in a folder is no file, which SQLite might wait for, or too long."""
    for path in (os.path.join(folder, name) for name in FILES):
        if os.path.lexists(path) and not os.path.isfile(path):
            raise sqlite3.DatabaseError(f"{os.path.basename(path)} is not a file")
        if os.path.lexists(path) and os.path.getsize(path) > MOST:
            raise sqlite3.DatabaseError(f"{os.path.basename(path)} has {os.path.getsize(path)} bytes, more than {MOST}")


def query(folder: str, text: str) -> list[tuple[Any, ...]]:
    """What the database of a cache answers; nothing where there is none. Raises sqlite3.Error."""
    path = os.path.join(folder, KEYS, "cache.db")
    if not os.path.lexists(path):
        return []
    require_files(os.path.dirname(path))
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    try:
        return connection.execute(text).fetchall()
    except UnicodeDecodeError:  # SQLite quotes what is damaged
        raise sqlite3.DatabaseError(MALFORMED) from None
    finally:
        connection.close()


def build_seconds(folder: str) -> tuple[dict[str, float], str]:
    """Key → how long the build of its artifact took, where that is known, and why nothing can be read; a bundle has
    no history."""
    try:
        rows = query(folder, "SELECT key, value FROM Cache WHERE raw = 1 AND typeof(value) = 'blob'")
    except sqlite3.Error as error:
        return {}, f"{os.path.join(folder, KEYS, 'cache.db')}: the history of the cache cannot be read: {error}"
    start = record_name("")
    return {
        name[len(start) :]: seconds
        for name, value in rows
        if isinstance(name, str) and name.startswith(start) and (seconds := _seconds(value)) is not None
    }, ""


def _seconds(value: bytes) -> float | None:
    try:
        record = json.loads(value.decode())  # of bytes it would guess the encoding
    except (ValueError, RecursionError):
        return None
    seconds = record.get("seconds") if isinstance(record, dict) else None
    return float(seconds) if is_time(seconds) else None
