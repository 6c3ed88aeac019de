"""Kernels from a few lines of text, compiled for any target as the build does, and called by the rules of a call.

`TARGETS` are those that the suite in this folder runs for, each by the way of its backend in `RUNS`: a further target is
one entry in both.
"""

from __future__ import annotations

import os
import tempfile
import textwrap
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.backends.cpu import levels
from pydotcompute.cache.manifest import KernelRecord, SpecialisationRecord
from pydotcompute.calls import arguments, arrays
from pydotcompute.declare.model import Kernel, Rendered, Specialisation
from pydotcompute.errors import CompilationError, DeclarationError
from pydotcompute.frontend.build import build_tree
from pydotcompute.interpreter import execute as interpret
from pydotcompute.ir.tree import Atomic, KernelTree, walk
from pydotcompute.targets import registry
from pydotcompute.targets.base import Artifact, Clock, Job, checked_tree
from tests.targets.cpu import run as run_cpu
from tests.targets.cuda import run as run_ptx
from tests.targets.hip import run as run_hip
from tests.targets.metal import run as run_metal
from tests.targets.opencl import run as run_opencl
from tests.targets.webgpu import run as run_webgpu

POISON = 0xA5
TARGETS = (
    "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cuda:compute_80", "opencl:1.2", "hip:gfx1100", "webgpu",
)  # fmt: skip
RUNS: dict[str, Callable[[Built, dict[str, Any], arguments.Call, int], None]] = {
    "cpu": run_cpu.run,
    "cuda": run_ptx.run,
    "opencl": run_opencl.run,
    "hip": run_hip.run,
    "webgpu": run_webgpu.run,
    "metal": run_metal.run,
}
# Why a device's code cannot be executed here; empty: it can.
LACKS = {"opencl": run_opencl.missing, "hip": run_hip.missing, "webgpu": run_webgpu.missing,
         "metal": run_metal.missing}  # fmt: skip


MOST_WGSL = 60_000  # bytes
# What WGSL lacks, and how a build says so. A kernel that computes in it must be refused so, and no other.
LACKING = {
    "float64": "is float64, which WGSL does not have|computes in float64, which WGSL does not have",
    "complex128": "is complex128, which WGSL does not have|computes in complex128, which WGSL does not have",
    "atomics of 64 bits": "atomic updates of u?int64, which WGSL does not have",
}


def marked(target: str, *more: Any) -> Any:
    """A parameter of a test, skipped where this processor or this environment cannot have the target."""
    own = registry.get(target)
    reason = own.missing() or (levels.unfit(target) if own.name == "cpu" else "")
    reason = reason or LACKS.get(own.name, str)()
    marks = [pytest.mark.skipif(bool(reason), reason=str(reason))]
    if target != "cpu:x86-64-v3":  # what it passes is mostly right for the others
        marks.append(pytest.mark.slow)
    return pytest.param(target, *more, marks=marks)


every_target = pytest.mark.parametrize("target", [marked(target) for target in TARGETS])


def every_target_and(*dtypes: str, but: tuple[tuple[str, str], ...] = ()) -> pytest.MarkDecorator:
    """Every target with each of these dtypes that it has, but for these pairs."""
    chosen = [(t, d) for t in TARGETS for d in dtypes if d == "bool" or d in registry.get(t).dtypes and (t, d) not in but]
    return pytest.mark.parametrize("target, dtype", [marked(*pair) for pair in chosen])


