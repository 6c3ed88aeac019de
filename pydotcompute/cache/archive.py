"""A cache on its way to another machine: one file, whose every byte is checked before anything of it is kept.

The file is a tar without compression: `manifest.json` first, then each object that it names, as the cache has them
(cache/layout.py); nothing else is in it. The same cache gives the same bytes. What the build remembers (its history)
stays where it is. An archive is code: who takes one in trusts whoever made it.
"""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
from typing import IO, Any, Callable, Iterator, Mapping, NamedTuple

from ..artifact.identity import difference, of
from ..errors import ArchiveError, KernelNotBuiltError
from . import files, manifest, sources, trust
from .inspection import artifact_faults
from .layout import MANIFEST, VERSION
from .lock import locked
from .manifest import Artifact
from .objects import read_whole
from .sealed import is_whole, seal
from .writer import (
    close_to_others,
    make_folders,
    manifest_text,
    read_manifest,
    replace_regular,
    write_manifest,
    write_object,
)

Kernels = dict[str, Any]  # of a manifest
Name = tuple[str, str, str]


class Imported(NamedTuple):
    """What came of the artifacts of an archive: kernel, specialisation, target."""

    taken: tuple[Name, ...]
    kept: tuple[Name, ...]  # there is one here that is current: the archive's was left out
    refused: tuple[Name, ...]  # their kernels are declared otherwise here: left out


def export(folder: str, root: str, path: str) -> tuple[int, int]:
    """See Cache.export_to."""
    kernels = _current(manifest.read(folder, root))
    target = io.BytesIO()
    artifacts = _artifacts(kernels, folder, root)
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        _add(tar, MANIFEST, seal(manifest_text({"version": VERSION, "kernels": kernels})))
        for file, artifact in {artifact.file: artifact for artifact in artifacts.values()}.items():
            _add(tar, file, read_whole(artifact))
    replace_regular(path, target.getvalue())
    return len(artifacts), len(target.getvalue())


def take(folder: str, root: str, path: str, say: Callable[[str], None]) -> Imported:
    """See Cache.import_from."""
    with _open(path) as file:
        try:
            kernels = _kernels(file)
            artifacts = _artifacts(kernels, folder, root)
            for _ in _objects(file, artifacts):  # all of it is whole, before anything is kept
                pass
            if who := close_to_others(folder):
                say(f"{folder}: {who}; now only you may. If they may have: pydotcompute cache clear, then import again")
            trust.require_folder(folder, root)
            make_folders(folder)
            with locked(folder, say):
                return _take_locked(folder, root, file, kernels, artifacts, say)
        except (tarfile.TarError, ArchiveError) as error:
            raise ArchiveError(f"{path}: {error}; nothing of it was taken") from None


def _take_locked(
    folder: str, root: str, file: IO[bytes], kernels: Kernels, artifacts: dict[Name, Artifact],
    say: Callable[[str], None],
) -> Imported:  # fmt: skip
    ours, problem = read_manifest(folder)
    if problem:
        say(f"{problem}; it is made anew")
    faults = artifact_faults(folder, ours)
    merged = dict(ours["kernels"])
    taken, kept, refused = [], [], []
    for name in artifacts:
        here = _entry(merged, name)
        if name[0] in merged and not _is_like(merged[name[0]], kernels[name[0]], name[1]):
            refused.append(name)
        elif here is not None and not here.get("stale") and not faults.get(name):
            kept.append(name)
        else:
            taken.append(name)
            merged[name[0]] = _with(merged.get(name[0]), kernels[name[0]], name)
    wanted = {artifacts[name].file for name in taken}
    for artifact, data in _objects(file, artifacts):
        if artifact.file in wanted:
            write_object(folder, data, artifact.suffix)
    if taken:
        if sources.recorded(root) is not None:
            sources.record(root, {})  # whether the sources are those that all is built from is no longer known
        write_manifest(folder, {**ours, "kernels": merged})
    return Imported(tuple(taken), tuple(kept), tuple(refused))


def _is_like(ours: dict[str, Any], theirs: dict[str, Any], label: str) -> bool:
    """Whether two entries of a kernel declare the same, so that artifacts of both may stand side by side."""
    free = ("specializations", "targets", "doc")
    if any(ours.get(part) != theirs.get(part) for part in {*ours, *theirs}.difference(free)):
        return False
    here, there = ours["specializations"].get(label), theirs["specializations"][label]
    return here is None or all(here[part] == there[part] for part in ("types", "params"))


