"""The target `cpu`: shared objects for the levels of x86-64, and for this very processor."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...artifact import x86_levels
from ...artifact.remedies import install
from ...artifact.signature import DTYPES
from ...declare.model import Kernel
from ...errors import CompilationError, CompilerNotInstalledError
from .. import tools
from ..base import BOUNDS, Answer, Artifact, Clock, Job, Target
from ..listing import Listing, Places, Remark, of_text

if TYPE_CHECKING:
    from ...ir.tree import KernelTree
    from .lowering import CpuSource

LLVM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "llvm")


class CpuTarget(Target):
    name = "cpu"
    default = "cpu:x86-64-v3"
    pattern = "cpu:(?:x86-64(?:-v[234])?|native)"
    examples = x86_levels.NAMES
    by_default = x86_levels.NAMES[1:4]
    dtypes = frozenset(DTYPES) - {"float16"}
    has_bounds = True
    stages = {
        "lowered": "the Python that Numba compiles",
        "llvm": "LLVM IR, optimised for the target",
        "asm": "assembly",
    }
    distributions = {"numba": ("numba",), "llvmlite": ("llvmlite",), "numpy": ("numpy",)}

    def code(self) -> tuple[str, ...]:
        return (*super().code(), LLVM)

    def meant(self, text: str) -> str:
        return x86_levels.meant(text)

    def platforms(self, target: str) -> tuple[str, ...]:
        # Its objects name no version of glibc and need no library but the one that every process has.
        return ("manylinux_2_17_x86_64",)

    def missing(self) -> str:
        return next((not_installed(module) for module in ("numba", "llvmlite") if find_spec(module) is None), "")

    def fields(self, kernel: Kernel, target: str) -> dict[str, str]:
        return {"processor": processor()} if target.removesuffix(BOUNDS) == "cpu:native" else {}

    def tools(self, linker: str = "") -> dict[str, str]:
        linked = tools.command_version(linker) if linker else f"ziglang {tools.package_version('ziglang')}"
        return {**super().tools(linker), "linker": linked}

    def compile(self, job: Job, clock: Clock) -> Answer:
        tree, source, path = self._lowered(job, clock)
        from ...analysis.inside import unproved
        from ..phases import has_sequential_loops
        from .compiler import TRIPLE, entry_object, host_cpu, kernel_ir, objects
        from .entry import entry_ir

        text = kernel_ir(source, path)
        clock.tick("numba")
        ir = entry_ir(
            tree.parameters, tree.symbols, tree.aliases, declared=job.kernel.signature.parameters,
            types=tuple(job.kernel.types), requires=job.kernel.requires, params=dict(job.specialisation.params),
            vendor=job.kernel.vendor.get("when", True) if job.kernel.vendor else None, checks=source.faults.any,
            has_loops=has_sequential_loops(tree),
        )  # fmt: skip
        entry = entry_object(ir, job.kernel.name)
        clock.tick("entry point")
        artifacts, failures = {}, {}
        started = perf_counter()
        for target, made in objects(job.kernel.name, text, job.targets, entry, job.linker, clock.tick):
            seconds, started = perf_counter() - started, perf_counter()
            if isinstance(made, CompilationError):
                failures[target] = str(made)
                continue
            native = target.removesuffix(BOUNDS) == "cpu:native"
            meta: dict[str, Any] = {"triple": TRIPLE, "features": list(host_cpu()[1]) if native else []}
            if source.faults.any:
                meta |= source.faults.told()
            else:  # there may be some that the declaration wants to be trusted
                meta["unchecked"] = len(unproved(tree))
            artifacts[target] = Artifact(made, ".so", meta, seconds)
        return Answer(artifacts, failures, tuple(sorted(tree.aliases)), clock.phases)

    def _lowered(self, job: Job, clock: Clock) -> tuple[KernelTree, CpuSource, str]:
        """The typed tree, the Python made of it, and the file that it was written to."""
        try:
            from ...analysis.races import check
            from ...frontend.build import build_tree
            from . import compiler  # noqa: F401  (what is missing is missed before anything is done)
            from .lowering import lower
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("pydotcompute"):
                raise
            raise CompilerNotInstalledError(not_installed(error.name)) from None
        clock.tick("import")
        job.write(".py", job.rendered.text)
        tree = check(build_tree(job.kernel, job.specialisation, job.rendered))
        clock.tick("front end")
        source = lower(tree, job.targets[0].endswith(BOUNDS))
        path = job.write(".cpu.py", source.text)
        clock.tick("lower")
        return tree, source, path

    def listing(self, job: Job, stage: str) -> Listing:
        tree, source, path = self._lowered(job, Clock())
        if stage == "lowered":
            return of_text(source.text, source.positions)
        from .compiler import kernel_ir
        from .listing import assembly, llvm_ir

        target, places = job.targets[0], Places(source.positions)
        lined = kernel_ir(source, path, lines=True)
        if stage == "llvm":
            return llvm_ir(lined, target, tree.name, places)
        return assembly(kernel_ir(source, path), lined, target, tree.name, places)

    def remarks(self, job: Job) -> tuple[Remark, ...]:
        tree, source, path = self._lowered(job, Clock())
        from .compiler import kernel_ir
        from .remarks import remarks

        return remarks(kernel_ir(source, path, lines=True), job.targets[0], tree, Places(source.positions))


TARGET = CpuTarget()


def not_installed(module: str) -> str:
    return f"building needs {module}, which is not installed: {install('build', module)}"


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
