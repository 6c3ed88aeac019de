"""Kernels for OpenCL from a few lines of text, as tests/targets/built.py has them, and how they are called on the first
device with arrays that lie there as they lie here: by their own buffers, offsets and strides."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import re
import shutil
import tempfile
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from pydotcompute.artifact import identity
from pydotcompute.backends.opencl import OpenCLBackend
from pydotcompute.cache.files import sha256
from pydotcompute.cache.manifest import Artifact
from pydotcompute.calls import arguments, arrays
from pydotcompute.declare.model import Kernel, Specialisation
from pydotcompute.targets.opencl.compiler import SUFFIX, TARGET
from tests.targets import built
from tests.targets.built import POISON, Built, same  # noqa: F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CACHE = tempfile.mkdtemp(prefix="pydotcompute-opencl-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


def build(text: str, template: str = "", choice: int = 0) -> Built:
    return built.build(TARGET, text, template, choice)


def loop(signature: str, body: str, *more: str, **settings: Any) -> Built:
    return built.loop(TARGET, signature, body, *more, **settings)


def compiled(kernel: Kernel, specialisation: Specialisation, rendered: Any) -> Built:
    return built.compiled(TARGET, kernel, specialisation, rendered)


@functools.cache
def backend() -> OpenCLBackend:
    return OpenCLBackend()


def artifact_of(made: Built) -> Artifact:
    """What was just made, put into a cache of its own."""
    chosen, symbols = made.specialisation, made.record.signature.symbols
    said = identity.line(made.record.name, chosen.name, TARGET, chosen.parameters, symbols, sha256, meta=made.meta)
    data = identity.bind(made.data, said, "//")
    meta = made.meta | {"places": [["k", *at[:2]] for at in (*made.meta.get("sites", ()), *made.meta.get("calls", ()))]}
    artifact = Artifact(
        CACHE, "project", made.record.name, chosen.name, TARGET, sha256(data), SUFFIX, len(data), sha256(data), "", meta,
        chosen.parameters, symbols,
    )  # fmt: skip
    os.makedirs(os.path.dirname(artifact.path), exist_ok=True)
    with open(artifact.path, "wb") as file:
        file.write(data)
    return artifact


@functools.lru_cache(maxsize=64)
def load(made: Built) -> Any:
    """What was just made, as the backend loads it from a cache."""
    artifact = artifact_of(made)
    verdict = backend().judge(artifact)
    assert not verdict.reason, verdict.reason
    return backend().load_kernel(artifact)


def launch(made: Built, values: dict[str, Any], call: arguments.Call) -> None:
    """On the device, with the arrays of one memory in one buffer, between guards that must stay as they are."""
    device, moved, loaded = backend(), dict(values), load(made)
    regions = _regions(made.specialisation.parameters, moved)
    for region in regions:
        region.send(device, moved, values)
    try:
        loaded.launch(call, moved)
        device.synchronize()
    except IndexError as error:
        raise IndexError(*_told(str(error))) from error
    finally:
        for region in regions:
            region.receive(device)


def _told(text: str) -> tuple[Any, ...]:
    """(array, axis, extent, index, line of the site, of the call) of what is said about a fault."""
    form = r"project/k:(\d+):\d+: index (-?\d+)(?: of axis (\d))? is outside (\w+), which has (\d+)(?:, in a helper called on line (\d+))?"
    line, index, axis, array, extent, caller = re.match(form, text).groups()
    return array, int(axis or 0), int(extent), int(index), int(line), int(caller or 0)


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
        if not p.in_memory:
            continue
        array = root = values[p.name]
        if not array.size:
            values[p.name] = cl_array.Array(backend().queue, array.shape, array.dtype, strides=array.strides)
            continue
        while isinstance(root.base, np.ndarray):
            root = root.base
        found.setdefault(id(root), _Region(root)).add(p.name, array, p.writable)
    return list(found.values())
