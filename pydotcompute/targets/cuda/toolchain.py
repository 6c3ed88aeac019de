"""The CUDA toolchain that wheels bring: whether it is there, where it is, which architectures it knows."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache

from ...artifact.remedies import install
from ...errors import CompilerNotInstalledError, DeclarationError
from ..tools import package_version

EXTRA = "build-cuda"
# Modules that compile and assemble, and the wheel of the extra that brings each.
NEEDED = {"numba": "numba", "numba_cuda": "numba-cuda", "cuda.bindings": "cuda-bindings"}
NUMPY_BELOW = (2, 5)  # numba-cuda 0.30 calls functions that NumPy 2.5 no longer has
PTXAS_PACKAGES = ("nvidia.cuda_nvcc", "nvidia.cu13")  # of CUDA 12, then of CUDA 13
TARGET = re.compile(r"(compute|sm)_([1-9][0-9]*[0-9][af]?)\Z")


def missing() -> tuple[str, ...]:
    """The wheels that are not installed, of those that compiling for CUDA needs; imports nothing heavy."""
    absent = [wheel for module, wheel in NEEDED.items() if not _installed(module)]
    if _find_ptxas() is None:
        absent.append("nvidia-cuda-nvcc")
    return tuple(absent)


def require(numpy_version: str | None = None) -> None:
    """Raise CompilerNotInstalledError, naming what is missing and the extra, where CUDA cannot be compiled for.
    numpy_version: for who has not imported it."""
    if numpy_version is None:
        from numpy import __version__

        numpy_version = __version__
    if absent := missing():
        raise CompilerNotInstalledError(
            f"CUDA targets need {', '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not installed here; "
            f"{install(EXTRA, *absent)} (no GPU, driver or CUDA toolkit is needed; CPU targets build without)"
        )
    if tuple(map(int, re.findall(r"\d+", numpy_version)[:2])) >= NUMPY_BELOW:
        below = ".".join(map(str, NUMPY_BELOW))
        older = install(EXTRA, f"'numpy<{below}'")
        raise CompilerNotInstalledError(
            f"CUDA targets need NumPy below {below}, which numba-cuda does not work with; NumPy {numpy_version} is "
            f"installed here; {older} (CPU targets build with both)"
        )


def has_linker() -> bool:
    """Whether NVIDIA's wheel with nvJitLink is installed."""
    return _installed("nvidia.nvjitlink") or _installed("nvidia.cu13")


def ptxas() -> str:
    """The path of the wheel's ptxas. Raises CompilerNotInstalledError where there is none."""
    require()
    path = _find_ptxas()
    assert path is not None
    return path


@cache
def architectures() -> tuple[str, ...]:
    """What the installed ptxas says it can assemble for, lowest first: ("50", …, "90", "90a", …)."""
    text = subprocess.run([ptxas(), "--help"], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"'sm_([0-9]+[af]?)'", text)) & set(re.findall(r"'compute_([0-9]+[af]?)'", text))
    return tuple(sorted(found, key=lambda a: (int(a.rstrip("af")), a)))


def parse_target(target: str) -> tuple[str, str]:
    """`cuda:sm_90` → ("sm", "90"). Raises DeclarationError for anything that is not an architecture of the
    installed toolchain: nothing is ever lowered to another one."""
    name = target.removeprefix("cuda:")
    match = TARGET.match(name)
    if match is None:
        raise DeclarationError(
            f"`{target}` is not a CUDA target", hint="write cuda:compute_80 (PTX) or cuda:sm_90 (a cubin)"
        )
    if match[2] not in architectures():
        raise DeclarationError(
            f"`{target}`: the installed CUDA toolchain ({version()}) does not know {name}",
            hint=f"it knows {', '.join(architectures())}",
        )
    return match[1], match[2]


@cache
def version() -> str:
    """What ptxas says of itself: "12.9.86"."""
    text = subprocess.run([ptxas(), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\bV([0-9.]+)", text)
    return found[1] if found else text.strip().splitlines()[-1]


def tool_versions() -> dict[str, str]:
    """Tool → version of everything whose output is in an artifact."""
    return {**{name: package_version(name) for name in ("numba", "numba-cuda", "llvmlite")}, "ptxas": version()}


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package
        return False


def _find_ptxas() -> str | None:
    return in_wheels("ptxas", PTXAS_PACKAGES)


def in_wheels(program: str, packages: Iterable[str]) -> str | None:
    """The path of a program of NVIDIA's in the first of these packages that has it."""
    for package in packages:
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for root in (spec and spec.submodule_search_locations) or ():
            path = os.path.join(root, "bin", program)
            if os.access(path, os.X_OK):
                return path
    return None
