"""`run` on many threads: as many as were asked for, at most 256, and none is left behind."""

from pathlib import Path

import numpy as np
import pytest
from tests.targets.built import loop
from tests.targets.cpu.compiled import kernel

from pydotcompute.targets.cpu.entry import entry_ir
from pydotcompute.targets.cpu.interruptions import may_take_long

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


@pytest.mark.parametrize(
    "body, loops",
    [
        ("for i in grid(n):\n    out[i] = x[i]", False),
        ("for i in grid(n):\n    for k in range(3):\n        out[i] = x[i]", False),
        ("for i in range(n):\n    out[i] = x[i]", False),
        ("for i in range(n):\n    for j in range(n):\n        out[i] = x[j]", True),
        ("for i in grid(n):\n    for j in range(steps):\n        out[i] = x[i]", True),
        ("for i in grid(n):\n    k = 0\n    while k < steps:\n        k += 1\n    out[i] = x[i]", True),
        ("out[0] = 1", False),
        ("for t in range(steps):\n    for i in grid(n):\n        out[i] = x[i]", True),
        ("k = 0\nwhile k < steps:\n    k += 1\nfor i in grid(n):\n    out[i] = x[i]", True),
    ],
)
def test_other_threads_of_python_run_beside_calls_of_unknown_length(body, loops):
    """How long a time loop takes does not follow from the dimensions: it never holds the interpreter's lock."""
    tree = loop("cpu:x86-64-v3", "(x: float32[n], steps: int64) -> (out: float32[n])", body).tree
    assert may_take_long(tree) == loops
    text = entry_ir(tree.parameters, tree.symbols, takes_long=loops)
    assert ("fcmp" in text) != loops and text.count("@\"run_unlocked\"") > 1
