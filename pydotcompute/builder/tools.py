"""What compiles, as key fields: versions of the tools a backend really uses, found without importing any of them.

Versions are read from the names of the installed packages' metadata folders: `importlib.metadata` alone would cost
more than the rest of a plan.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache

from ..cache.keys import digest

# Distributions whose version reaches the artifacts; of those written with several names the installed one counts.
TOOLS: dict[str, dict[str, tuple[str, ...]]] = {
    "cpu": {"numba": ("numba",), "llvmlite": ("llvmlite",), "numpy": ("numpy",)},
    "cuda": {
        "numba": ("numba",),
        "numba-cuda": ("numba_cuda",),
        "cuda-bindings": ("cuda_bindings",),
        "llvmlite": ("llvmlite",),
        "numpy": ("numpy",),
        "nvcc": ("nvidia_cuda_nvcc_cu12", "nvidia_cuda_nvcc"),
        "nvrtc": ("nvidia_cuda_nvrtc_cu12", "nvidia_cuda_nvrtc"),
        "nvjitlink": ("nvidia_nvjitlink_cu12", "nvidia_nvjitlink"),
        "nvvm": ("nvidia_nvvm",),
    },
}
# Folders and files of ours that reach no artifact, though some of theirs do: what is new, or moves, counts until it is
# named here.
WITHOUT = (
    "__init__.py", "__main__.py", "errors.py", "kernels.py", "operations.py", "backends", "bench", "builder", "cache",
    "calls", "check", "cli", "devices", "docs", "examples", "interpreter", "jit", "packaging", "runtime",
)  # fmt: skip
WITHIN = ("builder/compilers.py", "builder/cuda_job.py", "runtime/expressions.py")
# What makes the artifacts of one backend alone, and what makes none: the interpreter, and functions compiled on demand.
OWN = {
    "cpu": (
        "lower/cpu*.py", "targets/cpu/compiler.py", "compile/entry*.py", "targets/cpu/run.py", "targets/cpu/link.py", "targets/cpu/elf.py",
        "targets/cpu/fma.py", "targets/cpu",
    ),
    "cuda": ("lower/cuda*.py", "compile/cuda*.py", "builder/cuda_job.py", "targets/cuda"),
    "": ("lower/interpret*.py", "compile/*plain.py", "jit/fingerprint.py", "jit/store.py"),
}  # fmt: skip
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = "pydotcompute"  # the field that stands for our own code generation
NOT_INSTALLED = "not installed"


@cache
def installed() -> dict[str, str]:
    """Version by normalised distribution name, for everything on `sys.path`; the first one found counts."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info"):
                distribution, _, version = name[: -len(".dist-info")].rpartition("-")
                found.setdefault(distribution.lower().replace("-", "_").replace(".", "_"), version)
    return found


def package_version(*names: str) -> str:
    """The version of the first of these distributions that is installed."""
    packages = installed()
    for name in names:
        if name in packages:
            return packages[name]
    from importlib import metadata  # slow, and knows the places where no folder of that name stands on the path

    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return NOT_INSTALLED


def versions(backend: str, linker: str = "") -> dict[str, str]:
    """Tool → version for a backend. `linker` is the setting: empty for LLD of the ziglang wheel."""
    result = {tool: package_version(*names) for tool, names in TOOLS.get(backend, {}).items()}
    result["python"] = f"{sys.version_info.major}.{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    if backend == "cpu":
        result["linker"] = linker_version(linker)
    result[CODE] = code_digest(backend)
    return result


def linker_version(linker: str) -> str:
    """The ziglang wheel's version, or the first line that the system's linker says about itself."""
    if not linker:
        return f"ziglang {package_version('ziglang')}"
    import shlex
    import subprocess

    try:
        answer = subprocess.run([*shlex.split(linker), "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"{linker}: {error.__class__.__name__}"  # the build will say it as an error
    return f"{linker}: {(answer.stdout or answer.stderr).partition(chr(10))[0].strip()}"


@cache
def code_digest(backend: str) -> str:
    """A digest of our code that makes a backend's artifacts: of `code_files`."""
    parts = []
    for path in code_files(backend):
        with open(os.path.join(PACKAGE, path), "rb") as file:
            parts.append(f"{path} {digest(file.read())}")
    return digest("\n".join(parts))


def code_files(backend: str) -> list[str]:
    """The files of ours that can reach the bytes of a backend's artifacts, relative to the package and sorted: all but
    those that are known not to."""
    found = []
    for folder, _, names in os.walk(PACKAGE):
        place = os.path.relpath(folder, PACKAGE).replace(os.sep, "/")
        paths = [name if place == "." else f"{place}/{name}" for name in names if name.endswith(".py")]
        found += [path for path in paths if _is_in(path, WITHIN) or not _is_in(path, WITHOUT)]
    others = [part for other, parts in OWN.items() if other != backend for part in parts]
    return sorted(path for path in found if not _is_in(path, others))


def _is_in(path: str, places: Iterable[str]) -> bool:
    """Whether a file is one of these, or in one of these folders."""
    return any(path.startswith(f"{place}/") or fnmatchcase(path, place) for place in places)


@cache
def processor() -> str:
    """What `cpu:native` means here: the processor's identity and features, as Linux shows them."""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags")
    values: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                name = name.strip()
                if not name:
                    break  # the first processor stands for all
                if name in wanted:
                    values[name] = " ".join(sorted(value.split())) if name == "flags" else value.strip()
    except OSError:
        pass
    return " ".join(values.get(name, "?") for name in wanted)
