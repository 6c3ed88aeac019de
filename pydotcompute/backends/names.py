"""The names that every program may use for a backend, and what is known of each before its module is imported."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, NamedTuple

from ..calls.foreign import dlpack_device

HOST = "cpu"  # the backend whose arrays lie in the host's own memory


class Known(NamedTuple):
    """A backend of ours, or a place that is kept for one which a package or program may bring."""

    title: str
    priority: int  # "auto" asks the highest first
    home: str = ""  # its class, "MODULE:CLASS" below this package; empty: this version has none
    types: tuple[str, ...] = ()  # the modules whose arrays are its own
    protocol: str = ""  # an attribute of other packages' arrays that it takes for what they are
    dlpack: tuple[int, ...] = ()  # the device types of DLPack that it takes
    built: str = ""  # without a home: the target that artifacts are built for all the same


KNOWN = {
    "cuda": Known("CUDA", 100, "cuda:CUDABackend", ("cupy",), "__cuda_array_interface__", (2, 13)),
    "rocm": Known("ROCm", 90, "rocm:ROCmBackend", dlpack=(10,)),
    "metal": Known("Metal", 80, built="metal:2.4"),
    "opencl": Known("OpenCL", 70, "opencl:OpenCLBackend", ("pyopencl.array",)),
    "webgpu": Known("WebGPU", 60, "webgpu:WebGPUBackend", (f"{__package__}.webgpu.arrays",)),
    HOST: Known("CPU", 0, "cpu:CPUBackend"),
}

ALIASES = {"wgpu": "webgpu"}  # other words for some of these


@cache
def _of_cupy() -> str:
    """CuPy is made for the devices of one vendor."""
    return "rocm" if sys.modules["cupy"].cuda.runtime.is_hip else "cuda"


def recognised(value: Any) -> str:
    """The name of the backend of ours whose kind of array this is, not the host's; empty if it is none's."""
    kind = type(value)
    for name, known in KNOWN.items():
        if kind.__module__ in known.types:
            return name if name != "cuda" else _of_cupy()
    if hasattr(kind, "__dlpack_device__"):
        device = dlpack_device(value)
        return next((name for name, known in KNOWN.items() if device in known.dlpack), "")
    has = {known.protocol: name for name, known in KNOWN.items() if known.protocol}
    # The type is asked first: to look at a value may be work.
    return next((name for protocol, name in has.items() if hasattr(kind, protocol) or hasattr(value, protocol)), "")
