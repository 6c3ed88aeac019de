"""`run` on many threads: as many as were asked for, at most 256, and none is left behind."""

from pathlib import Path

import numpy as np
from tests.targets.cpu.compiled import kernel

BODY = """
for i in grid(n):
    s = k[i]
    for j in range(10000):  # so that few iterations fill a slice
        s = s * 3 + j
    out[i] = s
"""


def run(n, threads):
    made = kernel(BODY, "(k: int64[n]) -> (out: int64[n])", types="")
    out = np.zeros(n, "i8")
    assert made({"n": n}, threads, k=np.arange(n), out=out) == 0
    return out


def test_more_threads_than_there_may_be():
    wanted = run(40_000, 1)
    for threads in (255, 257, 4096):
        assert np.array_equal(run(40_000, threads), wanted), threads


def test_every_thread_is_joined():
    """One that ended and is not joined keeps its stack."""

    def pages():
        return int(Path("/proc/self/statm").read_text().split()[0])

    run(100, 2)
    before = pages()
    for _ in range(60):
        run(100, 2)
    assert pages() - before < 40 * 256  # 40 MiB; stacks of 60 threads are more
