"""Caches for the tests here: what is in them is whole and says what it is, and computes nothing."""

import os
from pathlib import Path

from tests.runtime.support import array, bound, kernel_entry, write_project

PARAMETERS = [array("x", "float32", ...), array("out", "float32", ..., role="out")]
V2, V3, PTX = "cpu:x86-64-v2", "cpu:x86-64-v3", "cuda:compute_80"
DAY = 86400


def made(kernel: str, target: str, size: int) -> bytes:
    return bound(bytes([len(target)]) * size, kernel, PARAMETERS, target=target)


def write_cache(root: Path, artifacts: dict[tuple[str, str], int], stale=(), older=()) -> Path:
    """A project with objects for (kernel, target), of so many bytes beside their line, and a file kernels.yaml.

    stale: those that the manifest does not call current. older: sizes of objects of older builds, used by nothing.
    """
    kernels: dict = {}
    objects = []
    for name in dict.fromkeys(kernel for kernel, _ in artifacts):
        of = {target: made(name, target, size) for (kernel, target), size in artifacts.items() if kernel == name}
        objects += of.values()
        kernels[name] = kernel_entry(name, PARAMETERS, {"-": ({}, {}, [], of)})
        for target, entry in kernels[name]["specializations"]["-"]["artifacts"].items():
            entry["key"] = f"{name} {target}"
            if (name, target) in stale:
                entry["stale"] = "source changed (body)"
    objects += [made("older", V2, size) for size in older]
    write_project(root, kernels, objects)
    (root / "kernels.yaml").write_text("version: 1\nkernels: {}\n")
    return root


def files_of(root: Path) -> dict[str, bytes]:
    """Every file of a project's cache but its lock, relative to it."""
    cache = root / "build" / "cache"
    paths = [path for path in cache.rglob("*") if path.is_file() and path.name != "lock"]
    return {path.relative_to(cache).as_posix(): path.read_bytes() for path in paths}


def object_file(root: Path, data: bytes) -> Path:
    """Where an object of these bytes lies."""
    from pydotcompute.cache.files import sha256
    from pydotcompute.cache.layout import object_path

    return root / "build" / "cache" / object_path(sha256(data), ".so")


def age(path: Path, days: float) -> None:
    from time import time

    os.utime(path, (time() - days * DAY,) * 2)
