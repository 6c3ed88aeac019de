"""Built CUDA kernels without a GPU: compiled to PTX by the product, called by its rules, run by the interpreter."""

from __future__ import annotations

import os
import tempfile
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydotcompute import declare
from pydotcompute.backends import launch as cuda_launch
from pydotcompute.cache import manifest
from pydotcompute.cache.manifest import KernelRecord, SpecialisationRecord
from pydotcompute.targets.cuda import compiler as cuda
from pydotcompute.declare.model import Kernel, Rendered, Specialisation
from pydotcompute.interpreter import execute as interpret
from pydotcompute.frontend.build import build_tree
from pydotcompute.analysis.races import check
from pydotcompute.ir.tree import KernelTree
from pydotcompute.calls import arguments, arrays
from tests.ptx import Memory, Module

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
POISON = 0xA5


@dataclass(frozen=True)
class Built:
    record: KernelRecord
    specialisation: SpecialisationRecord
    tree: KernelTree | None  # none of a raw kernel
    ptx: str
    meta: dict[str, Any]

    def call(self, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
        """The call `lib.NAME(…)` with NumPy arrays, its PTX interpreted. Outputs are poisoned first."""
        return self._run(args, kwargs, lambda values, call: self.launch(values, call, seed))

    def python(self, *args: Any, order: str = "forward", **kwargs: Any) -> Any:
        """The same call by the language's interpreter."""

        def run(values: dict[str, Any], call: arguments.Call) -> None:
            seen = {}
            for p in self.specialisation.parameters:
                seen[p.name] = values[p.name]
                if p.is_array:
                    own = values[p.name].ndim - len(p.dims)
                    rows = call.leading if p.ellipsis else ()
                    trailing = values[p.name].shape[own:]
                    whole = np.broadcast_to(values[p.name], (*rows, *trailing)).copy()
                    seen[p.name] = whole.reshape((int(np.prod(rows)), *trailing) if p.ellipsis else trailing)
            interpret.run(self.tree, seen, call.dims, order)
            for p in self.specialisation.parameters:
                if p.writable and p.is_array:
                    values[p.name][...] = seen[p.name].reshape(values[p.name].shape)

        return self._run(args, kwargs, run)

    def _run(self, args: tuple, kwargs: dict[str, Any], run: Any) -> Any:
        record = self.record
        given, chosen = arguments.assign(record.name, record.signature, record.params, args, kwargs)
        call = arguments.check(record, given, chosen, Poisoned)
        assert call.specialisation is self.specialisation, call.specialisation.name
        values, finish = call.complete()
        run(values, call)
        return finish()

    def launch(self, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
        memory, known = Memory(), {}
        roots, padded = [], []
        swaps_words = "atom.cas.b32" in self.ptx  # also for a byte, whose word may end behind the array

        def address(array: np.ndarray) -> int:
            root = array
            while isinstance(root.base, np.ndarray):
                root = root.base
            if id(root) not in known:
                roots.append(root)
                whole = (root.view(np.uint8) if root.ndim else root.reshape(1).view(np.uint8)).reshape(-1)
                if swaps_words and whole.size % 4:
                    padded.append((whole, np.append(whole, np.full(-whole.size % 4, POISON, np.uint8))))
                    whole = padded[-1][1]
                known[id(root)] = memory.add(str(len(known)), whole) if root.size else 64
            return known[id(root)] + arrays.address(array) - arrays.address(root)

        parameters = self.specialisation.parameters
        scratch = [memory.add("scratch", np.full(size, POISON, np.uint8)) for size in self.meta["scratch"]]
        names = call.dims | cuda_launch.scalar_names(parameters, values)
        given = cuda_launch.arguments(self.meta, parameters, values, call.dims, call.leading, address, scratch)
        given = [g.tobytes() if isinstance(g, np.complexfloating) else g for g in given]
        given = [g.view(np.uint16) if isinstance(g, np.float16) else g for g in given]
        module = Module(self.ptx)
        for k, launch in enumerate(cuda_launch.launches(self.meta, names)):
            module.launch(launch.entry, launch.grid, launch.block, given, memory, seed + k)
        for whole, copy in padded:
            whole[...] = copy[: whole.size]
            assert (copy[whole.size :] == POISON).all(), "bytes behind an array have changed"


class Poisoned:
    """NumPy's arrays as calls see them; new ones hold what no kernel may leave."""

    noun, owns, plain, place = (
        arrays.noun,
        staticmethod(arrays.owns),
        staticmethod(arrays.plain),
        staticmethod(arrays.place),
    )
    address, is_contiguous = staticmethod(arrays.address), staticmethod(arrays.is_contiguous)
    is_aligned, is_writable = staticmethod(arrays.is_aligned), staticmethod(arrays.is_writable)
    overlap, fill, result = staticmethod(arrays.overlap), staticmethod(arrays.fill), staticmethod(arrays.result)

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return np.full(size, 1 if dtype == "bool" else POISON, np.uint8).view(dtype).reshape(shape)


def build(text: str, template: str = "", choice: int = 0, arch: str = "80") -> Built:
    """A specialisation of the one kernel that is declared by `text`, what stands under its name; `template` is the
    text of its template, which is called k.py.j2."""
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(f"{root}/templates")
        with open(f"{root}/templates/k.py.j2", "w") as file:
            file.write(textwrap.dedent(template).lstrip("\n"))
        with open(f"{root}/kernels.yaml", "w") as file:
            lines = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
            file.write(f"version: 1\ntargets: [cuda:compute_80]\nkernels:\n  k:\n{lines}\n")
        kernel = declare.load(root).kernels["k"]
        specialisation = kernel.specialisations[choice]
        rendered: Rendered = declare.render(kernel, specialisation, "cuda", root)
    return compiled(kernel, specialisation, rendered, arch)


def loop(signature: str, body: str, *more: str, **settings: Any) -> Built:
    """The kernel of a signature and a body; `more` are further lines of its declaration."""
    lines = [f'signature: "{signature}"', *more, "body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "  ")]
    return build("\n".join(lines), **settings)


def raw(signature: str, body: str, *more: str, template: str = "", arch: str = "80") -> Built:
    """A raw kernel, by a body or a template."""
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(f"{root}/templates")
        with open(f"{root}/templates/k.py.j2", "w") as file:
            file.write(textwrap.dedent(template).lstrip("\n"))
        lines = [f'signature: "{signature}"', *more]
        lines += (
            ["template: k.py.j2"] if template else ["body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "  ")]
        )
        with open(f"{root}/kernels.yaml", "w") as file:
            text = textwrap.indent("\n".join(lines), "    ")
            file.write(f"version: 1\ntargets: [cuda:compute_80]\nkernels:\n  k:\n{text}\n")
        kernel = declare.load(root).kernels["k"]
        specialisation = kernel.specialisations[0]
        rendered = declare.render(kernel, specialisation, "cuda", root)
    assert rendered.raw
    artifact = cuda.raw_compiler(kernel, specialisation, rendered, "k.py")("compute", arch, kernel.launch)
    return _built(kernel, specialisation, None, artifact)


def from_cache(root: str, name: str, label: str, target: str = "cuda:compute_80") -> Built:
    """What a build has put into the cache of a project."""
    declaration = declare.load(root)
    kernel = declaration.kernels[name]
    specialisation = next(s for s in kernel.specialisations if str(s) == label)
    folder = manifest.find(root)[0]
    record = manifest.kernel_record(manifest.read(folder, root), name, folder, root)
    chosen = record.specialisations[label]
    artifact = next(a for a in chosen.artifacts if a.target == target)
    tree = check(build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cuda", root)))
    with open(artifact.path) as file:
        return Built(record, chosen, tree, file.read(), artifact.meta)


def compiled(kernel: Kernel, specialisation: Specialisation, rendered: Any, arch: str = "80") -> Built:
    """One specialisation, compiled in this process."""
    tree = check(build_tree(kernel, specialisation, rendered))
    target = f"cuda:compute_{arch}"
    params = dict(specialisation.params)
    artifact = cuda.compile_kernel(tree, "kernel.py", [target], kernel.launch, params)[target]
    return _built(kernel, specialisation, tree, artifact)


def _built(
    kernel: Kernel, specialisation: Specialisation, tree: KernelTree | None, artifact: cuda.CudaArtifact
) -> Built:
    types, params = dict(specialisation.types), dict(specialisation.params)
    concrete = tuple(p._replace(dtype=types.get(p.dtype, p.dtype)) for p in kernel.signature.parameters)
    aliases = tree.aliases if tree else frozenset()
    chosen = SpecialisationRecord(str(specialisation), types, params, aliases, concrete, ())
    record = KernelRecord(
        kernel.name, kernel.doc, kernel.signature, kernel.types, {k: (v,) for k, v in params.items()}, kernel.requires,
        {str(specialisation): chosen},
    )  # fmt: skip
    return Built(record, chosen, tree, artifact.data.decode(), artifact.meta)


def same(got: np.ndarray, wanted: np.ndarray, what: str, *inputs: np.ndarray) -> None:
    """Equal to the bit, but for what a NaN carries."""
    if got.dtype.kind == "c":
        inputs = tuple(np.repeat(x, 2) for x in inputs)
        got, wanted = (np.ascontiguousarray(a).reshape(-1).view(a.real.dtype) for a in (got, wanted))
    equal = got == wanted
    if got.dtype.kind == "f":
        equal = (equal & (np.signbit(got) == np.signbit(wanted))) | (np.isnan(got) & np.isnan(wanted))
    at = np.flatnonzero(~np.asarray(equal).reshape(-1))[:4]
    found = [[a.reshape(-1)[k] for a in (*inputs, got, wanted)] for k in at]
    assert not len(at), f"{what}: {found} (arguments, got, wanted)"
