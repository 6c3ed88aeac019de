"""The typed tree, or the Python of a raw kernel, → artifacts for CUDA: PTX for `cuda:compute_NN`, cubins for
`cuda:sm_NN`.

numba-cuda's half of a compilation serves every architecture; NVVM makes PTX for each, once, and the PTX and the cubin
of an architecture are of that compilation. What an artifact's metadata says:

    arguments, launches, scratch    how the run half calls it: targets/cuda/lowering.py, targets/cuda/arrays.py
    target                          the architecture that the PTX names, "sm_80"; a cubin is assembled from such PTX
    ptx_version                     of PTX alone: as low as its code and architecture allow
    resources                       {entry: {registers, shared, stack, spill_stores, spill_loads}} by ptxas, for the
                                    architecture itself; a thread's, in bytes but for the registers
    tools                           {tool: version}
    note                            where registers did not suffice and the declaration sets no limit: what is spilled
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ...artifact.dimensions import data
from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import CompilationError
from .. import budget
from . import nvvm as cuda_nvvm, ptxas as cuda_ptxas, toolchain as cuda_toolchain
from .entry_point import EntryPoint
from .line_table import located
from .lowering import CudaSource
from .raw import check_raw, described


class CudaArtifact(NamedTuple):
    data: bytes
    suffix: str  # ".ptx" or ".cubin"
    meta: dict[str, Any]


Make = Callable[
    [str, str, dict[str, Any]], CudaArtifact
]  # ("compute" or "sm", architecture, launch of the declaration)


def source_compiler(
    source: CudaSource, source_file: str, name: str, called: Callable[[str], str] | None = None
) -> Make:
    """What compiles lowered Python for one target after the other. called: with tables of the user's lines, in which
    files have such names."""
    lines = called is not None
    from .dialect import generation

    meta = {
        "arguments": [list(a) for a in source.arguments],
        "launches": list(source.launches),
        "scratch": [data(size) for size in source.scratch],
        **({"program": list(source.program)} if source.program else {}),
    }
    modules: dict[tuple[int, int], list[str]] = {}  # by generation

    def ptx(arch: str) -> str:
        of = generation(cuda_nvvm.capability_of(arch))
        try:
            if of not in modules:
                modules[of] = cuda_nvvm.module_ir(source.text, source_file, source.entries, source.functions, of, lines)
            made = cuda_nvvm.to_ptx(modules[of], arch, lines=lines)
            return located(made, source_file, source.positions, called) if called else made
        except CompilationError as error:
            raise CompilationError(explained(str(error), source, source_file, name)) from error

    return _maker(ptx, meta, name, lines)


def raw_compiler(
    kernel: Kernel, specialisation: Specialisation, rendered: Rendered, source_file: str,
    called: Callable[[str], str] | None = None,
) -> Make:  # fmt: skip
    """What compiles a raw kernel; called: as above. Raises DeclarationError for what a raw kernel cannot have."""
    check_raw(kernel, rendered)
    lines = called is not None
    arguments, meta = described(kernel, specialisation)
    entry = EntryPoint(kernel.name, tuple(arguments), (), meta["launches"][0]["block"])

    def ptx(arch: str) -> str:
        try:
            made = cuda_nvvm.compile_raw(rendered.text, source_file, entry, arch, lines)
            positions = [rendered.position(k, 1) for k in range(1, 1 + len(rendered.text.splitlines()))]
            return located(made, source_file, positions, called) if called else made
        except CompilationError as error:
            raise CompilationError(_of_raw(str(error), rendered, source_file, kernel.name)) from error

    return _maker(ptx, meta, kernel.name, lines)


def _maker(ptx_for: Callable[[str], str], meta: dict[str, Any], name: str, lines: bool) -> Make:
    texts: dict[str, str] = {}
    flags = ("-lineinfo",) if lines else ()

    def make(form: str, arch: str, launch: dict[str, Any]) -> CudaArtifact:
        if arch not in texts:
            texts[arch] = ptx_for(arch)
        about = {**meta, "target": f"sm_{arch}", "tools": cuda_toolchain.tool_versions()}
        if form == "sm":
            data, used = cuda_ptxas.assemble(texts[arch], arch, flags)
        else:
            ptx, about["ptx_version"], used = cuda_ptxas.lowered(texts[arch], arch)
            data = ptx.encode("ascii")
        about["resources"] = {entry: r._asdict() for entry, r in used.items()}
        for entry, own in used.items():
            budget.check(launch, own.registers, own.spill_stores + own.spill_loads, f"{name} for sm_{arch}: {entry}")
        if note := spilled(about["resources"], launch):
            about["note"] = note
        return CudaArtifact(data, ".cubin" if form == "sm" else ".ptx", about)

    return make


def spilled(resources: dict[str, dict[str, int]], launch: dict[str, Any]) -> str:
    """What to say of spills that the declaration does not speak of; empty where there are none."""
    if "spills" in launch:
        return ""
    found = {entry: used["spill_stores"] + used["spill_loads"] for entry, used in resources.items()}
    parts = [f"{entry} spills {size} bytes a thread" for entry, size in found.items() if size]
    return "; ".join(parts) and f"{'; '.join(parts)}: launch.spills sets a limit"


def explained(said: str, source: CudaSource, source_file: str, name: str) -> str:
    """The message with the place in the user's file, as far as numba tells a line of the generated text."""
    for line in _lines(said, source_file):
        at = source.positions[line - 1] if 0 < line <= len(source.positions) else None
        if at:
            written = source.text.splitlines()[line - 1].strip()
            where = f"{at.path}:{at.line}:{at.column}"
            return f"{where}: the CUDA compiler refused `{at.text.strip()}` (lowered to `{written}`)\n{said}"
    return f"{name}: {said}"


def _of_raw(said: str, rendered: Rendered, source_file: str, name: str) -> str:
    for line in _lines(said, source_file):
        at = rendered.position(line, 1)
        return f"{at.path}:{at.line}:{at.column}: numba-cuda refused `{at.text.strip()}`\n{said}"
    return f"{name}: {said}"


def _lines(said: str, source_file: str) -> list[int]:
    """The lines of a file that a message of numba's names."""
    found = re.findall(rf'{re.escape(source_file)}"?(?:, line |:| \()(\d+)', said)
    return [int(number) for number in found]
