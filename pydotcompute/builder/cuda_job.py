"""A job for CUDA: rendered source → typed tree, or raw Python → PTX and cubins."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ..errors import CompilationError, CompilerNotInstalledError, DeclarationError
from ..artifact.remedies import install
from .jobs import Answer, Artifact, Job
from .rendered import write_source


def compile_cuda(job: Job, clock: Any) -> Answer:
    """Make every target of a job; `clock` keeps the phases. Raises DeclarationError, CompilationError,
    CompilerNotInstalledError."""
    from ..targets.cuda import toolchain as cuda_toolchain

    cuda_toolchain.require()
    parsed, failures = {}, {}
    for target in job.targets:
        try:
            parsed[target] = cuda_toolchain.parse_target(target)
        except DeclarationError as error:  # of this target alone: the toolchain does not know it
            failures[target] = str(error)
    try:
        from ..targets.cuda import compiler as cuda
        from ..frontend.build import build_tree
        from ..analysis.races import check
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("pydotcompute"):
            raise
        raise CompilerNotInstalledError(
            f"building needs {error.name}, which is not installed: {install('build-cuda', error.name)}"
        ) from None
    clock.tick("import")
    kernel, params = job.kernel, dict(job.specialisation.params)
    path = write_source(job, ".cuda-rendered.py", job.rendered.text)
    aliases: tuple[tuple[str, str], ...] = ()
    if job.rendered.raw:
        make = cuda.raw_compiler(kernel, job.specialisation, job.rendered, path)
    else:
        tree = check(build_tree(kernel, job.specialisation, job.rendered))
        aliases = tuple(sorted(tree.aliases))
        clock.tick("front end")
        source = cuda.lower(tree, kernel.launch, params)
        path = write_source(job, ".cuda.py", source.text)
        clock.tick("lower")
        make = cuda.source_compiler(source, path, tree.name)
    artifacts = {}
    for target, (form, arch) in parsed.items():
        started = perf_counter()
        try:
            made = make(form, arch, kernel.launch)
        except CompilationError as error:
            failures[target] = str(error)
            continue
        clock.tick("CUDA compiler")
        artifacts[target] = Artifact(made.data, made.suffix, made.meta, perf_counter() - started)
    return Answer(artifacts, failures, aliases, clock.phases)
