"""One job through the compilers of its backend: rendered source → typed tree → lowered source → artifacts.

Runs in a worker process. Its sources are written to build/rendered first, as real files, so that whatever goes wrong
afterwards can point to them.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from time import perf_counter
from typing import Callable

from ..errors import CompilationError, CompilerNotInstalledError, DeclarationError
from ..artifact.remedies import install
from .jobs import Answer, Artifact, Job
from .plan import BOUNDS
from .rendered import write_source


def compile_job(job: Job) -> Answer:
    """Make every target of a job. Raises DeclarationError, CompilationError, CompilerNotInstalledError."""
    compiler = COMPILERS.get(job.backend)
    if compiler is None:
        raise DeclarationError(f"there is no compiler for the backend '{job.backend}'")
    return compiler(job)


class Clock:
    """Seconds by phase; each `tick` ends one."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._last = perf_counter()

    def tick(self, phase: str) -> None:
        now = perf_counter()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._last
        self._last = now


def _compile_cpu(job: Job) -> Answer:
    clock = Clock()
    try:
        from ..targets.cpu.compiler import TRIPLE, emit_object, entry_object, host_cpu, kernel_ir
        from ..targets.cpu.entry import entry_ir
        from ..targets.cpu.link import link
        from ..targets.cpu.lowering import lower
        from ..frontend.build import build_tree
        from ..analysis.races import check
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    clock.tick("import")
    write_source(job, ".py", job.rendered.text)
    tree = check(build_tree(job.kernel, job.specialisation, job.rendered))
    clock.tick("front end")
    source = lower(tree, job.targets[0].endswith(BOUNDS))
    path = write_source(job, ".cpu.py", source.text)
    clock.tick("lower")
    text = kernel_ir(source, path)
    clock.tick("numba")
    ir = entry_ir(
        tree.parameters, tree.symbols, tree.aliases, declared=job.kernel.signature.parameters, types=job.kernel.types,
        requires=job.kernel.requires, params=dict(job.specialisation.params),
        vendor=job.kernel.vendor.get("when", True) if job.kernel.vendor else None,
    )  # fmt: skip
    entry = entry_object(ir, job.kernel.name)
    clock.tick("entry point")
    artifacts, failures = {}, {}
    for target in job.targets:
        started = perf_counter()
        try:
            code = emit_object(text, target, job.kernel.name)
            clock.tick("LLVM")
            data = link(f"{job.kernel.name} for {target}", code, entry, linker=job.linker)
            clock.tick("link")
        except CompilationError as error:
            failures[target] = str(error)
            continue
        native = target.removesuffix(BOUNDS) == "cpu:native"
        meta = {"triple": TRIPLE, "features": list(host_cpu()[1]) if native else []}
        if target.endswith(BOUNDS):  # what a fault is told with
            root = os.path.dirname(job.kernel.at.path)
            arrays = [[name, len(array.shape)] for name, array in tree.arrays.items()]
            meta |= {"files": [os.path.relpath(file, root) for file in source.files], "arrays": arrays}
        artifacts[target] = Artifact(data, ".so", meta, perf_counter() - started)
    return Answer(artifacts, failures, tuple(sorted(tree.aliases)), clock.phases)


def unavailable(backend: str) -> str:
    """What is to be installed before this backend's artifacts can be made; empty where nothing is missing."""
    if backend == "cuda":
        from ..targets.cuda.toolchain import require
        from .tools import package_version

        try:
            require(package_version("numpy"))
        except CompilerNotInstalledError as error:
            return str(error)
        return ""
    return next((_not_installed(module) for module in ("numba", "llvmlite") if find_spec(module) is None), "")


def _missing(error: ModuleNotFoundError) -> Exception:
    if error.name is None or error.name.startswith("pydotcompute"):
        return error
    return CompilerNotInstalledError(_not_installed(error.name))


def _not_installed(module: str) -> str:
    return f"building needs {module}, which is not installed: {install('build', module)}"


def _compile_cuda(job: Job) -> Answer:
    from .cuda_job import compile_cuda

    return compile_cuda(job, Clock())


COMPILERS: dict[str, Callable[[Job], Answer]] = {"cpu": _compile_cpu, "cuda": _compile_cuda}