@dataclass(frozen=True, eq=False)  # one is itself alone: what is loaded of it is kept by it
class Built:
    target: str
    record: KernelRecord
    specialisation: SpecialisationRecord
    tree: KernelTree | None  # none of a raw kernel
    data: bytes
    meta: dict[str, Any]
    launch: dict[str, Any]  # of the declaration

    @property
    def ptx(self) -> str:
        return self.data.decode()

    def call(self, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
        """The call `lib.NAME(…)` with NumPy arrays. New outputs are poisoned first. By `seed`, threads take turns, or
        there are others."""
        run = RUNS[self.target.partition(":")[0]]
        return self._run(args, kwargs, lambda values, call: run(self, values, call, seed))

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


class Poisoned:
    """NumPy's arrays as calls see them; new ones hold what no kernel may leave."""

    noun = arrays.noun
    owns, plain, place = staticmethod(arrays.owns), staticmethod(arrays.plain), staticmethod(arrays.place)
    address, is_contiguous = staticmethod(arrays.address), staticmethod(arrays.is_contiguous)
    is_aligned, is_writable = staticmethod(arrays.is_aligned), staticmethod(arrays.is_writable)
    overlap, fill, result = staticmethod(arrays.overlap), staticmethod(arrays.fill), staticmethod(arrays.result)
    number = staticmethod(arrays.number)

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return np.full(size, 1 if dtype == "bool" else POISON, np.uint8).view(dtype).reshape(shape)


def declared(target: str, text: str, template: str = "", choice: int = 0) -> tuple[Kernel, Specialisation, Rendered]:
    """The one kernel that is declared by `text`, what stands under its name, rendered for a target; `template` is the
    text of its template, which is called k.py.j2."""
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(f"{root}/templates")
        with open(f"{root}/templates/k.py.j2", "w") as file:
            file.write(textwrap.dedent(template).lstrip("\n"))
        with open(f"{root}/kernels.yaml", "w") as file:
            lines = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
            file.write(f"version: 1\ntargets: ['{target}']\nkernels:\n  k:\n{lines}\n")
        kernel = declare.load(root).kernels["k"]
        specialisation = kernel.specialisations[choice]
        return kernel, specialisation, declare.render(
            kernel, specialisation, target.partition(":")[0], root, registry.raw_modules(),
            registry.get(target).has_avx512(target),
        )  # fmt: skip


def build(target: str, text: str, template: str = "", choice: int = 0) -> Built:
    """A specialisation of a declared kernel, compiled in this process."""
    return compiled(target, *declared(target, text, template, choice))


def loop(target: str, signature: str, body: str, *more: str, **settings: Any) -> Built:
    """The kernel of a signature and a body; `more` are further lines of its declaration."""
    return build(target, declaration(signature, body, *more), **settings)


def declaration(signature: str, body: str, *more: str) -> str:
    lines = [f'signature: "{signature}"', *more]
    return "\n".join([*lines, "body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "  ")])


def compiled(target: str, kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> Built:
    with tempfile.TemporaryDirectory() as folder:
        job = Job(kernel, specialisation, rendered, (target,), folder)
        if target == "webgpu" and not rendered.raw and (found := lacking(kernel, specialisation, rendered)):
            with pytest.raises(DeclarationError, match="|".join(LACKING[what] for what in found)) as refused:
                registry.get(target).compile(job, Clock())
            pytest.skip(f"refused by name, as it has to be: {refused.value}")
        answer = registry.get(target).compile(job, Clock())
    if target == "webgpu" and (size := len(answer.artifacts[target].data)) > MOST_WGSL:
        pytest.skip(
            f"built, but not run: lavapipe puts every function into its place, and takes minutes for the {size} bytes of "
            "this, which join what other tests have one by one"
        )
    if answer.failures:
        raise CompilationError("; ".join(answer.failures.values()))
    tree = None if rendered.raw else checked_tree(job)
    return built(target, kernel, specialisation, tree, answer.artifacts[target])


def lacking(kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> list[str]:
    """Which of LACKING a kernel computes in."""
    tree = build_tree(kernel, specialisation, rendered)
    roots = (*tree.body, *(s for helper in tree.helpers for s in helper.body))
    nodes = [node for root in roots for node in walk(root)]
    dtypes = {getattr(node, "type", None) or getattr(node, "dtype", None) for node in nodes} | {p.dtype for p in tree.parameters}
    found = [dtype for dtype in ("float64", "complex128") if dtype in dtypes]
    wide = any(isinstance(node, Atomic) and node.value.type.endswith("int64") for node in nodes)
    return [*found, *["atomics of 64 bits"] * wide]


def built(
    target: str, kernel: Kernel, specialisation: Specialisation, tree: KernelTree | None, artifact: Artifact
) -> Built:
    types, params = dict(specialisation.types), dict(specialisation.params)
    concrete = tuple(p._replace(dtype=types.get(p.dtype, p.dtype)) for p in kernel.signature.parameters)
    aliases = tree.aliases if tree else frozenset()
    chosen = SpecialisationRecord(str(specialisation), types, params, aliases, concrete, ())
    record = KernelRecord(
        kernel.name, kernel.doc, kernel.signature, kernel.types, {k: (v,) for k, v in params.items()}, kernel.requires,
        {str(specialisation): chosen},
    )  # fmt: skip
    return Built(target, record, chosen, tree, artifact.data, artifact.meta, kernel.launch)


def agree(kernel: Built, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
    """The call by the target's code and by the interpreter, on copies: equal to the bit. Arrays in views that are not
    contiguous are given as they are."""
    copies = [
        [np.array(a) if isinstance(a, np.ndarray) and a.flags.c_contiguous else a for a in args] for _ in range(2)
    ]
    got, wanted = kernel.call(*copies[0], seed=seed, **kwargs), kernel.python(*copies[1], **kwargs)
    for k, (g, w) in enumerate(zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, wanted)))):
        same(np.asarray(g), np.asarray(w), f"output {k}")
    for k, (g, w) in enumerate(zip(*copies)):
        if isinstance(g, np.ndarray) and g.flags.c_contiguous:
            same(g, w, f"argument {k}")
    return got


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


def kept(target: str, x: np.ndarray) -> np.ndarray:
    """Numbers without those that a target may not keep: denormals are zeros."""
    if "extreme" not in registry.get(target).loses or x.dtype.kind != "f":
        return x
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def draw(*shape: int, dtype: str = "f4", seed: int = 0) -> np.ndarray:
    """Integers from -50 to 49, or normal floats."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-50, 50, shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)
