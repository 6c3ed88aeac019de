"""A cache or a bundle as a whole: `Cache(path)`, and typed records of what is in it. The command line prints them."""

from __future__ import annotations

import os
from functools import cached_property
from time import time
from typing import Any, Callable, Collection, Mapping, NamedTuple

from ..artifact.identity import title
from ..errors import KernelNotBuiltError
from . import archive, builds, inspection, manifest, objects
from .archive import Imported
from .builds import Builds
from .history import build_seconds
from .layout import object_path
from .manifest import Artifact
from .pruning import Pruned, prune
from .seen import Seen
from .writer import read_manifest, replace_regular


class Record(NamedTuple):
    """One artifact."""

    kernel: str
    specialization: str
    target: str
    object: str  # SHA-256 of its bytes
    suffix: str
    size: int  # bytes
    key: str
    stale: str  # empty: it was current when it was last built; otherwise why not
    meta: dict[str, Any]
    path: str
    made: float | None  # when its object was written, seconds since 1970; None: it is missing
    used: float | None  # when a program loaded it last, to a day; None: never, as far as is known
    fault: str  # what is wrong with its object; empty: nothing


class Share(NamedTuple):
    """What one kernel, or one target, has of a cache."""

    name: str
    artifacts: int
    bytes: int
    seconds: float | None  # that their builds took, of those of which it is known; None: of none
    used: float | None  # when a program loaded one of them last, to a day; None: never, as far as is known


class Statistics(NamedTuple):
    """What there is in a cache, and what it took to make."""

    artifacts: int
    stale: int  # of them: not current when they were last built
    bytes: int
    seconds: float | None  # as of a Share
    unknown: int  # artifacts of which it is not known how long they took
    unused: int  # files among the objects that no artifact uses
    unused_bytes: int
    kernels: tuple[Share, ...]  # the largest first
    targets: tuple[Share, ...]
    builds: Builds  # since the cache was made, as far as they are remembered
    used: float | None  # as of a Share
    problem: str  # why nothing is known of what builds took; empty: there is no fault


