"""Cache keys: a SHA-256 over labelled, length-prefixed fields, and the comparison that says which of them changed.

Two artifacts have one key exactly if everything that can reach their bytes is the same. No path, time or host is a
field; for `cpu:native` the processor is one. A field is text, so that the kept ones can be shown, old → new.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Mapping, TypeGuard

FORMAT = "1"  # of keys: a new one makes every artifact stale


def digest(data: bytes | str) -> str:
    """SHA-256 in hex; text as UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def canonical(value: Any) -> str:
    """One text for one value: JSON with sorted keys, no blanks; a text stays as it is."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def key(fields: Mapping[str, str]) -> str:
    """The key of these fields. Their order does not matter; names and values cannot run into each other."""
    state = hashlib.sha256()
    for name, value in (("format", FORMAT), *sorted(fields.items())):
        for part in (name.encode(), value.encode()):
            state.update(b"%d:" % len(part))
            state.update(part)
    return state.hexdigest()


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str | None, str | None]]:
    """The fields that differ: (name, old, new), None where a side has no such field; in the order of `new`."""
    names = [*new, *(name for name in old if name not in new)]
    return [(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


def record_of(found: Any) -> dict[str, Any] | None:
    """What is remembered under a key, with all its parts; None where it is not what a build or a bundle writes."""
    if not isinstance(found, dict):
        return None
    record = {"sources": {}, "phases": {}, "seconds": None, **found}
    texts = [record.get("fields"), record["sources"]]
    if not all(isinstance(part, dict) and {str}.issuperset(map(type, part.values())) for part in texts):
        return None
    times = record["phases"].values() if isinstance(record["phases"], dict) else ("",)
    seconds = record["seconds"]
    return record if all(map(is_time, times)) and (seconds is None or is_time(seconds)) else None


def is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and 0 <= value < math.inf
