"""Calls of this project's kernels by group, on float32 arrays that fit the first cache, the second and none, and on
matrices of few, many, long and short rows; each with NumPy's way to the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .framework_peers import hillshade

FLAT = {"L1": 4096, "L2": 1 << 17, "memory": 1 << 24}
ROWS = ((1000, 1000), (10, 100_000), (100_000, 16), (4096, 64))


class Case(NamedTuple):
    """arguments: all that our kernel takes, outputs last."""

    group: str
    kernel: str
    shape: str
    arguments: tuple[Any, ...]
    numpy: Callable[[], Any]
    elements: int
    peer: str = ""  # with Numba, where it is not called as the kernel


def cases() -> Iterator[Case]:
    """One after the other: those that need much memory do not need it at once."""
    yield from _flat()
    yield from _rows()
    yield from _products()
    yield from _moves()
    yield from _others()


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(0).uniform(0.5, 2, shape).astype(np.float32)


def _flat() -> Iterator[Case]:
    two = np.float32(2)
    for label, n in FLAT.items():
        x, y, out = _numbers(n), _numbers(n)[::-1].copy(), np.zeros(n, np.float32)
        scalar, place = np.zeros((), np.float32), np.zeros((), np.int64)

        def gelu(x: Any = x) -> Any:  # by tanh: NumPy has no erf
            return 0.5 * x * (1 + np.tanh(np.float32(0.79788456) * (x + np.float32(0.044715) * x * x * x)))

        def axpy(x: Any = x, y: Any = y, out: Any = out) -> None:
            np.add(two * x, y, out=out)

        def silu(x: Any = x, out: Any = out) -> None:
            np.divide(x, 1 + np.exp(-x), out=out)

        yield Case("streaming", "axpy", label, (2.0, x, y, out), axpy, n)
        yield Case("streaming", "fill", label, (n, 2.0, out), partial(out.fill, 2.0), n)
        for name, function in (("add", np.add), ("div", np.divide)):
            yield Case("streaming", name, label, (x, y, out), partial(function, x, y, out=out), n)
        yield Case("streaming", "sqrt", label, (x, out), partial(np.sqrt, x, out=out), n)
        yield Case("streaming", "relu", label, (x, out), partial(np.maximum, x, 0, out=out), n)
        if label != "memory":
            for name in ("exp", "log", "sin", "tanh"):
                yield Case("functions", name, label, (x, out), partial(getattr(np, name), x, out=out), n)
            yield Case("functions", "pow", label, (x, y, out), partial(np.power, x, y, out=out), n)
            yield Case("functions", "gelu", label, (x, out), gelu, n)
            yield Case("functions", "silu", label, (x, out), silu, n)
        yield Case("reduce all", "sum", label, (x, scalar), x.sum, n)
        yield Case("reduce all", "mean", label, (x, scalar), x.mean, n)
        yield Case("reduce all", "max", label, (x, scalar), x.max, n, "max_")
        yield Case("reduce all", "argmax", label, (x, place), x.argmax, n)


def _rows() -> Iterator[Case]:
    for m, n in ROWS:
        shape, x, out = f"{m}×{n}", _numbers(m, n), np.zeros((m, n), np.float32)
        row, places, w = np.zeros(m, np.float32), np.zeros(m, np.int64), _numbers(n)
        columns = np.zeros((1, 1, n), np.float32)

        def softmax(x: Any = x, out: Any = out) -> None:
            np.exp(x - x.max(1, keepdims=True), out=out)
            np.divide(out, out.sum(1, keepdims=True), out=out)

        def rmsnorm(x: Any = x, w: Any = w, out: Any = out) -> None:
            np.multiply(x * (1 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(1e-5))), w, out=out)

        def layernorm(x: Any = x, w: Any = w, out: Any = out) -> None:
            centred = x - x.mean(1, keepdims=True)
            scale = 1 / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(1e-5))
            np.add(centred * scale * w, w, out=out)

        last, total = "reduce last axis", m * n
        yield Case(last, "sum_last", shape, (x, row), partial(x.sum, 1), total)
        yield Case(last, "max_last", shape, (x, row), partial(x.max, 1), total)
        yield Case(last, "argmax_last", shape, (x, places), partial(x.argmax, 1), total)
        arguments = (x.reshape(1, -1), n, 1, 1.0, columns)
        yield Case("reduce first axis", "sum_axis", shape, arguments, partial(x.sum, 0), total)
        yield Case("normalise", "softmax", shape, (x, out), softmax, total)
        yield Case("normalise", "rmsnorm", shape, (x, w, 1e-5, out), rmsnorm, total)
        yield Case("normalise", "layernorm", shape, (x, w, w, 1e-5, out), layernorm, total)


def _products() -> Iterator[Case]:
    for n in (16, 64, 128, 512):
        a, b, out = _numbers(n, n), _numbers(n, n), np.zeros((n, n), np.float32)
        yield Case("matmul", "matmul", f"{n}³", (a, b, out), partial(np.matmul, a, b, out=out), n * n)
    for count, n in ((64, 16), (16, 64)):
        a, b, out = _numbers(count, n, n), _numbers(count, n, n), np.zeros((count, n, n), np.float32)
        call = partial(np.matmul, a, b, out=out)
        yield Case("matmul", "matmul_batched", f"{count}×{n}³", (a, b, out), call, count * n * n)
    for m, n in ((64, 64), (300, 400), (1000, 1000), (4096, 64)):
        w, v, dots = _numbers(m, n), _numbers(n), np.zeros(m, np.float32)
        call = partial(np.matmul, w, v, out=dots)
        yield Case("matrix × vector", "matmul_vec", f"{m}×{n}", (w, v, dots), call, m * n)
        y, sums = _numbers(m), np.zeros(n, np.float32)
        call = partial(np.matmul, y, w, out=sums)
        yield Case("matrix × vector", "weighted_sum_rows", f"{m}×{n}", (y, w, sums), call, m * n)
    for heads, n, d in ((4, 128, 64), (2, 300, 48)):
        q, k, u, result = (_numbers(heads, n, d) for _ in range(4))

        def attention(q: Any = q, k: Any = k, u: Any = u) -> Any:
            scores = np.matmul(q, k.swapaxes(1, 2)) * np.float32(0.125)
            scores = np.exp(scores - scores.max(2, keepdims=True))
            return np.matmul(scores / scores.sum(2, keepdims=True), u)

        yield Case("attention", "attention", f"{heads}×{n}×{d}", (q, k, u, 0.125, result), attention, heads * n * d)


def _moves() -> Iterator[Case]:
    for m, n in ((64, 64), (1000, 1000), (4096, 64), (100_000, 16)):
        x, out = _numbers(m, n), np.zeros((n, m), np.float32)
        yield Case("move", "transpose", f"{m}×{n}", (x, out), partial(np.copyto, out, x.T), m * n)
    for shape in ((64, 16, 16), (100, 100, 64)):
        y = _numbers(*shape)
        z = np.zeros((shape[1], shape[0], shape[2]), np.float32)
        call = partial(np.copyto, z, y.swapaxes(0, 1))
        yield Case("move", "swap_axes", "×".join(map(str, shape)), (y, z), call, y.size)
    for n, d in ((100_000, 1), (10_000, 16), (4096, 300)):
        table, picked = _numbers(n, d), np.zeros((n, d), np.float32)
        index = np.random.default_rng(1).integers(0, n, n)
        call = partial(np.take, table, index, 0, out=picked, mode="clip")
        yield Case("move", "gather", f"{n}×{d}", (table, index, picked), call, n * d)


def _others() -> Iterator[Case]:
    group = "laplacian, hillshade, rope, histogram"
    for m, n in ((64, 64), (1000, 1000), (4000, 4000)):
        x, out = _numbers(m, n), np.zeros((m, n), np.float32)

        def laplacian(x: Any = x, out: Any = out) -> None:
            out[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]

        yield Case(group, "laplacian", f"{m}×{n}", (x, out), laplacian, m * n)
        light = 30.0, 30.0, 315.0, 45.0

        def shade(x: Any = x, light: Any = light) -> Any:
            return hillshade(np, np.pad(x, 1, mode="edge"), *light)

        yield Case(group, "hillshade", f"{m}×{n}", (x, *light, out), shade, m * n)
    for heads, dim in ((32, 128), (2048, 128)):
        turned, angles = _numbers(heads, dim), np.linspace(0, 1, dim // 2, dtype=np.float32)
        cosine, sine = np.cos(angles), np.sin(angles)

        def rope(x: Any = turned, cosine: Any = cosine, sine: Any = sine, half: int = dim // 2) -> None:
            a, b = x[:, :half], x[:, half:]
            x[:, :half], x[:, half:] = a * cosine - b * sine, a * sine + b * cosine

        yield Case(group, "apply_rope", f"{heads}×{dim}", (turned, cosine, sine), rope, heads * dim)
    for label, n in FLAT.items():
        x, counts = _numbers(n), np.zeros(64, np.int64)
        call = partial(np.histogram, x, 64, (0.5, 2.0))
        yield Case(group, "histogram", label, (x, 0.5, 2.0, 64, counts), call, n)