class Cache:
    """The cache of a project, or a bundle. path: the project, its build/cache, or the bundle.

    What is read of it is read once, when it is first asked for: a cache that has been changed since is opened anew.
    Every method raises OSError where the disk refuses.
    """

    def __init__(self, path: str | os.PathLike[str] = "."):
        self.folder, self.root = manifest.find(os.fspath(path))

    @property
    def is_bundle(self) -> bool:
        return self.folder == self.root

    @property
    def problem(self) -> str:
        """Why its manifest cannot be used, such as damage; empty: it can, or there is none. Then nothing is listed."""
        return self._read[1]

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels."""
        return list(self.manifest["kernels"])

    @property
    def manifest(self) -> dict[str, Any]:
        """As cache/layout.py describes it."""
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[dict[str, Any], str]:
        return read_manifest(self.folder)

    def records(self, kernels: Collection[str] = ()) -> list[Record]:
        """Every artifact, or those of these kernels, by kernel, specialisation and target. Reads those objects alone
        that have changed since a build read them: `pydotcompute cache verify` reads all."""
        every = self.manifest["kernels"]
        chosen = {**self.manifest, "kernels": {name: every[name] for name in every if not kernels or name in kernels}}
        faults = inspection.artifact_faults(self.folder, chosen, Seen(self.folder).fault)
        there, uses = inspection.stored(self.folder), inspection.uses(self.folder)
        found = []
        for row in inspection.rows(chosen):
            name = object_path(row.object, row.suffix)
            made = there[name].made if name in there else None
            path = os.path.join(self.folder, name)
            found.append(Record(*row, path, made, uses.get(row.object), faults[row[:3]]))
        return found

    def statistics(self) -> Statistics:
        """How many artifacts and bytes each kernel and target has, and how long they took. Reads no object."""
        rows = list(inspection.rows(self.manifest))
        seconds, problem = build_seconds(self.folder)
        uses = inspection.uses(self.folder)
        known = [seconds[row.key] for row in rows if row.key in seconds]
        used = {object_path(row.object, row.suffix) for row in rows}
        unused = [file.size for name, file in inspection.stored(self.folder).items() if name not in used]
        return Statistics(
            artifacts=len(rows), stale=sum(bool(row.stale) for row in rows), bytes=sum(row.size for row in rows),
            seconds=sum(known) if known else None, unknown=len(rows) - len(known),
            unused=len(unused), unused_bytes=sum(unused),
            kernels=_shares(rows, seconds, uses, lambda row: row.kernel),
            targets=_shares(rows, seconds, uses, lambda row: row.target),
            builds=builds.noted(self.folder), used=_last(rows, uses), problem=problem,
        )  # fmt: skip

    def read(self, kernel: str, specialization: str, target: str) -> bytes:
        """The object of an artifact, with the line that says what it is: compared with its digest, and with that line.

        Raises KernelNotBuiltError: there is no such artifact, or it is damaged; UntrustedCacheError.
        """
        return objects.read_whole(self._artifact(kernel, specialization, target))

    def extract(self, kernel: str, specialization: str, target: str, path: str | os.PathLike[str]) -> int:
        """Write what `read` gives to the file `path`, whole or not at all; returns how many bytes. Raises as `read`,
        and ValueError where `path` is something else than a file."""
        data = self.read(kernel, specialization, target)
        replace_regular(os.fspath(path), data)
        return len(data)

    def prune(
        self, max_size: int | None = None, older_than: float | None = None, unused: bool = False,
        dry_run: bool = False, say: Callable[[str], None] = lambda line: None,
    ) -> Pruned:  # fmt: skip
        """Take objects that the manifest does not call current out of a project's cache, under its lock.

        max_size: bytes that all objects together may have, the current ones among them: then those that no artifact
        uses go first, then those of artifacts that are out of date, each from that on which was not used for longest.
        older_than: seconds; all that were made before, and not used since. unused: all that no artifact uses.
        dry_run: only say which. `say` hears who is waited for. An artifact whose object goes leaves the manifest, and
        what is remembered of the builds of objects that go, goes with them.

        Raises ValueError for a bundle; KernelNotBuiltError where the manifest cannot be read, since nothing is known
        of what is current; UntrustedCacheError.
        """
        if self.is_bundle:
            raise ValueError(f"{self.root} is a bundle: all in it is current")
        self.__dict__.pop("_read", None)
        return prune(self.folder, self.root, max_size, older_than, unused, dry_run, time(), say)

    def export_to(self, path: str | os.PathLike[str]) -> tuple[int, int]:
        """Write the current artifacts to the file `path`, whole or not at all, for `import_from` on another machine;
        returns how many, and the bytes of the file.

        Raises KernelNotBuiltError where there is no manifest, or an object is damaged; UntrustedCacheError; ValueError
        where `path` is something else than a file.
        """
        return archive.export(self.folder, self.root, os.fspath(path))

    def import_from(self, path: str | os.PathLike[str], say: Callable[[str], None] = lambda line: None) -> Imported:
        """Take the artifacts of an archive into a project's cache, under its lock: those that are not there, or not
        current there, of kernels that are declared the same there. `say` hears who is waited for.

        All of the archive is checked first. What is in it runs as you, like anything that you install. Whether it is
        what the sources here say, the next build finds out. Raises ArchiveError; ValueError for a bundle;
        UntrustedCacheError.
        """
        if self.is_bundle:
            raise ValueError(f"{self.root} is a bundle: nothing is added to it")
        self.__dict__.pop("_read", None)
        return archive.take(self.folder, self.root, os.fspath(path), say)

    def _artifact(self, kernel: str, specialization: str, target: str) -> Artifact:
        kernels = manifest.read(self.folder, self.root)
        if kernel in kernels:
            record = manifest.kernel_record(kernels, kernel, self.folder, self.root)
            if specialization in record.specialisations:
                for artifact in record.specialisations[specialization].artifacts:
                    if artifact.target == target:
                        return artifact
        raise KernelNotBuiltError(f"there is no {title(kernel, specialization)} for {target} in {self.folder}")


def _shares(
    rows: list[inspection.Row], seconds: dict[str, float], uses: dict[str, float],
    name: Callable[[inspection.Row], str],
) -> tuple[Share, ...]:  # fmt: skip
    parts: dict[str, list[inspection.Row]] = {}
    for row in rows:
        parts.setdefault(name(row), []).append(row)
    shares = []
    for each, part in parts.items():
        known = [seconds[row.key] for row in part if row.key in seconds]
        size = sum(row.size for row in part)
        shares.append(Share(each, len(part), size, sum(known) if known else None, _last(part, uses)))
    return tuple(sorted(shares, key=lambda share: (-share.bytes, share.name)))


def _last(rows: list[inspection.Row], uses: dict[str, float]) -> float | None:
    return max((uses[row.object] for row in rows if row.object in uses), default=None)


def indices(meta: Mapping[str, Any]) -> str:
    """What becomes of an artifact's indices."""
    if sites := meta.get("sites"):
        return f"{len(sites)} checked in every call, the others proved to be inside"
    unchecked = meta.get("unchecked")  # by targets of others: not said
    if unchecked == 0:
        return "proved to be inside"
    some = f"{unchecked} access{'es' * (unchecked != 1)}" if unchecked else "all accesses"
    return f"those of {some} neither proved to be inside nor checked"
