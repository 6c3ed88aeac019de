"""Kernels from a few lines of text on a device, as a backend loads them from a cache, and how they are called there with
arrays that lie there as they lie here: by their own buffers, offsets and strides."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from typing import Any, Callable

import numpy as np

from pydotcompute.artifact import identity
from pydotcompute.cache.files import sha256
from pydotcompute.cache.manifest import Artifact
from pydotcompute.calls import arguments, arrays
from pydotcompute.targets import registry
from tests.targets.built import POISON, Built

CACHE = tempfile.mkdtemp(prefix="pydotcompute-devices-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)


def artifact_of(made: Built) -> Artifact:
    """What was just made, put into a cache of its own."""
    (suffix,) = registry.get(made.target).comments
    chosen, symbols = made.specialisation, made.record.signature.symbols
    said = identity.line(made.record.name, chosen.name, made.target, chosen.parameters, symbols, sha256, meta=made.meta)
    data = identity.bind(made.data, said, "//")
    meta = made.meta | {"places": [["k", *at[:2]] for at in (*made.meta.get("sites", ()), *made.meta.get("calls", ()))]}
    artifact = Artifact(
        CACHE, "project", made.record.name, chosen.name, made.target, sha256(data), suffix, len(data), sha256(data), "", meta,
        chosen.parameters, symbols,
    )  # fmt: skip
    os.makedirs(os.path.dirname(artifact.path), exist_ok=True)
    with open(artifact.path, "wb") as file:
        file.write(data)
    return artifact


class Device(ABC):
    """The first device of a backend. A subclass says how memory is had there."""

    target: str

    def __init__(self, backend: Callable[[], Any]):
        self.backend = functools.cache(backend)
        self.load = functools.lru_cache(maxsize=64)(self._load)

    @abstractmethod
    def send(self, data: np.ndarray) -> Any:
        """A new buffer with these bytes."""

    @abstractmethod
    def receive(self, buffer: Any) -> np.ndarray:
        """A copy of its bytes."""

    @abstractmethod
    def array(self, like: np.ndarray, buffer: Any = None, offset: int = 0) -> Any:
        """One of the backend's arrays, with this shape, dtype and strides."""

    def _load(self, made: Built) -> Any:
        """What was just made, as the backend loads it from a cache."""
        artifact = artifact_of(made)
        verdict = self.backend().judge(artifact)
        assert not verdict.reason, verdict.reason
        return self.backend().load_kernel(artifact)

    def launch(self, made: Built, values: dict[str, Any], call: arguments.Call) -> None:
        """On the device, with the arrays of one memory in one buffer, between guards that must stay as they are."""
        moved, loaded = dict(values), self.load(made)
        regions: dict[int, _Region] = {}
        for p in made.specialisation.parameters:
            if not p.in_memory:
                continue
            array = root = values[p.name]
            if not array.size:
                moved[p.name] = self.array(array)
                continue
            while isinstance(root.base, np.ndarray):
                root = root.base
            regions.setdefault(id(root), _Region(self)).add(p.name, array, p.writable)
        for region in regions.values():
            moved |= region.send()
        try:
            loaded.launch(call, moved)
            self.backend().synchronize()
        except IndexError as error:
            raise IndexError(*_told(str(error))) from error
        finally:
            for region in regions.values():
                region.receive()


def _told(text: str) -> tuple[Any, ...]:
    """(array, axis, extent, index, line of the site, of the call) of what is said about a fault; other text as it is."""
    form = r"project/k:(\d+):\d+: index (-?\d+)(?: of axis (\d))? is outside (\w+), which has (\d+)(?:, in a helper called on line (\d+))?"
    found = re.match(form, text)
    if not found:
        return (text,)
    line, index, axis, array, extent, caller = found.groups()
    return array, int(axis or 0), int(extent), int(index), int(line), int(caller or 0)


class _Region:
    """Memory of the host that some arrays lie in, and its copy in a buffer between guards."""

    guard = 256

    def __init__(self, device: Device):
        self.device, self.arrays, self.written = device, {}, False
        self.first, self.last = 2**64, 0  # addresses: of its first byte, and behind its last

    def add(self, name: str, array: np.ndarray, written: bool) -> None:
        first, last = np.lib.array_utils.byte_bounds(array)
        self.first, self.last = min(self.first, first), max(self.last, last)
        self.arrays[name] = array
        self.written |= written

    @property
    def memory(self) -> np.ndarray:
        return np.frombuffer((ctypes.c_ubyte * (self.last - self.first)).from_address(self.first), np.uint8)

    @property
    def inside(self) -> slice:
        return slice(self.guard, self.guard + self.last - self.first)

    def send(self) -> dict[str, Any]:
        """Its arrays on the device."""
        whole = np.full(-(-(self.last - self.first + 2 * self.guard) // 4) * 4, POISON, np.uint8)
        whole[self.inside] = self.memory
        self.buffer = self.device.send(whole)
        start = self.guard - self.first
        return {n: self.device.array(a, self.buffer, start + arrays.address(a)) for n, a in self.arrays.items()}

    def receive(self) -> None:
        whole = self.device.receive(self.buffer)
        if self.written:
            self.memory[...] = whole[self.inside]
        else:
            assert (self.memory == whole[self.inside]).all(), f"{[*self.arrays]} have changed"
        whole[self.inside] = POISON
        assert (whole == POISON).all(), f"bytes around {[*self.arrays]} have changed"
