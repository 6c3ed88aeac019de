"""Measuring: what a call, a process, a kernel, a function, a build and a device cost, against something known in the
same run. One file a subject: `COLUMNS`, and `measure(**options)`, which yields one row of figures after the other."""

from __future__ import annotations

import os
from typing import NamedTuple


class Subject(NamedTuple):
    module: str
    summary: str
    compared: str  # the figure that --compare goes by; with "-" before it where less is better
    options: tuple[str, ...] = ()  # what its `measure` takes besides `rounds`
    more: tuple[str, ...] = ()  # what else the command line takes: "tune" measures by tune.py, "plot" draws by plot.py


_PROJECT = ("directory", "targets", "kernels")
SUBJECTS = {
    "calls": Subject("calls", "nanoseconds of a call, against NumPy's", "-to_numpy"),
    "start": Subject(
        "start", "a process that imports and calls a kernel, against one that imports NumPy", "-times", ("limit",)
    ),
    "kernels": Subject(
        "kernels", "kernels on one thread, against NumPy, Numba, PyTorch, JAX, numexpr", "times as fast", _PROJECT
    ),
    "declared": Subject(
        "declared", "kernels on each target, at declared sizes, against NumPy, Numba, JAX, PyTorch", "-µs", _PROJECT,
        ("tune", "plot"),
    ),
    "functions": Subject(
        "functions", "exp, sin, … on one thread, against NumPy", "times as fast", ("targets", "functions")
    ),
    "ordering": Subject(
        "ordering", "sorts, medians and scans on one thread, against NumPy", "times as fast", ("targets",)
    ),
    "threads": Subject("threads", "kernels on all threads, against one, by size", "times as fast", _PROJECT),
    "code": Subject(
        "code", "instructions and cycles an element, registers, occupancy: nothing is run", "-instructions", _PROJECT
    ),
    "build": Subject("build", "the full build of the project, and one with nothing to do", "-s", ("directory",)),
    "shipping": Subject(
        "shipping", "wheels with kernels, and a fresh environment's first call, against Numba's", "-s", ("targets",)
    ),
    "bandwidth": Subject(
        "bandwidth", "CUDA: kernels on a device, against a copy of as many bytes, and PyTorch", "-µs", ("elements",)
    ),
    "opencl": Subject("opencl", "OpenCL: bytes a second of kernels, and first calls", "GB/s", ("elements",)),
    "launches": Subject(
        "launches", "CUDA: microseconds of the host for a launch, against others'", "-microseconds a call"
    ),
    "first-result": Subject(
        "first_result", "CUDA: seconds until a new process has its first result, against others'", "-warm s"
    ),
}


def one_thread() -> None:
    """NumPy's products on one thread, as what they are compared with; to be called before anything imports NumPy,
    whose library reads its settings only once."""
    for blas in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{blas}_NUM_THREADS", "1")
