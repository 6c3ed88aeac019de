"""ptxas: PTX text → cubin, its report of resources, and the lowest PTX version that a text assembles with."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from typing import NamedTuple

from ...errors import CompilationError
from ..temporary import temporary_folder
from .toolchain import ptxas

# Every version of the PTX language since kernels had 64-bit addresses everywhere, oldest first.
VERSIONS = tuple(
    f"{major}.{minor}"
    for major, last in ((4, 3), (5, 0), (6, 5), (7, 8), (8, 8), (9, 9))
    for minor in range(last + 1)
)  # fmt: skip


class Resources(NamedTuple):
    """What one entry uses on one architecture; all but the registers are bytes. Stack and spills are per thread."""

    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int


def assemble(ptx: str, arch: str, flags: tuple[str, ...] = ()) -> tuple[bytes, dict[str, Resources]]:
    """The cubin for `arch` ("90") and the resources of each entry. Raises CompilationError with ptxas's words."""
    code, cubin, said = _run(ptx, arch, flags)
    if code:
        raise CompilationError(f"ptxas for sm_{arch} failed with exit code {code}:\n{said.strip()}")
    return cubin, report(said)


def report(text: str) -> dict[str, Resources]:
    """Resources by entry, out of what `ptxas -v` prints."""
    entries = {}
    parts = re.split(r"Compiling entry function '([^']+)' for '[^']+'", text)
    for name, body in zip(parts[1::2], parts[2::2]):
        stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", body)
        used = re.search(r"Used (\d+) registers", body)
        if stack is None or used is None:
            raise CompilationError(f"ptxas reports the resources of `{name}` in a way not known here:\n{text}")
        shared = re.search(r"(\d+) bytes smem", body)
        entries[name] = Resources(int(used[1]), int(shared[1]) if shared else 0, *map(int, stack.groups()))
    return entries


def lowered(ptx: str, arch: str) -> tuple[str, str, dict[str, Resources]]:
    """The PTX with the oldest version that it assembles with for `arch`, which decides how old a driver may be; that
    version; and what each entry uses. Raises CompilationError.

    A newer version never loses an instruction, so this is a search by halves; most code needs no more than the
    architecture does, which is tried first.
    """
    newest = re.search(r"^\.version (\S+)", ptx, re.M)
    if newest is None or newest[1] not in VERSIONS:
        raise CompilationError(f"PTX of an unknown version: {newest and newest[1]}")
    said: dict[int, str] = {}

    def accepted(version: int) -> bool:
        code, _, said[version] = _run(with_version(ptx, VERSIONS[version]), arch)
        return code == 0

    low, high = VERSIONS.index(_floor(arch)), VERSIONS.index(newest[1])
    if not accepted(low):
        low = _search(accepted, low + 1, high)
        if low not in said and not accepted(low):
            raise CompilationError(f"ptxas for sm_{arch} failed:\n{said[low].strip()}")
    return with_version(ptx, VERSIONS[low]), VERSIONS[low], report(said[low])


def with_version(ptx: str, version: str) -> str:
    return re.sub(r"^\.version .*$", f".version {version}", ptx, count=1, flags=re.M)


@cache
def _floor(arch: str) -> str:
    """The oldest version that knows the architecture: what an empty kernel assembles with."""
    empty = f".version 0.0\n.target sm_{arch}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
    said = _run(with_version(empty, "99.0"), arch)[2]
    newest = re.search(r"current version is '([0-9.]+)'", said)
    if newest is None or newest[1] not in VERSIONS:
        raise CompilationError(f"ptxas does not say which PTX version it knows:\n{said.strip()}")
    top = VERSIONS.index(newest[1])
    return VERSIONS[_search(lambda k: _run(with_version(empty, VERSIONS[k]), arch)[0] == 0, 0, top)]


def _search(accepted, low: int, high: int) -> int:
    """The lowest of low…high that is accepted; `high` is taken to be."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if accepted(middle) else (middle + 1, high)
    return low


def _run(ptx: str, arch: str, flags: tuple[str, ...] = ()) -> tuple[int, bytes, str]:
    """ptxas in a folder of its own, on a file of one fixed name: no path reaches the cubin."""
    with temporary_folder() as folder:
        with open(os.path.join(folder, "kernel.ptx"), "w", encoding="ascii") as file:
            file.write(ptx)
        done = subprocess.run(
            [ptxas(), f"-arch=sm_{arch}", "-v", "-O3", *flags, "kernel.ptx", "-o", "kernel.cubin"],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            return done.returncode, b"", done.stderr + done.stdout
        with open(os.path.join(folder, "kernel.cubin"), "rb") as file:
            return 0, file.read(), done.stderr
