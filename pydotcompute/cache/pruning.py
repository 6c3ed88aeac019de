"""Against growth: taking objects out of a project's cache, never one that its manifest calls current."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, NamedTuple

from ..errors import KernelNotBuiltError
from . import trust
from .inspection import rows, stored
from .layout import MANIFEST, object_path
from .lock import locked
from .writer import read_manifest, write_manifest

Name = tuple[str, str, str]


class Taken(NamedTuple):
    """An object that is taken."""

    path: str  # relative to the cache
    size: int  # bytes
    made: float  # seconds since 1970
    artifacts: tuple[Name, ...]  # which it is of: kernel, specialisation, target, out of date; none: of older builds


class Pruned(NamedTuple):
    """What a pruning takes, or would take."""

    objects: tuple[Taken, ...]
    bytes: int  # of them
    left: int  # bytes of the objects that stay


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
        if not dry_run:
            if gone := {name for taken in chosen.objects for name in taken.artifacts}:
                write_manifest(folder, _without(manifest, gone))  # first: it never names an object that was taken
            for taken in chosen.objects:
                path = os.path.join(folder, taken.path)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
                with contextlib.suppress(OSError):  # another object is in it
                    os.rmdir(os.path.dirname(path))
    return chosen


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
    there = stored(folder)
    left = sum(file.size for file in there.values())
    candidates = [
        Taken(path, file.size, file.made, tuple(stale.get(path, ())))
        for path, file in there.items()
        if path not in current
    ]
    candidates.sort(key=lambda taken: (bool(taken.artifacts), taken.made, taken.path))
    chosen: list[Taken] = []
    others: list[Taken] = []
    for taken in candidates:
        asked = (unused and not taken.artifacts) or (older_than is not None and now - taken.made > older_than)
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
