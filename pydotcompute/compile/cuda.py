"""The typed tree, or the Python of a raw kernel, → artifacts for CUDA: PTX for `cuda:compute_NN`, cubins for `cuda:sm_NN`.

For each architecture numba-cuda and NVVM compile once; the PTX and the cubin of that architecture come from it. What
an artifact's metadata says:

    arguments, launches, scratch    how the run half calls it: lower/cuda.py, lower/cuda_arrays.py
    ptx_version, target             of the PTX, as lowered to what code and architecture allow; of cubins, whence made
    resources                       {entry: {registers, shared, stack, spill_stores, spill_loads}} by ptxas, for the
                                    architecture itself; bytes but for the registers
    tools                           {tool: version}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import CompilationError
from ..lower.cuda import CudaSource, lower
from ..lower.tree import KernelTree
from . import cuda_nvvm, cuda_ptxas, cuda_toolchain


class CudaArtifact(NamedTuple):
    data: bytes
    suffix: str  # ".ptx" or ".cubin"
    meta: dict[str, Any]


def compile_kernel(
    tree: KernelTree,
    source_file: str,
    targets: Sequence[str],
    launch: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
) -> dict[str, CudaArtifact]:
    """Artifacts by target. `source_file` is what messages call the generated Python; `launch` the declaration's.

    Raises DeclarationError for a target that the installed toolchain does not know, CompilationError, and
    CompilerNotInstalledError where the toolchain is missing.
    """
    cuda_toolchain.require()
    parsed = {target: cuda_toolchain.parse_target(target) for target in targets}
    source = lower(tree, launch, params)
    return compile_source(source, source_file, parsed, dict(launch or {}), tree.name)


def compile_source(
    source: CudaSource, source_file: str, parsed: dict[str, tuple[str, str]], launch: dict[str, Any], name: str
) -> dict[str, CudaArtifact]:
    """Artifacts by target for lowered Python; `parsed` is target → ("compute" or "sm", architecture)."""
    from .cuda_names import NAMES

    entries = [cuda_nvvm.EntryPoint(e.name, e.types, e.noalias, source.block) for e in source.entries]
    meta = {
        "arguments": [list(a) for a in source.arguments],
        "launches": list(source.launches),
        "scratch": list(source.scratch),
    }

    made: dict[bool, list[str]] = {}

    def make(arch: str) -> str:
        capability = cuda_nvvm.capability_of(arch)
        old = capability < (6, 0)  # no atomic addition of float64: all that the front end's work depends on
        try:
            if old not in made:
                made[old] = cuda_nvvm.module_ir(source.text, source_file, entries, capability, NAMES, source.helpers)
            return cuda_nvvm.to_ptx(made[old], arch)
        except CompilationError as error:
            raise CompilationError(explained(str(error), source, source_file, name)) from error

    return artifacts(make, parsed, meta, launch, name)


def artifacts(make, parsed: dict[str, tuple[str, str]], meta: dict[str, Any], launch: dict[str, Any], name: str):
    """Artifacts by target, from `make(architecture)`, which gives PTX. Raises CompilationError for a broken budget."""
    result: dict[str, CudaArtifact] = {}
    for arch in dict.fromkeys(arch for _, arch in parsed.values()):
        ptx = make(arch)
        version = cuda_ptxas.lowest_version(ptx, arch)
        ptx = cuda_ptxas.with_version(ptx, version)
        cubin, used = cuda_ptxas.assemble(ptx, arch)
        resources = {entry: r._asdict() for entry, r in used.items()}
        check_budget(resources, launch, name, arch)
        for target, (form, wanted) in parsed.items():
            if wanted == arch:
                data, suffix = (cubin, ".cubin") if form == "sm" else (ptx.encode("ascii"), ".ptx")
                result[target] = CudaArtifact(data, suffix, {
                    **meta, "ptx_version": version, "target": f"sm_{arch}", "resources": resources,
                    "tools": cuda_toolchain.tool_versions(),
                })  # fmt: skip
    return {target: result[target] for target in parsed}


def check_budget(resources: dict[str, dict[str, int]], launch: dict[str, Any], name: str, arch: str) -> None:
    """Refuse what uses more than `launch` allows: `registers` a thread, `spills` in bytes a thread."""
    for entry, used in resources.items():
        spills = used["spill_stores"] + used["spill_loads"]
        for key, found in (("registers", used["registers"]), ("spills", spills)):
            allowed = launch.get(key)
            if allowed is not None and found > int(allowed):
                unit = "" if key == "registers" else " bytes"
                raise CompilationError(
                    f"{name} for sm_{arch}: {entry} needs {found}{unit} of {key}, and the declaration allows {allowed}"
                )


def explained(said: str, source: CudaSource, source_file: str, name: str) -> str:
    """The message with the place in the user's file, as far as numba tells a line of the generated text."""
    for number in re.findall(rf'{re.escape(source_file)}"?, line (\d+)|\((\d+)\)$', said, re.M):
        line = int(number[0] or number[1])
        at = source.positions[line - 1] if 0 < line <= len(source.positions) else None
        if at:
            written = source.text.splitlines()[line - 1].strip()
            return f"{at.path}:{at.line}:{at.column}: the CUDA compiler refused `{at.text.strip()}` (lowered to `{written}`)\n{said}"
    return f"{name}: {said}"
