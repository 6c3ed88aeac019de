"""What a process start costs: `python -c …` until it has ended, alternating with `python -c "import numpy"`, the
median of each, both with the bytecode that an installed package has; peak memory as the operating system counted it."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator

from ..errors import KernelNotBuiltError

COLUMNS = ("process", "ms", "MiB", "times", "more MiB")
FLOOR = "import numpy"
USE = """
import numpy as np
from pydotcompute.kernels import axpy
x = np.ones(1000, "float32")
assert axpy(2.0, x, x)[0] == 3
"""


def process(code: str, bytecode: str) -> tuple[float, float]:
    """Milliseconds and peak MiB of one Python process that keeps its bytecode in this folder."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile("w+") as told:
        started = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=told)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = status
        if status:
            told.seek(0)
            raise KernelNotBuiltError(told.read().strip().rpartition("\n")[2])
    return 1e3 * seconds, usage.ru_maxrss / 1024


def measure(rounds: int = 21, limit: list[float] | None = None) -> Iterator[dict[str, Any]]:
    """With `limit` (times, MiB): the last row says what is above it. This process must not have imported NumPy: a
    child's peak memory counts what its parent had when it was forked."""
    with tempfile.TemporaryDirectory() as bytecode:
        process(USE, bytecode)
        samples = [(process(FLOOR, bytecode), process(USE, bytecode)) for _ in range(rounds)]
    (floor, floor_memory), (used, used_memory) = (map(statistics.median, zip(*column)) for column in zip(*samples))
    times, more = used / floor, used_memory - floor_memory
    yield {"process": "import numpy", "ms": floor, "MiB": floor_memory}
    row: dict[str, Any] = {"process": "a kernel imported and called", "ms": used, "MiB": used_memory}
    row |= {"times": times, "more MiB": more}
    if limit and (times > limit[0] or more > limit[1]):
        row["failed"] = f"above the limit of {limit[0]:g} times and {limit[1]:g} MiB"
    yield row
