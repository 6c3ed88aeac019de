"""What a call and a process start cost, against NumPy in the same run.

    python benchmarks/calls.py                    everything
    python benchmarks/calls.py start --limit 1.25 6     fails above these: wall (times NumPy's), memory (MiB more)

Calls: nanoseconds, the best of several rounds. Start: `python -c …` until it has ended, alternating with
`python -c "import numpy"`, the median of each, both with the bytecode that an installed package has; peak memory as
the operating system counted it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLOOR = "import numpy"
USE = """
import numpy as np
from pydotcompute.kernels import axpy
x = np.ones(1000, "float32")
assert axpy(2.0, x, x)[0] == 3
"""


def calls() -> list[tuple[str, int, float]]:
    """(call, elements, nanoseconds) of kernels and of NumPy's closest."""
    import numpy as np

    from pydotcompute.kernels import add, axpy, softmax, sum

    rows = []
    for n in (16, 1000, 1_000_000):
        x, y, out = np.linspace(0, 1, n, dtype="f4"), np.ones(n, "f4"), np.empty(n, "f4")
        table = x.reshape(-1, 8) if n < 1000 else x.reshape(-1, 1000)
        names = {"np": np, "axpy": axpy, "add": add, "sum": sum, "softmax": softmax, "x": x, "y": y, "out": out,
                 "table": table, "named": {"".join(("o", "ut")): out}}  # fmt: skip
        for call in (
            "axpy(2.0, x, y, out)", "axpy(2.0, x, y, out=out)", "axpy(2.0, x, y, **named)", "axpy(2.0, x, y)",
            "add(x, y, out)", "np.add(x, y, out)", "add(x, y)", "np.add(x, y)", "sum(x)", "np.add.reduce(x)", "softmax(table)",
        ):  # fmt: skip
            number = 100_000 if n == 16 else 20_000 if n == 1000 else 50
            best = min(timeit.repeat(call, globals=names, number=number, repeat=7)) / number
            rows.append((call, n, best * 1e9))
    return rows


def process(code: str, bytecode: str) -> tuple[float, float]:
    """Seconds and peak MiB of one Python process that keeps its bytecode in this folder."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"failed: python -c {code!r}")
    return seconds, usage.ru_maxrss / 1024


def start(rounds: int) -> tuple[float, float, float, float]:
    """Median seconds and MiB: NumPy alone, then with a kernel imported and called."""
    with tempfile.TemporaryDirectory() as bytecode:
        process(USE, bytecode)
        samples = [(process(FLOOR, bytecode), process(USE, bytecode)) for _ in range(rounds)]
    floor, used = zip(*samples)
    return (*map(statistics.median, zip(*floor)), *map(statistics.median, zip(*used)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=("calls", "start"))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--limit", nargs=2, type=float, metavar=("WALL", "MIB"))
    options = parser.parse_args()
    status = 0
    if options.what != "calls":  # first: a child's peak memory counts what its parent had when it was forked
        floor, floor_memory, used, used_memory = start(options.rounds)
        ratio, more = used / floor, used_memory - floor_memory
        print(f"start: import numpy {1e3 * floor:.0f} ms, {floor_memory:.1f} MiB; with a kernel imported and called "
              f"{1e3 * used:.0f} ms, {used_memory:.1f} MiB: {ratio:.2f} times, {more:+.1f} MiB")  # fmt: skip
        if options.limit and (ratio > options.limit[0] or more > options.limit[1]):
            print(f"above the limit of {options.limit[0]} times and {options.limit[1]} MiB")
            status = 1
    if options.what != "start":
        print(f"{'call':28}{'elements':>10}{'ns':>12}")
        for call, n, nanoseconds in calls():
            print(f"{call:28}{n:>10}{nanoseconds:>12.0f}")
    return status


if __name__ == "__main__":
    sys.exit(main())
