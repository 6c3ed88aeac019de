"""Kernels of this project on one thread against NumPy and, where they are installed, Numba with fastmath, PyTorch, JAX
and numexpr: ns an element; after the cases, for each group how many lose to the best peer of each, and the geometric
mean over that peer."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from math import exp, log
from statistics import median
from time import perf_counter
from typing import Any, Callable, Iterator

from .own import built, copy

COLUMNS = (
    "group", "kernel", "shape", "target", "ns an element", "NumPy", "Numba", "PyTorch", "JAX", "numexpr",
    "times as fast", "cases", "lost", "worst",
)  # fmt: skip
CALL = 2e-5  # seconds: shorter calls are timed several at a time


def best(call: Callable[[], Any], seconds: float) -> float:
    """Seconds of one call, the least of what fits into so many, and of three: what else runs disturbs some."""
    return timed(call, seconds)[0]


def timed(call: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """The same, and how many times as long the median took: the spread."""
    call()
    end, taken, number = perf_counter() + seconds, [], 1
    while True:
        started = perf_counter()
        for _ in range(number):
            call()
        now = perf_counter()
        taken.append((now - started) / number)
        number = max(number, int(CALL / min(taken)))
        if now > end and len(taken) >= 3:
            return min(taken), median(taken) / min(taken)


def measure(directory: str, targets: list[str], kernels: list[str], rounds: int = 20) -> Iterator[dict[str, Any]]:
    """rounds: milliseconds for each figure, or the time of one call."""
    from .framework_peers import framework_peers
    from .kernel_cases import cases

    targets, seconds = targets or ["cpu:x86-64-v3"], rounds / 1e3
    chosen = kernels or names(directory)
    numba = _numba()
    ratios: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as measuring:  # the project's own cache stays as it is
        root = os.path.join(folder, "project")
        copy(directory, root)
        libraries = built(root, targets, *chosen)
        measuring.enter_context(one_processor())  # the build may use all
        for case in cases():
            if case.kernel not in chosen:
                continue
            peers = {"NumPy": case.numpy}
            if peer := numba.get(case.peer or case.kernel):
                peers["Numba"] = partial(peer, *case.arguments)
            peers |= framework_peers(case.kernel, case.arguments)
            figures = {name: best(call, seconds) for name, call in peers.items()}
            for target, library in zip(targets, libraries):
                ours = best(partial(library[case.kernel], *case.arguments), seconds)
                ratio = min(figures.values()) / ours
                ratios.setdefault((case.group, target), []).append(ratio)
                yield {
                    "group": case.group, "kernel": case.kernel, "shape": case.shape, "target": target,
                    "ns an element": ours / case.elements * 1e9, "times as fast": ratio,
                    **{name: value / case.elements * 1e9 for name, value in figures.items()},
                }  # fmt: skip
    for (group, target), found in ratios.items():
        mean = exp(sum(map(log, found)) / len(found))
        lost = {"cases": len(found), "lost": sum(ratio < 1 for ratio in found), "worst": min(found)}
        yield {"group": group, "kernel": "all", "target": target, "times as fast": mean, **lost}


@contextmanager
def one_processor() -> Iterator[None]:
    """Threads that are made inside, of whatever peer, share the processor of this one."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def names(directory: str) -> list[str]:
    """The kernels that can be measured, whatever else a project has."""
    from .kernel_cases import cases

    return list(dict.fromkeys(case.kernel for case in cases()))


def _numba() -> dict[str, Callable[..., Any]]:
    try:
        from .numba_peers import PEERS
    except ImportError:
        return {}
    return PEERS
