"""Plain functions compiled on demand: what `OpenCLBackend.compile_kernel` gives and `launch_kernel` takes."""

from __future__ import annotations

from typing import Any, Callable

from ...cache.files import sha256
from ...cache.manifest import Artifact, KernelRecord, SpecialisationRecord
from ...calls import arguments
from ...calls.scalars import type_name
from ..build_half import build_half
from .kernel import OpenCLKernel

NAME = "-"  # of the only specialisation


class OpenCLFunction:
    """A function compiled for the arguments of one signature, for one backend."""

    def __init__(self, compiled: Any, backend: Any):
        tree, made, self.name = compiled.tree, compiled.artifact, compiled.name
        self.backend, self.axes = backend, compiled.axes
        artifact = Artifact(
            "", "", self.name, NAME, "opencl:1.2", sha256(made.data), made.suffix, len(made.data), "", "", made.meta,
            tree.parameters, tree.symbols,
        )  # fmt: skip
        chosen = SpecialisationRecord(NAME, {}, {}, tree.aliases, tree.parameters, (artifact,))
        self.record = KernelRecord(self.name, "", compiled.signature, {}, {}, (), {NAME: chosen})
        self.kernel = OpenCLKernel(artifact, backend, made.data)

    def __repr__(self) -> str:
        return f"<OpenCL kernel {self.name} for {self.backend.device_name}>"

    def __call__(self, *args: Any) -> None:
        raise TypeError(
            f"{self.name} is an OpenCL kernel: launch it by backend.launch_kernel({self.name}, grid, block, …)"
        )

    def launch(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """As many threads as the grid has blocks of threads. Raises TypeError and ValueError for arguments that do not
        fit the signature, or share memory that is written."""
        threads = [g * b for g, b in zip((*grid, 1, 1)[:3], (*block, 1, 1)[:3], strict=True)]
        if any(n > 1 for n in threads[self.axes :]):
            raise ValueError(f"{self.name} counts {self.axes} of the sizes of a launch, got {grid} blocks of {block}")
        signature = self.record.signature
        wanted = len(signature.inputs) - self.axes
        if len(args) != wanted:
            raise TypeError(f"{self.name} was compiled for {wanted} arguments, got {len(args)}")
        given, _ = arguments.assign(self.name, signature, {}, (*args, *threads[: self.axes]), {})
        self.kernel(arguments.check(self.record, given, {}, self.backend.arrays))


def compile_function(func: Callable, signature: tuple[Any, ...], backend: Any, made: dict) -> OpenCLFunction:
    """See OpenCLBackend.compile_kernel. made: what this backend has compiled, by source text and name."""
    with build_half("compiling a function for OpenCL") as module:
        compiled = module("targets.opencl.functions").compile_function(func, signature)
    key = compiled.name, compiled.artifact.data, compiled.signature.text
    if key not in made:
        made.setdefault(key, OpenCLFunction(compiled, backend))
    return made[key]


def launchable(backend: Any, kernel: Any) -> OpenCLFunction:
    """Raises TypeError for what is not a kernel of this backend's."""
    if isinstance(kernel, OpenCLFunction):
        if kernel.backend is not backend:
            raise ValueError(f"{kernel!r} was compiled by another backend")
        return kernel
    raise TypeError(
        f"{type_name(kernel)} is not an OpenCL kernel: compile it by backend.compile_kernel(function, signature) first"
    )
