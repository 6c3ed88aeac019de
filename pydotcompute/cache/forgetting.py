"""Against growth of the build's history: records of keys that no manifest names go when what they tell of is gone."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any, Callable

from .inspection import rows
from .layout import KEYS, object_path, record_name


def forget(
    folder: str, manifest: dict[str, Any], gone: Collection[str], older_than: float | None, every: bool, dry_run: bool,
    now: float, say: Callable[[str], None],
) -> int:  # fmt: skip
    """Remove the records of keys that no artifact of a manifest has: those whose objects are not there, or are in
    `gone` (paths relative to the cache), and those written so many seconds before `now`, or all of them. Returns how
    many. Only under the lock, but for a dry run."""
    if not os.path.isdir(os.path.join(folder, KEYS)):
        return 0
    from .store import open_store

    store = open_store(os.path.join(folder, KEYS), say, start_anew=False)
    try:
        kept = {record_name(row.key) for row in rows(manifest)}
        found = 0
        for name, written in store.names().items():
            if not name.startswith(record_name("")) or name in kept:
                continue
            old = older_than is not None and now - written > older_than
            if every or old or not _is_there(folder, store.get(name), gone):
                found += 1
                if not dry_run:
                    store.delete(name)
        return found
    finally:
        store.close()


def _is_there(folder: str, record: Any, gone: Collection[str]) -> bool:
    """Whether the object that a record tells of is there, and stays."""
    try:
        path = object_path(record["entry"]["object"], record["entry"]["suffix"])
    except (TypeError, KeyError):
        return False
    return path not in gone and os.path.exists(os.path.join(folder, path))


def history_size(folder: str) -> int:
    """Bytes of the history; 0 where there is none."""
    try:
        return os.path.getsize(os.path.join(folder, KEYS, "cache.db"))
    except OSError:
        return 0
