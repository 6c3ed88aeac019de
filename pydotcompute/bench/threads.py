"""Kernels of this project on all threads that this process may use, against one thread, over numbers of elements:
microseconds of a call. Both are called in turn, and the least of each counts, so others that use the machine meanwhile
disturb the ratio little; but where they leave no processor free, several threads can only be as slow as one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ..artifact.machine import processors
from .kernels import CALL
from .own import built, copy

COLUMNS = ("kernel", "elements", "target", "one thread", "all threads", "times as fast")
FLAT = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
SIDES = (64, 128, 256, 512)  # of the matrices of a product
ROW = 100


def measure(directory: str, targets: list[str], kernels: list[str], rounds: int = 200) -> Iterator[dict[str, Any]]:
    """rounds: milliseconds for each pair of figures, or the time of three calls."""
    from ..runtime.library import load

    targets, chosen = targets or ["cpu:x86-64-v3"], kernels or names(directory)
    with tempfile.TemporaryDirectory() as folder:  # the project's own cache stays as it is
        root, other = os.path.join(folder, "one"), os.path.join(folder, "all")
        copy(directory, root)
        one = built(root, targets, *chosen)
        shutil.copytree(root, other)  # so that its artifacts are loaded on their own, with another number of threads
        both = [(alone, load(other, target=target)) for alone, target in zip(one, targets, strict=True)]
        for name, arguments in _cases():
            if name not in chosen:
                continue
            for target, libraries in zip(targets, both, strict=True):
                calls = []
                for library, threads in zip(libraries, (1, processors()), strict=True):
                    os.environ["PYDOTCOMPUTE_THREADS"] = str(threads)  # read where an artifact is loaded
                    calls.append(partial(library[name], *arguments))
                    calls[-1]()
                alone, together = least(calls, rounds / 1e3)
                yield {
                    "kernel": name, "elements": arguments[0 if name != "axpy" else 1].size, "target": target,
                    "one thread": alone * 1e6, "all threads": together * 1e6, "times as fast": alone / together,
                }  # fmt: skip


def names(directory: str) -> list[str]:
    """The kernels that can be measured, whatever else a project has."""
    return ["axpy", "exp", "gelu", "sum", "softmax", "histogram", "matmul"]


def least(calls: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """Seconds of one call of each, the least of what fits into so many, and of three: each in turn."""
    end, found, number = perf_counter() + seconds, [float("inf")] * len(calls), 1
    turns = 0
    while turns < 3 or perf_counter() < end:
        for k, call in enumerate(calls):
            started = perf_counter()
            for _ in range(number):
                call()
            found[k] = min(found[k], (perf_counter() - started) / number)
        number = max(number, int(CALL / min(found)))
        turns += 1
    return found


def _cases() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Kernels and arguments, outputs among them."""
    rng = np.random.default_rng(0)
    for n in FLAT:
        x, y = rng.random(n, np.float32), rng.random(n, np.float32)
        out = np.empty_like(x)
        yield "axpy", (np.float32(2), x, y, out)
        yield "exp", (x, out)
        yield "gelu", (x, out)
        yield "sum", (x, np.empty((), np.float32))
        yield "softmax", (x.reshape(-1, ROW), out.reshape(-1, ROW))
        yield "histogram", (x, np.float32(0.1), np.float32(0.9), 100)
    for n in SIDES:
        a = rng.random((n, n), np.float32)
        yield "matmul", (a, a.copy(), np.empty_like(a))
