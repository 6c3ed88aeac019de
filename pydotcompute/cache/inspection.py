"""Looking into a cache or a bundle: what is in it, whether it is whole; and emptying one. Data in, data out."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from functools import partial
from typing import Any, Callable, Iterator, NamedTuple

from .builds import LOG, SECONDS
from .layout import KEYS, MANIFEST, OBJECTS, RECORDS, USED, object_path
from .lock import locked
from .manifest import kernel_record
from .seen import SEEN
from .sources import SOURCES
from .writer import TEMPORARY, object_fault, read_manifest

OBJECT_NAME = re.compile(OBJECTS + r"/([0-9a-f]{2})/\1[0-9a-f]{62}\.[0-9A-Za-z]+")


CHECKS = "checks.json"  # in the cache's folder
FILES = (MANIFEST, SOURCES, SEEN, LOG, SECONDS, CHECKS, RECORDS, OBJECTS, USED, KEYS)  # of a cache, the manifest first


class Row(NamedTuple):
    """One artifact of the manifest."""

    kernel: str
    specialization: str
    target: str
    object: str
    suffix: str
    size: int
    key: str
    stale: str
    meta: dict[str, Any]


class Finding(NamedTuple):
    """Something that `verify` looked at. `fault` empty: it is in order. `fatal`: an artifact cannot be loaded."""

    what: str
    fault: str
    fatal: bool


def rows(manifest: dict[str, Any]) -> Iterator[Row]:
    """Every artifact of a manifest, in its order."""
    for kernel, header in manifest["kernels"].items():
        for label, specialisation in header["specializations"].items():
            for target, entry in specialisation["artifacts"].items():
                yield Row(
                    kernel, label, target, entry["object"], entry["suffix"], entry["size"], entry["key"],
                    entry.get("stale", ""), entry["meta"],
                )  # fmt: skip


Fault = Callable[[str, str, int, str], str]  # name, suffix, size and line of an object → what is wrong with it


def artifact_faults(
    folder: str, manifest: dict[str, Any], fault: Fault | None = None
) -> dict[tuple[str, ...], str]:
    """What is wrong with each artifact's object, by (kernel, specialisation, target); empty where nothing is. fault:
    who says so (default: who reads each of them)."""
    look = fault or partial(object_fault, folder)
    lines: dict[tuple[str, ...], str] = {}
    for name in manifest["kernels"]:
        record = kernel_record(manifest["kernels"], name, folder, folder)
        lines |= {(name, s.name, a.target): a.said for s in record.specialisations.values() for a in s.artifacts}
    return {
        row[:3]: look(row.object, row.suffix, row.size, lines.get(row[:3], ""))
        for row in rows(manifest)
    }


def verify(folder: str) -> list[Finding]:
    """Read every object and compare it with its name; look for what does not belong, and for open permissions."""
    manifest, problem = read_manifest(folder)
    findings = []
    if problem:
        findings.append(Finding(MANIFEST, problem, True))
    elif not os.path.exists(os.path.join(folder, MANIFEST)):
        findings.append(Finding(MANIFEST, "there is none", True))
    used = set()
    faults = artifact_faults(folder, manifest)
    for row in rows(manifest):
        used.add(object_path(row.object, row.suffix))
        fault = faults[row[:3]]
        findings.append(Finding(f"{row.kernel} {row.specialization} {row.target}", fault, bool(fault)))
    for path in files(folder):
        name = os.path.basename(path)
        if name.startswith(TEMPORARY):
            findings.append(Finding(path, "left by a build that was killed; the next one removes it", False))
        elif path.startswith(OBJECTS + "/") and path not in used:
            findings.append(Finding(path, unused_fault(folder, path), False))
    if os.path.isdir(os.path.join(folder, KEYS)):
        mode = stat.S_IMODE(os.stat(folder).st_mode)
        if mode & 0o022:
            findings.append(Finding(folder, f"others can write to it (mode {mode:o})", True))
        findings.append(Finding(KEYS, store_fault(folder), False))
    return findings


def unused_fault(folder: str, path: str) -> str:
    """An object that no artifact uses is in order if it is what its name says: an older build's, kept for later."""
    digest, suffix = os.path.splitext(os.path.basename(path))
    if path != object_path(digest, suffix) or not OBJECT_NAME.fullmatch(path):
        return "it is no object of a cache, and stays where it is"
    try:
        size = os.path.getsize(os.path.join(folder, path))
    except OSError:
        return ""
    fault = object_fault(folder, digest, suffix, size)
    return f"{fault}, and used by nothing" if fault else ""


def store_fault(folder: str) -> str:
    """What is wrong with the store of keys, read without changing it; empty if nothing is."""
    import sqlite3

    from .history import query

    try:
        problem = [str(found) for (found,) in query(folder, "PRAGMA quick_check(1)")]
    except sqlite3.Error as error:
        problem = [str(error)]
    return "" if problem in ([], ["ok"]) else f"{problem[0]} (only history is lost; the next build starts it anew)"


def files(folder: str) -> Iterator[str]:
    """Every file of a cache but the store's, relative to it, sorted, with forward slashes."""
    for at, folders, names in os.walk(folder):
        if at == folder and KEYS in folders:
            folders.remove(KEYS)
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(at, name), folder).replace(os.sep, "/")


class Stored(NamedTuple):
    """A file of an object."""

    size: int  # bytes
    made: float  # seconds since 1970


def stored(folder: str) -> dict[str, Stored]:
    """The files among the objects of a cache that are named as objects are: path relative to it → size and time."""
    found = {}
    for part in entries(os.path.join(folder, OBJECTS)):
        for entry in entries(part.path) if part.is_dir(follow_symlinks=False) else []:
            path = f"{OBJECTS}/{part.name}/{entry.name}"
            if entry.is_file(follow_symlinks=False) and OBJECT_NAME.fullmatch(path):
                status = entry.stat(follow_symlinks=False)
                found[path] = Stored(status.st_size, status.st_mtime)
    return found


def uses(folder: str) -> dict[str, float]:
    """Digest of an object → the day of its last load, seconds since 1970, as far as it is known."""
    found = {}
    for entry in entries(os.path.join(folder, USED)):
        with contextlib.suppress(OSError):
            found[entry.name] = entry.stat(follow_symlinks=False).st_mtime
    return found


def entries(folder: str) -> list[os.DirEntry[str]]:
    """Of a folder; none where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def clear(folder: str, say: Callable[[str], None], others: tuple[str, ...] = ()) -> tuple[int, int]:
    """Remove everything of a cache but its lock, the manifest first, and the folders `others`; returns how many
    files, and their bytes. Raises OSError. Programs that have loaded kernels keep them."""
    if not os.path.isdir(folder):
        return 0, 0
    count = size = 0
    with locked(folder, say):
        places = [os.path.join(folder, name) for name in FILES]
        places += [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(TEMPORARY)]
        for place in (*places, *others):
            for path in _files_of(place):
                count, size = count + 1, size + os.lstat(path).st_size
            if os.path.isdir(place) and not os.path.islink(place):
                shutil.rmtree(place)
            elif os.path.lexists(place):
                os.unlink(place)
    return count, size


def _files_of(place: str) -> Iterator[str]:
    if os.path.isdir(place) and not os.path.islink(place):
        for at, _, names in os.walk(place):
            yield from (os.path.join(at, name) for name in names)
    elif os.path.lexists(place):
        yield place
