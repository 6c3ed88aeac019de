"""What a bundle lacks before it is deployed, read without running anything and without the build half."""

from __future__ import annotations

from itertools import product
from typing import Iterable, Iterator, NamedTuple

from ..cache import manifest
from ..cache.manifest import KernelRecord
from ..cache.writer import object_fault


class Hole(NamedTuple):
    """A call that would find nothing. `specialization` and `target` may be empty: all of them."""

    kernel: str
    specialization: str
    target: str
    why: str

    def __str__(self) -> str:
        return " ".join(filter(None, self[:3])) + f": {self.why}"


def holes(path: str, required: Iterable[str], kernels: Iterable[str] = ()) -> tuple[int, list[Hole]]:
    """How many artifacts were looked at, and the holes: a choice of types and params without an artifact for one of
    the required targets or for any at all, an object that is missing or damaged, what is stale.

    kernels: these alone (none: all). Raises KernelNotBuiltError where there is no bundle, or one that cannot be read.
    """
    folder, root = manifest.find(path)
    entries = manifest.read(folder, root)
    records = [manifest.kernel_record(entries, name, folder, root) for name in kernels or entries]
    required = tuple(required)
    count = sum(len(s.artifacts) for record in records for s in record.specialisations.values())
    return count, [hole for record in records for hole in _of_kernel(record, required)]


def _of_kernel(record: KernelRecord, required: tuple[str, ...]) -> Iterator[Hole]:
    names = (*record.types, *record.params)
    there = {tuple({**s.types, **s.params}[name] for name in names) for s in record.specialisations.values()}
    for values in product(*record.types.values(), *record.params.values()):
        if values not in there:
            label = ",".join(f"{name}={value}" for name, value in zip(names, values)) or "-"
            yield Hole(record.name, label, "", "there is no artifact at all")
    for specialisation in record.specialisations.values():
        found = {artifact.target: artifact for artifact in specialisation.artifacts}
        for target in required:
            if target not in found:
                others = f" ({', '.join(found)})" if found else ""
                yield Hole(record.name, specialisation.name, target, f"there is none for this target{others}")
        for target, artifact in found.items():
            fault = object_fault(artifact.folder, artifact.digest, artifact.suffix, artifact.size)
            if fault or artifact.stale:
                yield Hole(record.name, specialisation.name, target, fault or f"stale: {artifact.stale}")
