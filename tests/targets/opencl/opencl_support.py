"""Kernels compiled for OpenCL in this process, and called on the first device with arrays that lie there as they lie
here: by their own buffers, offsets and strides."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shutil
import tempfile
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from pydotcompute import declare
from pydotcompute.backends.opencl import OpenCLBackend
from pydotcompute.cache.manifest import Artifact, KernelRecord, SpecialisationRecord
from pydotcompute.cache.objects import sha256
from pydotcompute.interpreter import execute as interpret
from pydotcompute.frontend.build import build_tree
from pydotcompute.analysis.races import check
from pydotcompute.ir.tree import KernelTree
from pydotcompute.calls import arguments, arrays
from pydotcompute.targets.opencl.compiler import SUFFIX, TARGET, compile_kernel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
POISON = 0xA5
CACHE = tempfile.mkdtemp(prefix="pydotcompute-opencl-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


@functools.cache
def backend() -> OpenCLBackend:
    return OpenCLBackend()


@dataclass(frozen=True)
class Built:
    record: KernelRecord
    specialisation: SpecialisationRecord
    tree: KernelTree
    artifact: Artifact
    loaded: Any

    @property
    def source(self) -> str:
        with open(self.artifact.path) as file:
            return file.read()

    def call(self, *args: Any, seed: int = 0, **kwargs: Any) -> Any:
        """The call `lib.NAME(…)` with NumPy arrays, on the device. Outputs that are not given are poisoned first.
        `seed` is for devices whose threads take turns."""
        return self._run(args, kwargs, self.launch)

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

    def launch(self, values: dict[str, Any], call: arguments.Call) -> None:
        launch(self.loaded, self.specialisation.parameters, values, call)


def launch(loaded: Any, parameters: Any, values: dict[str, Any], call: arguments.Call) -> None:
    """On the device, with the arrays of one memory in one buffer, between guards that must stay as they are."""
    device, moved = backend(), dict(values)
    regions = _regions(parameters, moved)
    for region in regions:
        region.send(device, moved, values)
    loaded.launch(call, moved)
    device.synchronize()
    for region in regions:
        region.receive(device)


def load(made: Any, kernel: str, label: str, parameters: Any, symbols: Any) -> tuple[Artifact, Any]:
    """An artifact that was just made, put into a cache of its own and loaded from there."""
    digest = sha256(made.data)
    artifact = Artifact(
        CACHE, "project", kernel, label, TARGET, digest, SUFFIX, len(made.data), "key", "", made.meta, parameters, symbols
    )
    os.makedirs(os.path.dirname(artifact.path), exist_ok=True)
    with open(artifact.path, "wb") as file:
        file.write(made.data)
    verdict = backend().judge(artifact)
    assert not verdict.reason, verdict.reason
    return artifact, backend().load_kernel(artifact)


class _Region:
    """Memory of the host that some arrays lie in, and its copy in a buffer between guards."""

    guard = 256

    def __init__(self, root: Any):
        self.root, self.names, self.first, self.last, self.written = root, [], None, None, False

    def add(self, name: str, array: np.ndarray, written: bool) -> None:
        first, last = np.lib.array_utils.byte_bounds(array)
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)
        self.names.append(name)
        self.written |= written

    @property
    def memory(self) -> np.ndarray:
        return np.frombuffer((ctypes.c_ubyte * (self.last - self.first)).from_address(self.first), np.uint8)

    def send(self, device: OpenCLBackend, moved: dict[str, Any], values: dict[str, Any]) -> None:
        size = self.last - self.first
        whole = np.full(-(-(size + 2 * self.guard) // 4) * 4, POISON, np.uint8)
        whole[self.guard : self.guard + size] = self.memory
        self.buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, whole.size)
        cl.enqueue_copy(device.queue, self.buffer, whole, is_blocking=True)
        for name in self.names:
            array = values[name]
            offset = self.guard + arrays.address(array) - self.first
            moved[name] = cl_array.Array(
                device.queue, array.shape, array.dtype, data=self.buffer, offset=offset, strides=array.strides
            )

    def receive(self, device: OpenCLBackend) -> None:
        whole = np.empty(self.buffer.size, np.uint8)
        cl.enqueue_copy(device.queue, whole, self.buffer, is_blocking=True)
        inside = slice(self.guard, self.guard + self.last - self.first)
        if self.written:
            self.memory[...] = whole[inside]
        else:
            assert (self.memory == whole[inside]).all(), f"{self.names} have changed"
        whole[inside] = POISON
        assert (whole == POISON).all(), f"bytes around {self.names} have changed"


def _regions(parameters: Any, values: dict[str, Any]) -> list[_Region]:
    found: dict[int, _Region] = {}
    for p in parameters:
        if not p.is_array and p.role != "out":
            continue
        array = root = values[p.name]
        if not array.size:
            values[p.name] = cl_array.Array(backend().queue, array.shape, array.dtype, strides=array.strides)
            continue
        while isinstance(root.base, np.ndarray):
            root = root.base
        found.setdefault(id(root), _Region(root)).add(p.name, array, p.writable)
    return list(found.values())


class Poisoned:
    """NumPy's arrays as calls see them; new ones hold what no kernel may leave."""

    noun = arrays.noun
    owns, plain, place = staticmethod(arrays.owns), staticmethod(arrays.plain), staticmethod(arrays.place)
    address, is_contiguous = staticmethod(arrays.address), staticmethod(arrays.is_contiguous)
    is_aligned, is_writable = staticmethod(arrays.is_aligned), staticmethod(arrays.is_writable)
    overlap, fill, result = staticmethod(arrays.overlap), staticmethod(arrays.fill), staticmethod(arrays.result)

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return np.full(size, 1 if dtype == "bool" else POISON, np.uint8).view(dtype).reshape(shape)


def build(text: str, template: str = "", choice: int = 0) -> Built:
    """A specialisation of the one kernel that is declared by `text`, what stands under its name; `template` is the
    text of its template, which is called k.py.j2."""
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(f"{root}/templates")
        with open(f"{root}/templates/k.py.j2", "w") as file:
            file.write(textwrap.dedent(template).lstrip("\n"))
        with open(f"{root}/kernels.yaml", "w") as file:
            lines = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
            file.write(f"version: 1\nkernels:\n  k:\n{lines}\n")
        kernel = declare.load(root).kernels["k"]
        specialisation = kernel.specialisations[choice]
        rendered = declare.render(kernel, specialisation, "opencl", root)
    return compiled(kernel, specialisation, rendered)


def loop(signature: str, body: str, *more: str, **settings: Any) -> Built:
    """The kernel of a signature and a body; `more` are further lines of its declaration."""
    lines = [f'signature: "{signature}"', *more, "body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "  ")]
    return build("\n".join(lines), **settings)


def compiled(kernel, specialisation, rendered) -> Built:
    """One specialisation, compiled in this process."""
    tree = check(build_tree(kernel, specialisation, rendered))
    types, params = dict(specialisation.types), dict(specialisation.params)
    made = compile_kernel(tree, kernel.launch, params)
    concrete = tuple(p._replace(dtype=types.get(p.dtype, p.dtype)) for p in kernel.signature.parameters)
    label = str(specialisation)
    artifact, loaded = load(made, kernel.name, label, concrete, kernel.signature.symbols)
    chosen = SpecialisationRecord(label, types, params, tree.aliases, concrete, (artifact,))
    record = KernelRecord(
        kernel.name, kernel.doc, kernel.signature, kernel.types, {k: (v,) for k, v in params.items()}, kernel.requires,
        {label: chosen},
    )  # fmt: skip
    return Built(record, chosen, tree, artifact, loaded)


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
