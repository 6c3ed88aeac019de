"""Against growth: taking objects out of a project's cache, never one that its manifest calls current."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection
from typing import Any, Callable, NamedTuple

from ..errors import KernelNotBuiltError
from . import trust
from .files import MOST_MANIFEST, read_file
from .forgetting import forget, history_size
from .inspection import entries, rows, stored, uses
from .layout import MANIFEST, RECORDS, USED, object_path
from .lock import locked
from .records import FAULTS
from .writer import read_manifest, write_manifest

Name = tuple[str, str, str]


class Taken(NamedTuple):
    """An object that is taken."""

    path: str  # relative to the cache
    size: int  # bytes
    made: float  # seconds since 1970
    used: float | None  # when a program loaded it last, to a day; None: never, as far as is known
    artifacts: tuple[Name, ...]  # which it is of: kernel, specialisation, target, out of date; none: of older builds

    @property
    def last(self) -> float:
        """When it was made or, later, used last: what its age counts from."""
        return max(self.made, self.used or self.made)


class Pruned(NamedTuple):
    """What a pruning takes, or would take."""

    objects: tuple[Taken, ...]
    bytes: int  # of them
    left: int  # bytes of the objects that stay
    records: int = 0  # of the build's history, of artifacts that are not there


def prune(
    folder: str, root: str, max_size: int | None, older_than: float | None, unused: bool, dry_run: bool, now: float,
    say: Callable[[str], None],
) -> Pruned:  # fmt: skip
    """See Cache.prune. now: seconds since 1970."""
    trust.require_folder(folder, root)
    if not os.path.isdir(folder):
        return Pruned((), 0, 0)
    with contextlib.nullcontext() if dry_run else locked(folder, say):
        manifest, problem = read_manifest(folder)
        if not problem and not os.path.exists(os.path.join(folder, MANIFEST)) and stored(folder):
            problem = f"{folder}: there is no {MANIFEST}"
        if problem:
            raise KernelNotBuiltError(
                f"{problem}: so it is not known which objects are current, and none is removed; 'pydotcompute build' "
                "makes it anew, 'pydotcompute cache clear' removes all"
            )
        chosen = _choose(folder, manifest, max_size, older_than, unused, now)
        if gone := {name for taken in chosen.objects for name in taken.artifacts}:
            manifest = _without(manifest, gone)
            if not dry_run:
                write_manifest(folder, manifest)  # first: it never names an object that was taken
        if not dry_run:
            _take(folder, chosen)
        paths = {taken.path for taken in chosen.objects}
        records = forget(folder, manifest, paths, older_than, unused, dry_run, now, lambda line: None)
    return chosen._replace(records=records)


def is_above(folder: str, most: int) -> bool:
    """Whether the objects of a cache, or what it remembers of builds, have more bytes than this."""
    return max(sum(file.size for file in stored(folder).values()), history_size(folder)) > most


def keep_to(folder: str, manifest: dict[str, Any], most: int) -> Pruned:
    """Take objects that no artifact uses until all have at most so many bytes, those first that were not used for
    longest; and what is remembered of builds, if that has more. What the index before this one names stays as well,
    since programs that run may load it: its records are there until the build after next. Only under the lock."""
    kept = {object_path(row.object, row.suffix) for row in rows(manifest)} | _recorded(folder)
    left = sum(file.size for file in stored(folder).values())
    chosen: list[Taken] = []
    for taken in _candidates(folder, kept, {}):
        if left <= most:
            break
        chosen.append(taken)
        left -= taken.size
    found = Pruned(tuple(chosen), sum(taken.size for taken in chosen), left)
    _take(folder, found)
    every = history_size(folder) > most
    return found._replace(records=forget(folder, manifest, (), None, every, False, 0.0, lambda line: None))


def _recorded(folder: str) -> set[str]:
    """The paths of the objects that the records on the disk name."""
    found = set()
    for entry in entries(os.path.join(folder, RECORDS)):
        with contextlib.suppress(OSError, *FAULTS):
            record = json.loads(read_file(entry.path, MOST_MANIFEST))
            found |= {
                object_path(artifact["object"], artifact["suffix"])
                for specialisation in record["specializations"].values()
                for artifact in specialisation["artifacts"].values()
            }
    return found


def _take(folder: str, chosen: Pruned) -> None:
    for taken in chosen.objects:
        path = os.path.join(folder, taken.path)
        mark = os.path.join(folder, USED, _digest(path))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        with contextlib.suppress(OSError):
            os.unlink(mark)
        with contextlib.suppress(OSError):  # another object is in it
            os.rmdir(os.path.dirname(path))


def _candidates(folder: str, kept: Collection[str], stale: dict[str, list[Name]]) -> list[Taken]:
    """What may go: objects that no artifact uses first, each kind from that on which was not used for longest."""
    used = uses(folder)
    found = [
        Taken(path, file.size, file.made, used.get(_digest(path)), tuple(stale.get(path, ())))
        for path, file in stored(folder).items()
        if path not in kept
    ]
    return sorted(found, key=lambda taken: (bool(taken.artifacts), taken.last, taken.path))


def _digest(path: str) -> str:
    return os.path.basename(path).partition(".")[0]


def _choose(
    folder: str, manifest: dict[str, Any], max_size: int | None, older_than: float | None, unused: bool, now: float
) -> Pruned:
    current = set()
    stale: dict[str, list[Name]] = {}
    for row in rows(manifest):
        path = object_path(row.object, row.suffix)
        if row.stale:
            stale.setdefault(path, []).append(row[:3])
        else:
            current.add(path)
    left = sum(file.size for file in stored(folder).values())
    chosen: list[Taken] = []
    others: list[Taken] = []
    for taken in _candidates(folder, current, stale):
        asked = (unused and not taken.artifacts) or (older_than is not None and now - taken.last > older_than)
        (chosen if asked else others).append(taken)
    left -= sum(taken.size for taken in chosen)
    for taken in others:
        if max_size is None or left <= max_size:
            break
        chosen.append(taken)
        left -= taken.size
    return Pruned(tuple(chosen), sum(taken.size for taken in chosen), left)


def _without(manifest: dict[str, Any], gone: set[Name]) -> dict[str, Any]:
    kernels = {}
    for kernel, header in manifest["kernels"].items():
        specialisations = {}
        for label, specialisation in header["specializations"].items():
            artifacts = specialisation["artifacts"]
            artifacts = {target: artifacts[target] for target in artifacts if (kernel, label, target) not in gone}
            specialisations[label] = {**specialisation, "artifacts": artifacts}
        kernels[kernel] = {**header, "specializations": specialisations}
    return {**manifest, "kernels": kernels}
