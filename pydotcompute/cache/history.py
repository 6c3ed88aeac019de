"""What the build's history says of artifacts, read without changing it, and without the package that writes it."""

from __future__ import annotations

import json
import os
import sqlite3

from .layout import KEYS, record_name


def build_seconds(folder: str) -> tuple[dict[str, float], str]:
    """Key → how long the build of its artifact took, where that is known, and why nothing can be read; a bundle has
    no history."""
    path = os.path.join(folder, KEYS, "cache.db")
    if not os.path.exists(path):
        return {}, ""
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = connection.execute(
                "SELECT key, value FROM Cache WHERE raw = 1 AND typeof(value) = 'blob'"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        return {}, f"{path}: the history of the cache cannot be read: {error}"
    start = record_name("")
    return {
        name[len(start) :]: seconds
        for name, value in rows
        if isinstance(name, str) and name.startswith(start) and (seconds := _seconds(value)) is not None
    }, ""


def _seconds(value: bytes) -> float | None:
    try:
        record = json.loads(value)
    except ValueError:
        return None
    seconds = record.get("seconds") if isinstance(record, dict) else None
    return float(seconds) if isinstance(seconds, (int, float)) and seconds >= 0 else None