def _with(ours: dict[str, Any] | None, theirs: dict[str, Any], name: Name) -> dict[str, Any]:
    """The entry of a kernel with one artifact of the archive's."""
    _, label, target = name
    theirs_here = theirs["specializations"][label]
    ours = ours or {**theirs, "specializations": {}}
    here = ours["specializations"].get(label) or {**theirs_here, "artifacts": {}}
    aliases = theirs_here["aliases"]
    if here["artifacts"]:  # what holds for all of them
        aliases = [pair for pair in here["aliases"] if pair in aliases]
    artifacts = {**here["artifacts"], target: theirs_here["artifacts"][target]}
    new = {**here, "aliases": aliases, "artifacts": artifacts}
    if failed := {t: why for t, why in new.pop("failed", {}).items() if t != target}:
        new["failed"] = failed
    return {**ours, "specializations": {**ours["specializations"], label: new}}


def _entry(kernels: Kernels, name: Name) -> dict[str, Any] | None:
    kernel, label, target = name
    found = kernels.get(kernel, {}).get("specializations", {}).get(label, {}).get("artifacts", {}).get(target)
    return found if isinstance(found, dict) else None


def _current(kernels: Mapping[str, Any]) -> Kernels:
    """The artifacts of a manifest that are current, and the kernels and specialisations that have any."""
    chosen = {}
    for kernel, header in kernels.items():
        specialisations = {}
        for label, specialisation in header["specializations"].items():
            entries = {target: e for target, e in specialisation["artifacts"].items() if not e.get("stale")}
            if entries:
                specialisations[label] = {**specialisation, "artifacts": entries}
                specialisations[label].pop("failed", None)
        if specialisations:
            chosen[kernel] = {**header, "specializations": specialisations}
    return chosen


def _artifacts(kernels: Kernels, folder: str, root: str) -> dict[Name, Artifact]:
    """Raises KernelNotBuiltError where a kernel is not what a manifest has."""
    return {
        (name, specialisation.name, artifact.target): artifact
        for name in kernels
        for specialisation in manifest.kernel_record(kernels, name, folder, root).specialisations.values()
        for artifact in specialisation.artifacts
    }


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)  # of no user, and of no time
    member.size, member.mode = len(data), 0o644
    tar.addfile(member, io.BytesIO(data))


def _open(path: str) -> IO[bytes]:
    """Raises OSError, ArchiveError where it is no file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ArchiveError(f"{path}: not a file")
    return os.fdopen(handle, "rb")


def _members(file: IO[bytes]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """The name and size of every member, and what reads it."""
    file.seek(0)
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.pax_headers:
                raise ArchiveError(f"{member.name!r} in it is not a plain file")
            content = tar.extractfile(member)
            assert content is not None  # it is a regular file
            yield member.name, member.size, content.read


def _kernels(file: IO[bytes]) -> Kernels:
    """Those of the manifest in an archive, each looked into."""
    name, size, read = next(_members(file), ("", 0, bytes))
    if name != MANIFEST or size > files.MOST_MANIFEST:
        raise ArchiveError(f"not a cache: the first file in it is not a {MANIFEST}")
    data = read()
    try:
        found = json.loads(data)
        version, kernels = found["version"], found["kernels"]
        if version != VERSION or type(version) is not int:
            raise ArchiveError(f"its {MANIFEST} has format version {version!r}, this program reads {VERSION}")
        if not is_whole(data):
            raise ArchiveError(f"its {MANIFEST} is damaged")
        artifacts = _artifacts(kernels, MANIFEST, MANIFEST)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, KernelNotBuiltError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"its {MANIFEST} is damaged") from None
    if not all(kernel.isidentifier() for kernel in kernels) or any(artifact.stale for artifact in artifacts.values()):
        raise ArchiveError(f"its {MANIFEST} is not one that an export writes")
    return dict(kernels)


def _objects(file: IO[bytes], artifacts: dict[Name, Artifact]) -> Iterator[tuple[Artifact, bytes]]:
    """Every object of an archive, each compared with its digest and with the line that it must have."""
    missing = {artifact.file: artifact for artifact in artifacts.values()}
    if len(missing) < len(artifacts):
        raise ArchiveError("two artifacts in it have one object")
    for name, size, read in _members(file):
        if name == MANIFEST and len(missing) == len(artifacts):
            continue
        artifact = missing.pop(name, None)
        if artifact is None:
            raise ArchiveError(f"{name!r} in it is no object of its {MANIFEST}, or is there twice")
        data = read() if size == artifact.size else b""
        if len(data) != artifact.size or files.sha256(data) != artifact.digest:
            raise ArchiveError(f"{artifact} is damaged")
        if problem := difference(of(data)[0], artifact.said):
            raise ArchiveError(f"{artifact}: its object {problem}")
        yield artifact, data
    if missing:
        raise ArchiveError(f"{next(iter(missing.values()))} is missing")
