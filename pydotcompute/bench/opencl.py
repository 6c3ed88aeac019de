"""OpenCL: bytes a second of kernels on the first device, against the code for this processor and against pyopencl's own
elementwise kernel, all on arrays that lie where they run; and seconds until a new process has its first result there,
with and without the device's binary of an earlier one. What the driver itself keeps is deleted before each process."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterator

from ..errors import BackendNotAvailableError
from .own import PARENT, copy, environment, pydotcompute

COLUMNS = ("what", "elements", "GB/s", "CPU target", "pyopencl", "s")
WIDTH = 1000
TARGETS = ("opencl:1.2", "cpu:native")
DRIVER_CACHE = "POCL_CACHE_DIR"  # of PoCL, where that is the driver
FIRST = """
import sys, time
import numpy as np
import pydotcompute
lib, backend = pydotcompute.load(sys.argv[1]), pydotcompute.get_backend("opencl")
x = backend.to_device(np.ones((4, 1000), "float32"))
backend.synchronize()
started = time.perf_counter()
backend.to_host(lib.softmax(x))
print(time.perf_counter() - started)
"""


def measure(elements: int = 1 << 24, rounds: int = 30) -> Iterator[dict[str, Any]]:
    from ..backends.opencl.backend import unavailable

    if reason := unavailable():
        raise BackendNotAvailableError(reason)
    with tempfile.TemporaryDirectory() as folder:
        root = f"{folder}/project"
        copy(PARENT, root)
        targets = [word for target in TARGETS for word in ("-t", target)]
        pydotcompute(["build", "axpy", "softmax", "-C", root, *targets])
        yield from _bandwidth(root, elements, rounds)
        yield from _first(root, folder, min(rounds, 5))


def _bandwidth(root: str, elements: int, rounds: int) -> Iterator[dict[str, Any]]:
    import numpy as np
    from pyopencl.elementwise import ElementwiseKernel

    from ..devices.registry import get_backend
    from ..runtime.library import load

    ours, host = (load(root, target=target) for target in TARGETS)
    there: Any = get_backend("opencl")
    count = elements // WIDTH
    flat = [np.random.default_rng(k).random(elements, dtype="float32") for k in range(3)]
    rows = [v[: count * WIDTH].reshape(count, WIDTH) for v in flat]
    moved = [there.to_device(v) for v in flat]
    moved_rows = [v[: count * WIDTH].reshape(count, WIDTH) for v in moved]
    arguments = "float a, const float *x, const float *y, float *out"
    theirs = ElementwiseKernel(there.context, arguments, "out[i] = a * x[i] + y[i]", "axpy")

    def rate(arrays: int, work: Callable[[], Any], wait: Callable[[], Any] = lambda: None) -> float:
        return arrays * 4 * elements / _seconds(work, wait, rounds) / 1e9

    yield {
        "what": "axpy", "elements": elements,
        "GB/s": rate(3, lambda: ours.axpy(2.0, *moved), there.synchronize),
        "CPU target": rate(3, lambda: host.axpy(2.0, *flat)),
        "pyopencl": rate(3, lambda: theirs(np.float32(2), *moved), there.synchronize),
    }  # fmt: skip
    yield {
        "what": f"softmax of rows of {WIDTH}", "elements": count * WIDTH,
        "GB/s": rate(2, lambda: ours.softmax(moved_rows[0], moved_rows[2]), there.synchronize),
        "CPU target": rate(2, lambda: host.softmax(rows[0], rows[2])),
    }  # fmt: skip


def _seconds(work: Callable[[], Any], wait: Callable[[], Any], rounds: int) -> float:
    """The median of several rounds after two that do not count."""
    samples = []
    for k in range(rounds + 2):
        started = time.perf_counter()
        work()
        wait()
        if k >= 2:
            samples.append(time.perf_counter() - started)
    return statistics.median(samples)


def _first(root: str, folder: str, rounds: int) -> Iterator[dict[str, Any]]:
    program, driver = f"{folder}/first.py", f"{folder}/driver"
    with open(program, "w") as file:
        file.write(FIRST)
    variables = environment(**{DRIVER_CACHE: driver})

    def process(*forgotten: str) -> float:
        for path in forgotten:
            shutil.rmtree(path, ignore_errors=True)
        os.makedirs(driver, exist_ok=True)
        command = [sys.executable, program, root]
        return float(subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout)

    binaries = os.path.join(root, "build", "cache", "devices")
    for what, forgotten in (
        ("first call of softmax, nothing kept", (driver, binaries)),
        ("… the device's binary kept", (driver,)),
        ("… and what the driver keeps", ()),
    ):
        yield {"what": what, "s": statistics.median(process(*forgotten) for _ in range(rounds))}
