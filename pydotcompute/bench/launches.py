"""Microseconds of the host for one launch of many on a CUDA device: a kernel, CuPy's raw kernel and its ufunc, Numba's
and Triton's kernels where they work."""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any, Callable, Iterator

from .own import own
from .peers import NUMBA, RAW, TRITON, module, need_device

COLUMNS = ("by", "microseconds a call", "note")
NUMBER = 20_000


def measure(rounds: int = 7, n: int = 1000) -> Iterator[dict[str, Any]]:
    need_device()
    import cupy

    (axpy,) = own("axpy")
    x, y, out = (cupy.ones(n, "float32") for _ in range(3))
    raw, blocks = cupy.RawKernel(RAW, "axpy"), (n + 255) // 256
    a, size = cupy.float32(2), cupy.int64(n)

    def numba(made: Any) -> Callable[[], Any]:
        views = [made.cuda.as_cuda_array(v) for v in (x, y, out)]
        return lambda: made.axpy[blocks, 256](2.0, *views)

    def triton(made: Any) -> Callable[[], Any]:
        tensors = [made.torch.from_dlpack(v) for v in (x, y, out)]
        return lambda: made.axpy[(1,)](2.0, *tensors, n, BLOCK=1024)

    calls: dict[str, Callable[[], Any]] = {
        "pydotcompute": lambda: axpy(2.0, x, y, out),
        "cupy.RawKernel": lambda: raw((blocks,), (256,), (a, x, y, out, size)),
        "cupy ufunc (add)": lambda: cupy.add(x, y, out),
    }
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        for name, text, prepare in (("numba", NUMBA, numba), ("triton", TRITON, triton)):
            try:
                calls[name] = prepare(module(name, folder, text))
                calls[name]()
            except Exception as error:  # whatever somebody else's package does where it does not work
                calls.pop(name, None)
                told = str(error).partition("\n")[0]
                yield {"by": name, "note": f"does not work here: {type(error).__name__}: {told}"}
        for label, call in calls.items():
            samples = []
            for _ in range(rounds):
                call()
                cupy.cuda.runtime.deviceSynchronize()
                started = time.perf_counter()
                for _ in range(NUMBER):
                    call()
                cupy.cuda.runtime.deviceSynchronize()
                samples.append((time.perf_counter() - started) / NUMBER)
            yield {"by": label, "microseconds a call": min(samples) * 1e6}
