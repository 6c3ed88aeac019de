"""A fault of a program, in words: from what a kernel recorded and what its artifact says of its sites; and what kernels
on devices have told of one, see artifact/launch.py."""

from __future__ import annotations

from _thread import allocate_lock
from typing import Any

from ..artifact import launch
from ..artifact.abi import NO_MEMORY, NO_STEP, TOO_MANY
from ..cache.manifest import Artifact
from ..errors import AllocationError

_lock = allocate_lock()
_told: dict[tuple[str, ...], Artifact] = {}  # the artifacts that tell of faults on devices, by what they are


def fault(artifact: Artifact, site: int, call: int, extent: int, index: int) -> Exception:
    """`path:line:column: index 7 is outside x, which has 5`, an IndexError; or an AllocationError; or a ValueError for
    the step of a range. site, call: from 1, see artifact/abi.py."""
    sites, places = artifact.meta["sites"], artifact.meta["places"]
    array, rank, axis, *unsigned = sites[site - 1][2:]
    file, line, column = places[site - 1]
    if axis == NO_MEMORY:
        place = f"{_path(artifact, file)}:{line}:{column}"
        size = f"{index:,} bytes" if index < 2**63 - 1 else "more bytes than an address reaches"
        return AllocationError(f"{place}: no memory for {array}, of which each thread takes {size}")
    if axis == TOO_MANY:
        place = f"{artifact.root}/{file}:{line}:{column}"
        return IndexError(f"{place}: a loop that goes round {index:,} times, and this device counts to {extent:,}")
    of_axis = f" of axis {axis}" if rank > 1 else ""
    given = index % 2**64 if unsigned else index
    said = f"index {given}{of_axis} is outside {array}, which has {extent}"
    said = "the step of a range is 0" if axis == NO_STEP else said
    text = f"{_path(artifact, file)}:{line}:{column}: {said}"
    if call:
        other, caller, _ = places[len(sites) + call - 1]
        of_file = "" if other == file else f" of {_path(artifact, other)}"
        text += f", in a helper called on line {caller}{of_file}"
    return ValueError(text) if axis == NO_STEP else IndexError(text)


def _path(artifact: Artifact, file: str) -> str:
    """Of a file of its project. A bundle has only the names of them."""
    return f"{artifact.root}/{file}" if artifact.owned is not None else f"{artifact.root}: {file}"


def number_of(artifact: Artifact) -> int:
    """The number by which a kernel on a device says that it is this artifact, from 1; the same for as long as the
    process lives."""
    key = artifact.root, artifact.kernel, artifact.specialisation, artifact.target, artifact.key
    with _lock:
        _told.setdefault(key, artifact)
        return 1 + list(_told).index(key)


def raise_told(words: Any) -> None:
    """Raise what a device's slot says, which is free again then. IndexError or ValueError, in the interpreter's
    words."""
    if not words[launch.READY]:
        return
    with _lock:
        number, *rest = (words[k] for k in (launch.KERNEL, launch.SITE, launch.CALL, launch.EXTENT, launch.INDEX))
        is_first = bool(words[launch.READY])  # of several threads one raises it
        words[launch.READY] = words[launch.CLAIMED] = 0
        artifact = list(_told.values())[number - 1]
    if is_first:
        told = fault(artifact, *rest)
        raise type(told)(f"{told} (in an earlier call of {artifact.kernel} on a device)")
