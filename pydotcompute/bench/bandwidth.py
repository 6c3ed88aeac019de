"""How much of a CUDA device's bandwidth kernels use: bytes read and written over the time of the device, against a copy
of as many bytes in the same run."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any, Callable, Iterator

from .own import own
from .peers import need_device

COLUMNS = ("kernel", "elements", "GB/s", "of a copy")
WIDTH = 1000
MOVED = {  # arrays read and written by a call
    "silu": 2, "axpy": 3, "add": 3, "sum": 1, "sum_last": 1, "attention_scores": 1, "softmax": 2, "rmsnorm": 2,
    "layernorm": 2, "laplacian": 2, "transpose": 2, "gather": 2,
}  # fmt: skip


def seconds(work: Callable[[], Any], rounds: int) -> float:
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


def measure(elements: int = 10**8, rounds: int = 30) -> Iterator[dict[str, Any]]:
    need_device()
    import cupy

    kernels = dict(zip(MOVED, own(*MOVED)))
    n = elements
    x, y, out = (cupy.random.random(n, dtype="float32") for _ in range(3))
    w, total = cupy.ones(WIDTH, "float32"), cupy.zeros((), "float32")
    count = n // WIDTH
    rows, results = (v[: count * WIDTH].reshape(count, WIDTH) for v in (x, out))
    columns, sums, index = results.reshape(WIDTH, count), out[:count], cupy.random.permutation(count)
    runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr

    def copy() -> None:
        runtime.memcpyAsync(out.data.ptr, x.data.ptr, x.nbytes, runtime.memcpyDeviceToDevice, stream)

    arguments: dict[str, tuple[Any, ...]] = {
        "silu": (x, out), "axpy": (2.0, x, y, out), "add": (x, y, out), "sum": (x, total), "sum_last": (rows, sums),
        "attention_scores": (w, rows, 1.0, sums), "softmax": (rows, results), "rmsnorm": (rows, w, 1e-5, results),
        "layernorm": (rows, w, w, 1e-5, results), "laplacian": (rows, results), "transpose": (rows, columns),
        "gather": (rows, index, results),
    }  # fmt: skip
    works: list[tuple[str, int, Callable[[], Any]]] = [("copy", 2, copy)]
    works += [(name, MOVED[name], partial(kernels[name], *a)) for name, a in arguments.items()]
    works += [("cupy.add", 3, lambda: cupy.add(x, y, out)), ("cupy.sum", 1, lambda: x.sum(out=total))]
    copied = 0.0
    for name, moved, work in works:
        rate = moved * x.nbytes / seconds(work, rounds)
        copied = copied or rate
        yield {"kernel": name, "elements": n, "GB/s": rate / 1e9, "of a copy": rate / copied}
