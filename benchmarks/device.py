"""CUDA: how much of the device's bandwidth kernels use, what a launch costs, how soon a process has its first result.

    python benchmarks/device.py [bandwidth] [launch] [start]      needs a device, CuPy, and kernels built for it:
    pydotcompute build -t cuda:compute_80

Bandwidth: bytes read and written by each kernel over its time, against a copy of as many bytes in the same run.
Launch: microseconds of the host for one call of many. Start: seconds of a process, the median; cold means that what
it, CuPy and the driver keep on the disk was deleted before. Numba and Triton are measured where they work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH = 1000

RAW = """
extern "C" __global__ void axpy(float a, const float* x, const float* y, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""
NUMBA = """
import numpy as np
from numba import cuda
@cuda.jit("void(float32, float32[::1], float32[::1], float32[::1])", cache=True)
def axpy(a, x, y, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = a * x[i] + y[i]
"""
TRITON = """
import torch, triton
import triton.language as tl
@triton.jit
def axpy(a, x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, a * tl.load(x + i, inside) + tl.load(y + i, inside), inside)
"""
FIRST = {
    "pydotcompute": """
import cupy
from pydotcompute.kernels import axpy
x = cupy.ones(1000, "float32")
assert float(axpy(2.0, x, x)[0]) == 3
""",
    "numba": NUMBA + """
x = cuda.to_device(np.ones(1000, "float32"))
out = cuda.device_array(1000, "float32")
axpy[4, 256](2.0, x, x, out)
assert out.copy_to_host()[0] == 3
""",
    "triton": TRITON + """
x = torch.ones(1000, device="cuda")
out = torch.empty_like(x)
axpy[(1,)](2.0, x, x, out, 1000, BLOCK=1024)
assert out[0].item() == 3
""",
}
CACHES = {"pydotcompute": ("CUPY_CACHE_DIR",), "numba": ("NUMBA_CACHE_DIR",), "triton": ("TRITON_CACHE_DIR",)}
DRIVER_CACHE = "CUDA_CACHE_PATH"  # of what the driver makes from PTX


def seconds(work: Callable[[], Any], rounds: int = 30) -> float:
    """Of the device, the median of several rounds after three that do not count. The device is kept busy while the
    host prepares what is timed, so that the host's time is not in it."""
    import cupy

    samples = []
    for k in range(rounds + 3):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        work()
        begin.record()
        work()
        end.record()
        end.synchronize()
        if k >= 3:
            samples.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return statistics.median(samples)


def bandwidth(n: int) -> None:
    import cupy

    from pydotcompute import kernels

    x, y, out = (cupy.random.random(n, dtype="float32") for _ in range(3))
    w, total = cupy.ones(WIDTH, "float32"), cupy.zeros((), "float32")
    count = n // WIDTH
    rows, results = (v[: count * WIDTH].reshape(count, WIDTH) for v in (x, out))
    columns, sums, index = results.reshape(WIDTH, count), out[:count], cupy.random.permutation(count)
    copied = 2 * x.nbytes / seconds(lambda: cupy.cuda.runtime.memcpyAsync(
        out.data.ptr, x.data.ptr, x.nbytes, cupy.cuda.runtime.memcpyDeviceToDevice, cupy.cuda.get_current_stream().ptr
    ))  # fmt: skip
    print(f"{n} float32 elements, in rows of {WIDTH}; a copy moves {copied / 1e9:.0f} GB/s")
    for kernel, moved, arguments in (
        ("silu", 2, (x, out)), ("axpy", 3, (2.0, x, y, out)), ("add", 3, (x, y, out)), ("sum", 1, (x, total)),
        ("sum_last", 1, (rows, sums)), ("attention_scores", 1, (w, rows, 1.0, sums)), ("softmax", 2, (rows, results)),
        ("rmsnorm", 2, (rows, w, 1e-5, results)), ("layernorm", 2, (rows, w, w, 1e-5, results)),
        ("laplacian", 2, (rows, results)), ("transpose", 2, (rows, columns)), ("gather", 2, (rows, index, results)),
    ):  # fmt: skip
        show(kernel, moved * x.nbytes, copied, lambda: getattr(kernels, kernel)(*arguments))
    show("cupy.add", 3 * x.nbytes, copied, lambda: cupy.add(x, y, out))
    show("cupy.sum", x.nbytes, copied, lambda: x.sum(out=total))


def show(label: str, moved: int, copied: float, work: Callable[[], Any]) -> None:
    rate = moved / seconds(work)
    print(f"  {label:32s} {rate / 1e9:6.0f} GB/s   {rate / copied:5.0%} of a copy")


def launch(n: int = 1000, number: int = 20_000, rounds: int = 7) -> None:
    import cupy

    from pydotcompute.kernels import axpy

    x, y, out = (cupy.ones(n, "float32") for _ in range(3))
    raw, blocks = cupy.RawKernel(RAW, "axpy"), (n + 255) // 256
    a, size = cupy.float32(2), cupy.int64(n)
    calls: dict[str, Callable[[], Any]] = {
        "pydotcompute": lambda: axpy(2.0, x, y, out),
        "cupy.RawKernel": lambda: raw((blocks,), (256,), (a, x, y, out, size)),
        "cupy ufunc (add)": lambda: cupy.add(x, y, out),
    }
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        if compiled := peer("numba", folder, NUMBA):
            calls["numba"] = lambda: compiled.axpy[blocks, 256](2.0, *views)
            views = [compiled.cuda.as_cuda_array(v) for v in (x, y, out)]
        if triton := peer("triton", folder, TRITON):
            tensors = [triton.torch.from_dlpack(v) for v in (x, y, out)]
            calls["triton"] = lambda: triton.axpy[(1,)](2.0, *tensors, n, BLOCK=1024)
        for label, call in calls.items():
            samples = []
            for _ in range(rounds):
                call()
                cupy.cuda.runtime.deviceSynchronize()
                started = time.perf_counter()
                for _ in range(number):
                    call()
                cupy.cuda.runtime.deviceSynchronize()
                samples.append((time.perf_counter() - started) / number)
            print(f"  {label:32s} {min(samples) * 1e6:6.2f} microseconds a call")


def peer(name: str, folder: str, text: str) -> Any:
    """A module of a peer's kernel, from a file because their compilers want one; None where it does not work."""
    from importlib import import_module

    with open(f"{folder}/axpy_of_{name}.py", "w") as file:
        file.write(text)
    try:
        return import_module(f"axpy_of_{name}")
    except Exception as error:  # whatever somebody else's package does where it does not work
        print(f"  {name:32s} does not work here: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
        return None


def start(rounds: int = 9) -> None:
    for name, text in FIRST.items():
        with tempfile.TemporaryDirectory() as folder:
            program, kept = f"{folder}/first.py", f"{folder}/kept"
            with open(program, "w") as file:
                file.write(text)
            modules = os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
            environment = {**os.environ, "PYTHONPATH": modules, DRIVER_CACHE: kept, **dict.fromkeys(CACHES[name], kept)}

            def process() -> float:
                started = time.perf_counter()
                subprocess.run([sys.executable, program], env=environment, check=True, capture_output=True, text=True)
                return time.perf_counter() - started

            try:
                process()
            except subprocess.CalledProcessError as error:
                print(f"  {name:32s} does not work here: {error.stderr.strip().splitlines()[-1]}")
                continue
            warm, cold = statistics.median(process() for _ in range(rounds)), []
            for _ in range(3):
                shutil.rmtree(kept, ignore_errors=True)
                cold.append(process())
            print(f"  {name:32s} warm {warm:.2f} s, cold {statistics.median(cold):.2f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", help="bandwidth, launch, start (default: all)")
    parser.add_argument("--elements", type=int, default=10**8)
    given = parser.parse_args()
    measures = {"bandwidth": lambda: bandwidth(given.elements), "launch": launch, "start": start}
    if unknown := set(given.what) - measures.keys():
        parser.error(f"{min(unknown)} is none of {', '.join(measures)}")
    from pydotcompute.backends.cuda.backend import unavailable

    if reason := unavailable():
        print(f"nothing was measured: {reason}", file=sys.stderr)
        return 1
    for what in given.what or measures:
        print(what)
        measures[what]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
