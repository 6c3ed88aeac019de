"""What `pydotcompute check` found of each object, kept at best effort: verdicts on bytes, whatever is made of them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from .files import read_file
from .inspection import CHECKS, rows
from .writer import read_manifest, replace_file

MOST = 1 << 26  # bytes that are read
Name = tuple[str, str, str]  # kernel, specialisation, target


class Checked(NamedTuple):
    """What the last check of an artifact found."""

    at: float  # seconds since 1970
    cases: int  # calls that were made
    failed: int  # how many of them did not hold
    what: str  # the first one


def objects(folder: str) -> dict[Name, str]:
    """The digest of the object of each artifact. Raises OSError where the manifest is there and cannot be read."""
    return {row[:3]: row.object for row in rows(read_manifest(folder)[0])}


def keep(folder: str, found: Mapping[Name, Checked], before: Mapping[Name, str]) -> None:
    """Keep verdicts, of those that were built; what is no longer there goes. before: the objects when the check began,
    for builds may have put others there since."""
    with contextlib.suppress(OSError):
        known = kept(folder) | {before[name]: checked for name, checked in found.items() if name in before}
        there = set(objects(folder).values())
        data = json.dumps({name: list(checked) for name, checked in known.items() if name in there})
        replace_file(os.path.join(folder, CHECKS), data.encode(), sync=False)


def kept(folder: str) -> dict[str, Checked]:
    """Digest of an object → what was found of it; nothing where it cannot be read."""
    try:
        found = json.loads(read_file(os.path.join(folder, CHECKS), MOST))
        return {
            str(name): Checked(float(at), int(cases), int(failed), str(what))
            for name, (at, cases, failed, what) in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
