"""The target `cuda`: PTX (`cuda:compute_80`) and cubins (`cuda:sm_90`), from the kernel language or raw numba.cuda."""

from __future__ import annotations

import os
from time import perf_counter

from ...artifact.remedies import install
from ...artifact.signature import DTYPES
from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import CompilationError, CompilerNotInstalledError, DeclarationError
from ..base import Answer, Artifact, Clock, Job, Target
from ..tools import package_version

LLVM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "llvm")


class CudaTarget(Target):
    name = "cuda"
    default = "cuda:compute_80"
    pattern = "cuda:(?:compute|sm)_[1-9][0-9]{1,2}[af]?"
    # only to suggest one: which architectures there are is the toolchain's to say
    examples = ("cuda:compute_80", "cuda:sm_75", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a")
    expected = "a CUDA target is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)"
    dtypes = frozenset(DTYPES)
    has_blocks = True
    comments = {".ptx": "//"}
    raw = "cuda"
    distributions = {
        "numba": ("numba",),
        "numba-cuda": ("numba_cuda",),
        "cuda-bindings": ("cuda_bindings",),
        "llvmlite": ("llvmlite",),
        "numpy": ("numpy",),
        "nvcc": ("nvidia_cuda_nvcc_cu12", "nvidia_cuda_nvcc"),
        "nvrtc": ("nvidia_cuda_nvrtc_cu12", "nvidia_cuda_nvrtc"),
        "nvjitlink": ("nvidia_nvjitlink_cu12", "nvidia_nvjitlink"),
        "nvvm": ("nvidia_nvvm",),
    }

    def code(self) -> tuple[str, ...]:
        return (*super().code(), LLVM)

    def missing(self) -> str:
        from . import toolchain

        try:
            toolchain.require(package_version("numpy"))
        except CompilerNotInstalledError as error:
            return str(error)
        return ""

    def lacks(self, target: str) -> str:
        from . import toolchain

        if self.missing():
            return ""
        try:
            toolchain.parse_target(target)
        except DeclarationError as error:
            return str(error)
        return ""

    def check(self, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> None:
        super().check(kernel, specialisation, rendered)
        if rendered.raw:
            from .raw import check_raw

            check_raw(kernel, rendered)

    def compile(self, job: Job, clock: Clock) -> Answer:
        from . import toolchain

        toolchain.require()
        parsed, failures = {}, {}
        for target in job.targets:
            try:
                parsed[target] = toolchain.parse_target(target)
            except DeclarationError as error:  # of this target alone: the toolchain does not know it
                failures[target] = str(error)
        try:
            from ...analysis.inside import unproved
            from ...analysis.races import check
            from ...frontend.build import build_tree
            from . import compiler, namespace  # noqa: F401  (which lowering imports once it begins)
            from .lowering import lower
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("pydotcompute"):
                raise
            remedy = install("build-cuda", error.name)
            raise CompilerNotInstalledError(
                f"building needs {error.name}, which is not installed: {remedy}"
            ) from None
        clock.tick("import")
        kernel, params = job.kernel, dict(job.specialisation.params)
        path = job.write(".cuda-rendered.py", job.rendered.text)
        aliases: tuple[tuple[str, str], ...] = ()
        unchecked: dict[str, int] = {}  # a raw kernel has accesses that nobody looks at, and does not say how many
        if job.rendered.raw:
            make = compiler.raw_compiler(kernel, job.specialisation, job.rendered, path)
        else:
            tree = check(build_tree(kernel, job.specialisation, job.rendered))
            aliases, unchecked = tuple(sorted(tree.aliases)), {"unchecked": len(unproved(tree))}
            clock.tick("front end")
            source = lower(tree, kernel.launch, params)
            path = job.write(".cuda.py", source.text)
            clock.tick("lower")
            make = compiler.source_compiler(source, path, tree.name)
        artifacts = {}
        for target, (form, arch) in parsed.items():
            started = perf_counter()
            try:
                made = make(form, arch, kernel.launch)
            except CompilationError as error:
                failures[target] = str(error)
                continue
            clock.tick("CUDA compiler")
            meta = made.meta | unchecked
            artifacts[target] = Artifact(made.data, made.suffix, meta, perf_counter() - started)
        return Answer(artifacts, failures, aliases, clock.phases)


TARGET = CudaTarget()
