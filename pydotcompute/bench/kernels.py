"""Kernels of this project on one thread against NumPy, and against Numba with fastmath where it is installed: ns an
element; after the cases, the geometric mean of each group, over the best peer of each case."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from math import exp, log
from statistics import median
from time import perf_counter
from typing import Any, Callable, Iterator

from .own import built, copy

COLUMNS = ("group", "kernel", "shape", "target", "ns an element", "NumPy", "Numba", "times as fast")
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
    from .kernel_cases import cases

    targets, seconds = targets or ["cpu:x86-64-v3"], rounds / 1e3
    chosen = kernels or names(directory)
    peers = _peers()
    ratios: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:  # the project's own cache stays as it is
        root = os.path.join(folder, "project")
        copy(directory, root)
        libraries = built(root, targets, *chosen)
        for case in cases():
            if case.kernel not in chosen:
                continue
            numpy, figures = best(case.numpy, seconds), {}
            if peer := peers.get(case.peer or case.kernel):
                figures["Numba"] = best(partial(peer, *case.arguments), seconds)
            figures["NumPy"] = numpy
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
        yield {"group": group, "kernel": "all", "target": target, "times as fast": mean}


def names(directory: str) -> list[str]:
    """The kernels that can be measured, whatever else a project has."""
    from .kernel_cases import cases

    return list(dict.fromkeys(case.kernel for case in cases()))


def _peers() -> dict[str, Callable[..., Any]]:
    try:
        from .numba_peers import PEERS
    except ImportError:
        return {}
    return PEERS
