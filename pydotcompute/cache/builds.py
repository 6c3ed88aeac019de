"""What builds found current, what they made and why: a line for each in a log beside the cache, kept at best effort.

Every line is the sum of some builds, so that the log may be summed up in one whenever it has grown. What a build saved
is known of artifacts whose making was timed: `seconds.json` says how long that took, by key.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from .files import read_file
from .writer import replace_file

LOG = "builds.jsonl"  # in the cache's folder, as is the next
SECONDS = "seconds.json"
LONG = 1 << 16  # bytes: a log that has more is summed up
MOST = 1 << 26  # bytes that are read
LONGEST = 1e12  # seconds that anything took, or since 1970: JSON has NaN and infinities too


class Builds(NamedTuple):
    """Some builds of a cache together."""

    since: float | None = None  # when the first of them was, seconds since 1970; None: there is none
    builds: int = 0
    hits: int = 0  # artifacts that were current, or had been made before for the very same key
    saved: float = 0.0  # seconds that making those took once, where that is known
    misses: Mapping[str, int] = {}  # why artifacts were made → how many, the most frequent first


def note(folder: str, builds: Builds) -> None:
    """Add to the log, and put the sum of a long one in its place. What the disk refuses is not kept, nor what another
    process adds just then."""
    line = json.dumps(builds._asdict(), separators=(",", ":")) + "\n"
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(os.path.join(folder, LOG), flags, 0o644)
        try:
            os.write(handle, line.encode())
            size = os.fstat(handle).st_size
        finally:
            os.close(handle)
        if size > LONG:
            sum_of_all = json.dumps(noted(folder)._asdict(), separators=(",", ":")) + "\n"
            replace_file(os.path.join(folder, LOG), sum_of_all.encode(), sync=False)


def noted(folder: str) -> Builds:
    """The sum of the log. Lines that are none, such as half of one, are passed over."""
    try:
        lines = read_file(os.path.join(folder, LOG), MOST).splitlines()
    except OSError:
        return Builds()
    found = [builds for line in lines if (builds := _parsed(line)) is not None]
    misses: Counter[str] = Counter()
    for each in found:
        misses.update(each.misses)
    since = min((each.since for each in found if each.since is not None), default=None)
    number, hits = sum(each.builds for each in found), sum(each.hits for each in found)
    return Builds(since, number, hits, sum(each.saved for each in found), dict(misses.most_common()))


def keep_seconds(folder: str, seconds: Mapping[str, float]) -> None:
    """Key → how long making that artifact took. Raises OSError."""
    if seconds != kept_seconds(folder):
        data = json.dumps(seconds, separators=(",", ":")).encode()
        replace_file(os.path.join(folder, SECONDS), data, sync=False)


def kept_seconds(folder: str) -> dict[str, float]:
    """What `keep_seconds` was given last; nothing where it cannot be read."""
    try:
        found = json.loads(read_file(os.path.join(folder, SECONDS), MOST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: float(s) for key, s in found.items() if isinstance(s, (int, float)) and 0 <= s < LONGEST}


def _parsed(line: bytes) -> Builds | None:
    try:
        found: dict[str, Any] = json.loads(line)
        misses = {str(why): int(number) for why, number in found["misses"].items()}
        since, saved = float(found["since"]), float(found["saved"])
        if not (0 <= since < LONGEST and 0 <= saved < LONGEST):
            return None
        return Builds(since, int(found["builds"]), int(found["hits"]), saved, misses)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
