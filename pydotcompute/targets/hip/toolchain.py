"""OpenCL C → code objects for AMD's GPUs, by the clang and LLD of the `ziglang` wheel: no ROCm, the same bytes
everywhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from functools import cache

from ...artifact.remedies import install
from ...errors import CompilationError, CompilerNotInstalledError
from ..temporary import temporary_folder
from .header import HEADER

EXTRA = "build"
TRIPLE = "amdgcn-amd-amdhsa"
TARGET = re.compile(r"hip:(gfx[0-9a-f]{3,4})\Z")
COMPILE = (
    "-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-target", TRIPLE, "-nogpulib", "-mcode-object-version=5",
    "-O3", "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt", "-fvisibility=hidden", "-fno-ident", "-w",
    "-mllvm", "-amdgpu-internalize-symbols",
)  # fmt: skip
LINK = ("-shared", "--no-undefined", "--build-id=none", "--threads=1", "-s")
FILE = "kernel.cl"  # as messages and tables of lines call the text


def missing() -> str:
    """What is to be installed before anything can be compiled; empty where nothing is."""
    if importlib.util.find_spec("ziglang") is not None:
        return ""
    return f"HIP targets are compiled by the clang of ziglang, which is not installed: {install(EXTRA, 'ziglang')}"


def architecture(target: str) -> str:
    """`hip:gfx942` → "gfx942"."""
    match = TARGET.match(target)
    assert match is not None, target
    return match[1]


@cache
def architectures() -> tuple[str, ...]:
    """Those that the installed clang makes code for."""
    code, told, said = _run(".", "clang", "-target", TRIPLE, "-nogpulib", "--print-supported-cpus")
    return tuple(re.findall(r"^\s+(gfx[0-9a-f]{3,4})$", told + said, re.M)) if not code else ()


def code_object(text: str, arch: str, threads: int, what: str) -> bytes:
    """The code object of a text. threads: the most that a block of its kernels has; what: what a message calls it.
    Raises CompilationError, CompilerNotInstalledError."""
    with temporary_folder() as folder:
        _compiled(folder, text, arch, threads, what, "-c", "-o", "kernel.o")
        code, _, said = _run(folder, "ld.lld", *LINK, "kernel.o", "-o", "kernel.hsaco")
        if code:
            raise CompilationError(f"{what}: the linker failed for {arch}\n{said.strip()}")
        return _read(folder, "kernel.hsaco")


def assembly(text: str, arch: str, threads: int, what: str, lines: bool) -> str:
    """The instructions of a text, as `code_object` has them; lines: with a table of its lines."""
    table = ("-gline-tables-only",) if lines else ()
    with temporary_folder() as folder:
        _compiled(folder, text, arch, threads, what, "-S", "-o", "kernel.s", *table)
        return _read(folder, "kernel.s").decode()


def _compiled(folder: str, text: str, arch: str, threads: int, what: str, *options: str) -> None:
    limit = f"#define kernel __kernel __attribute__((amdgpu_flat_work_group_size(1, {threads})))"
    with open(os.path.join(folder, FILE), "w", encoding="ascii") as file:
        file.write(f'{HEADER}{limit}\n#line 1 "{FILE}"\n{text}')
    code, _, said = _run(folder, "clang", *COMPILE, f"-mcpu={arch}", *options, FILE)
    if code:
        raise CompilationError(f"{what}: clang failed for {arch}\n{said.strip()}")


def _read(folder: str, name: str) -> bytes:
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def _run(folder: str, *arguments: str) -> tuple[int, str, str]:
    """A tool of the wheel in a folder of its own, on files of fixed names: no path reaches what it makes."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise CompilerNotInstalledError(missing())
    zig = os.path.join(os.path.dirname(spec.origin), "zig")
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
    done = subprocess.run(
        [zig, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr
