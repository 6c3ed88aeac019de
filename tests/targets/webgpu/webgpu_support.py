"""Kernels for WebGPU from a few lines of text, as tests/targets/built.py has them, and how they are called on the first
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

from pydotcompute.artifact import identity
from pydotcompute.backends.webgpu import WebGPUBackend
from pydotcompute.backends.webgpu.arrays import WebGPUArray, new_buffer
from pydotcompute.cache.files import sha256
from pydotcompute.cache.manifest import Artifact
from pydotcompute.calls import arguments, arrays
from pydotcompute.declare.model import Kernel, Specialisation
from pydotcompute.targets.webgpu.compiler import SUFFIX, TARGET
from tests.targets import built
from tests.targets.built import POISON, Built, same  # noqa: F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CACHE = tempfile.mkdtemp(prefix="pydotcompute-webgpu-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


def build(text: str, template: str = "", choice: int = 0) -> Built:
    return built.build(TARGET, text, template, choice)


def loop(signature: str, body: str, *more: str, **settings: Any) -> Built:
    return built.loop(TARGET, signature, body, *more, **settings)


def compiled(kernel: Kernel, specialisation: Specialisation, rendered: Any) -> Built:
    return built.compiled(TARGET, kernel, specialisation, rendered)


@functools.cache
def backend() -> WebGPUBackend:
    return WebGPUBackend()


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
    found = re.match(form, text)
    if not found:
        return (text,)
    line, index, axis, array, extent, caller = found.groups()
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

    def send(self, device: WebGPUBackend, moved: dict[str, Any], values: dict[str, Any]) -> None:
        size = self.last - self.first
        whole = np.full(-(-(size + 2 * self.guard) // 4) * 4, POISON, np.uint8)
        whole[self.guard : self.guard + size] = self.memory
        self.buffer = new_buffer(device.device, whole.size)
        device.device.queue.write_buffer(self.buffer, 0, whole)
        for name in self.names:
            array = values[name]
            offset = self.guard + arrays.address(array) - self.first
            moved[name] = WebGPUArray(device.device, array.shape, array.dtype, self.buffer, offset, array.strides)

    def receive(self, device: WebGPUBackend) -> None:
        whole = np.frombuffer(device.device.queue.read_buffer(self.buffer), np.uint8).copy()
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
            values[p.name] = WebGPUArray(backend().device, array.shape, array.dtype, strides=array.strides)
            continue
        while isinstance(root.base, np.ndarray):
            root = root.base
        found.setdefault(id(root), _Region(root)).add(p.name, array, p.writable)
    return list(found.values())
