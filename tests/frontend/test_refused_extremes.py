"""The largest or smallest so far, kept by `if` in a parallel loop: what is told to be written, and that it may be."""

import pytest

# the loop's statements; what is told; what then stands in the kernel
CASES = [
    ("if x[i] > best:\n        best = x[i]\n        at = i",
     "write `at = argmax(x[i] for i in grid(n))`, the number from 0 of the first such iteration, and "
     "`best = max(x[i] for i in grid(n))`",
     "at = argmax(x[i] for i in grid(n))\nbest = max(x[i] for i in grid(n))"),
    ("d = x[i] * x[i]\n    if (b[i] or a > 0) and i != 1 and best >= d:\n        best, at = d, i",
     "write `best_at = argmin(x[i] * x[i] for i in grid(n) if (b[i] or a > 0) and i != 1)`, the number from 0 of the first such iteration, and "
     "`best = min(x[i] * x[i] for i in grid(n) if (b[i] or a > 0) and i != 1)`",
     "best_at = argmin(x[i] * x[i] for i in grid(n) if (b[i] or a > 0) and i != 1)\nbest = min(x[i] * x[i] for i in grid(n) if (b[i] or a > 0) and i != 1)"),
    ("if best < x[i]:\n        best = x[i]", "write `best = max(best, x[i])`",
     "best = x[0]\nfor i in grid(n):\n    best = max(best, x[i])"),
    ("if x[i] <= best and b[i]:\n        best = x[i]", "write `best = min(best, x[i])` under `if b[i]`",
     "best = x[0]\nfor i in grid(n):\n    if b[i]:\n        best = min(best, x[i])"),
]  # fmt: skip
GENERAL = "an accumulator's updates are `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
OTHERS = [
    "if x[i] > best:\n        best = x[i]\n    else:\n        best = 0",
    "if x[i] != best:\n        best = x[i]",
    "if x[i] > 0 or x[i] > best:\n        best = x[i]",
]


@pytest.mark.parametrize("loop, hint, instead", CASES, ids=[case[0] for case in CASES])
def test_what_to_write_for_an_extreme(refusal, build, loop, hint, instead):
    error = refusal(f"best = x[0]\nat = 0\nfor i in grid(n):\n    {loop}\nout[0] = best\ncount[0] = at")
    assert error.message == "`best` carries a value from one iteration of the parallel loop of line 9 to the next"
    assert error.hint == hint
    build(f"{instead}\nout[0] = best")


@pytest.mark.parametrize("loop", OTHERS)
def test_what_is_none_is_told_the_general_way(refusal, loop):
    error = refusal(f"best = x[0]\nfor i in grid(n):\n    {loop}\nout[0] = best")
    assert error.hint.startswith(GENERAL)
