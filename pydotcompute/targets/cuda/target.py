"""The target `cuda`: PTX (`cuda:compute_80`) and cubins (`cuda:sm_90`), from the kernel language or raw numba.cuda."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ...artifact.remedies import install
from ...artifact.signature import DTYPES
from ...declare.model import Kernel, Rendered, Specialisation
from ...errors import CompilationError, CompilerNotInstalledError, DeclarationError
from ..base import Answer, Artifact, Clock, Job, Target
from ..listing import Listing, Places, Remark, of_rendered, of_text
from ..tools import package_version

if TYPE_CHECKING:
    from .compiler import Make

LLVM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "llvm")


class Lowered(NamedTuple):
    """What is compiled: of the kernel language what it was lowered to, else the raw kernel's own Python."""

    listing: Listing
    compiler: Callable[[bool], Make]  # with tables of lines, or without
    aliases: tuple[tuple[str, str], ...]
    indices: dict[str, Any]  # what becomes of them; of a raw kernel nothing is said


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
    stages = {
        "lowered": "the Python that numba-cuda compiles",
        "ptx": "PTX",
        "sass": "the instructions of the GPU",
    }
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
        lowered = self._lowered(job, clock)
        make = lowered.compiler(False)
        artifacts = {}
        for target, (form, arch) in parsed.items():
            started = perf_counter()
            try:
                made = make(form, arch, job.kernel.launch)
            except CompilationError as error:
                failures[target] = str(error)
                continue
            clock.tick("CUDA compiler")
            meta = made.meta | lowered.indices
            artifacts[target] = Artifact(made.data, made.suffix, meta, perf_counter() - started)
        return Answer(artifacts, failures, lowered.aliases, clock.phases)

    def _lowered(self, job: Job, clock: Clock) -> Lowered:
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
        kernel, rendered = job.kernel, job.rendered
        path = job.write(".cuda-rendered.py", rendered.text)
        if rendered.raw:
            return Lowered(
                of_rendered(rendered),
                lambda lines: compiler.raw_compiler(kernel, job.specialisation, rendered, path, lines), (), {},
            )  # fmt: skip
        tree = check(build_tree(kernel, job.specialisation, rendered))
        clock.tick("front end")
        source = lower(tree, kernel.launch, dict(job.specialisation.params))
        file = job.write(".cuda.py", source.text)
        clock.tick("lower")
        indices = source.sites.told() if source.sites and source.sites.any else {"unchecked": len(unproved(tree))}
        return Lowered(
            of_text(source.text, source.positions),
            lambda lines: compiler.source_compiler(source, file, tree.name, lines),
            tuple(sorted(tree.aliases)), indices,
        )  # fmt: skip

    def listing(self, job: Job, stage: str) -> Listing:
        from . import listing, toolchain

        toolchain.require()
        lowered = self._lowered(job, Clock())
        if stage == "lowered":
            return lowered.listing
        _, arch = toolchain.parse_target(job.targets[0])
        places = Places(line.at for line in lowered.listing.lines)
        form, show = {"ptx": ("compute", listing.ptx), "sass": ("sm", listing.sass)}[stage]
        made, lined = (lowered.compiler(lines)(form, arch, job.kernel.launch).data for lines in (False, True))
        return show(made, lined, places)

    def remarks(self, job: Job) -> tuple[Remark, ...]:
        from . import toolchain

        toolchain.require()
        form, arch = toolchain.parse_target(job.targets[0])
        used = self._lowered(job, Clock()).compiler(False)(form, arch, job.kernel.launch).meta["resources"]
        return tuple(
            Remark(None, f"{entry}, sm_{arch}: " + ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in r.items()))
            for entry, r in used.items()
        )


TARGET = CudaTarget()
