"""Kernels on a CUDA device: the time of the device, the bytes read and written in it against a copy of as many in the
same run, and PyTorch's functions for the same where it is installed for CUDA."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from .framework_peers import torch_words
from .own import own
from .peers import need_device

COLUMNS = ("kernel", "shape", "µs", "GB/s", "of a copy", "PyTorch µs", "times as fast")
WIDTHS = (16, 64, 1000, 4096)
SIDE = 1000  # of the smaller axis of what is turned, and of a window's rows
DEPTH = 64  # of attention
FLAT = {"relu": 2, "silu": 2, "gelu": 2, "exp": 2, "log": 2, "axpy": 3, "add": 3}  # arrays read and written
ROWS = ("softmax", "rmsnorm", "layernorm", "sum_last", "max_last", "argmax_last", "matmul_vec", "gather")


class Case(NamedTuple):
    kernel: str
    shape: str
    arguments: tuple[Any, ...]
    moved: int  # bytes that have to be read and written; 0: what takes its time is not that


def measure(elements: int = 10**8, rounds: int = 30) -> Iterator[dict[str, Any]]:
    """elements: of the arrays, float32; rounds: of each figure."""
    need_device()
    import cupy

    words, tensor = _torch()
    runtime, stream = cupy.cuda.runtime, cupy.cuda.get_current_stream().ptr
    x, out = cupy.ones(elements, "float32"), cupy.empty(elements, "float32")
    copy = partial(runtime.memcpyAsync, out.data.ptr, x.data.ptr, x.nbytes, runtime.memcpyDeviceToDevice, stream)
    taken = _seconds(copy, rounds)
    copied = 2 * x.nbytes / taken
    yield {"kernel": "copy", "shape": str(elements), "µs": taken * 1e6, "GB/s": copied / 1e9, "of a copy": 1.0}
    for case in _cases(elements):
        (kernel,) = own(case.kernel)
        taken = _seconds(partial(kernel, *case.arguments), rounds)
        row: dict[str, Any] = {"kernel": case.kernel, "shape": case.shape, "µs": taken * 1e6}
        if case.moved:
            row |= {"GB/s": case.moved / taken / 1e9, "of a copy": case.moved / taken / copied}
        if word := words.get(case.kernel):
            theirs = _seconds(partial(word, *map(tensor, case.arguments)), rounds)
            row |= {"PyTorch µs": theirs * 1e6, "times as fast": theirs / taken}
        yield row


def _torch() -> tuple[dict[str, Callable[..., Any]], Callable[[Any], Any]]:
    """The words of PyTorch, none where it cannot use this device, and what makes tensors of arrays."""
    if find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            torch.set_grad_enabled(False)
            torch.backends.cuda.matmul.allow_tf32 = False  # products of float32, as ours are
            return torch_words(), lambda a: torch.from_dlpack(a) if hasattr(a, "__dlpack__") else a
    return {}, lambda a: a


def _seconds(work: Callable[[], Any], rounds: int) -> float:
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


def _cases(n: int) -> Iterator[Case]:
    import cupy

    x, y, out = (cupy.random.random(n, dtype="float32") for _ in range(3))
    one = x.nbytes
    for name, arrays in FLAT.items():
        inputs = {2: (x,), 3: (2.0, x, y) if name == "axpy" else (x, y)}[arrays]
        yield Case(name, str(n), (*inputs, out), arrays * one)
    yield Case("sum", str(n), (x, cupy.zeros((), "float32")), one)
    yield Case("argmax", str(n), (x, cupy.zeros((), "int64")), one)
    yield Case("histogram", f"{n}, 256 bins", (x, 0.0, 1.0, 256, cupy.zeros(256, "int64")), one)
    for width in WIDTHS:
        yield from _of_rows(x, out, width)
    rows, results = (v[: n // SIDE * SIDE].reshape(-1, SIDE) for v in (x, out))
    shape = "×".join(map(str, rows.shape))
    yield Case("transpose", shape, (rows, results.reshape(SIDE, -1)), 2 * rows.nbytes)
    yield Case("laplacian", shape, (rows, results), 2 * rows.nbytes)
    yield Case("hillshade", shape, (rows, 1.0, 1.0, 315.0, 45.0, results), 2 * rows.nbytes)
    for side in (512, 4096):
        a, b, c = (cupy.random.random((side, side), dtype="float32") for _ in range(3))
        yield Case("matmul", f"{side}³", (a, b, c), 0)
    for heads, rows_each in ((8, 300), (32, 1024)):
        q, k, v, made = (cupy.random.random((heads, rows_each, DEPTH), dtype="float32") for _ in range(4))
        yield Case("attention", f"{heads}×{rows_each}×{DEPTH}", (q, k, v, DEPTH**-0.5, made), 0)


def _of_rows(x: Any, out: Any, width: int) -> Iterator[Case]:
    import cupy

    count = x.size // width
    rows, results = (v[: count * width].reshape(count, width) for v in (x, out))
    w, sums, places = cupy.ones(width, "float32"), out[:count], cupy.zeros(count, "int64")
    arguments: dict[str, tuple[Any, ...]] = {
        "softmax": (rows, results), "rmsnorm": (rows, w, 1e-5, results), "layernorm": (rows, w, w, 1e-5, results),
        "sum_last": (rows, sums), "max_last": (rows, sums), "argmax_last": (rows, places),
        "matmul_vec": (rows, w, sums), "gather": (rows, cupy.random.permutation(count), results),
    }  # fmt: skip
    for name in ROWS:
        moved = rows.nbytes * (2 if arguments[name][-1] is results else 1)
        yield Case(name, f"{count}×{width}", arguments[name], moved)
