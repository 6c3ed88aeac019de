"""Sorts, medians and scans on one thread: microseconds a call, against NumPy's, of few, many and very many numbers, and
of rows: the best of many rounds. Their kernels are built in a temporary project."""

from __future__ import annotations

import os
import tempfile
import timeit
from collections.abc import Callable, Iterator
from typing import Any

from .own import built

COLUMNS = ("operation", "dtype", "shape", "target", "microseconds", "NumPy", "times as fast")
KERNELS = """\
version: 1
kernels:
  sort:
    signature: "(x: T[m, n]) -> (out: T[m, n])"
    types: {T: [float32, float64, int32, uint8]}
    body: |
      for r in grid(m):
          for i in range(n):
              out[r, i] = x[r, i]
          sort(out[r], n)
  median:
    signature: "(x: T[m, n]) -> (out: float64[m])"
    types: {T: [float32, float64, int32, uint8]}
    body: |
      for r in grid(m):
          out[r] = median(x[r], n)
  sums:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32, float64, int32]}
    body: |
      s = T(0)
      for i in grid(n):
          s += x[i]
          out[i] = s
  highest:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32, float64]}
    body: |
      s = T(-inf)
      for i in grid(n):
          s = max(s, x[i])
          out[i] = s
"""
DTYPES = {"sort": ("float32", "float64", "int32", "uint8"), "median": ("float32", "float64", "int32", "uint8"),
          "sums": ("float32", "float64", "int32"), "highest": ("float32", "float64")}  # fmt: skip
SHAPES = ((1, 100), (1, 10_000), (1, 1_000_000), (10_000, 30), (1000, 1000))


def _numpys(operation: str, dtype: str) -> Callable[[Any], Any]:
    import numpy as np

    return {
        "sort": lambda x: np.sort(x, axis=-1), "median": lambda x: np.median(x, axis=-1),
        "sums": lambda x: np.cumsum(x, dtype=dtype), "highest": np.maximum.accumulate,
    }[operation]  # fmt: skip


def _best(function: Callable[[Any], Any], x: Any, rounds: int) -> float:
    """Microseconds of a call."""
    number = max(1, 100_000 // x.size)
    return min(timeit.repeat(lambda: function(x), number=number, repeat=rounds)) / number * 1e6


def measure(targets: list[str], rounds: int = 10) -> Iterator[dict[str, Any]]:
    import numpy as np

    targets = targets or ["cpu:x86-64-v3"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernels.yaml"), "w") as file:
            file.write(KERNELS)
        libraries = built(folder, targets)
        generator = np.random.default_rng(0)
        for operation, dtypes in DTYPES.items():
            for m, n in SHAPES:
                if m > 1 and operation in ("sums", "highest"):
                    continue
                for dtype in dtypes:
                    x = (generator.normal(size=(m, n)) * 50 + 100).astype(dtype)
                    x = x[0] if operation in ("sums", "highest") else x
                    reference = _best(_numpys(operation, dtype), x, rounds)
                    for target, library in zip(targets, libraries):
                        ours = _best(library[operation], x, rounds)
                        yield {"operation": operation, "dtype": dtype, "shape": f"{m}×{n}" if m > 1 else str(n),
                               "target": target, "microseconds": ours, "NumPy": reference,
                               "times as fast": reference / ours}  # fmt: skip
