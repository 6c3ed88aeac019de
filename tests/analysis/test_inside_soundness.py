"""What is proved to be inside is inside, whatever the arguments are: random bodies with locals that loops change, run
for small arguments, the largest and the least."""

import itertools
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.budget import EVERYTHING
from tests.random_programs.test_indices import Watched
from tests.targets.cpu.compiled import tree_of

SIGNATURE = "(x: int64[m], y: int64[n], c: int64) -> (out: int64[m])"
HUGE = (1 << 63) - 1


def one_of(*texts):
    return st.sampled_from(texts)


LOCALS = one_of("p", "p", "p", "q")
STEPS = one_of("+= 1", "+= 1", "-= 1", "-= 1", "+= 2", "-= 3")
VALUES = one_of(
    "0", "1", "-1", "i", "m - 1", "n - 1", "n", "c", "j", "j", "j + 1", "j - 1", "2 * j", "q + 1", "p - 1", "m", "j // 2",
    "min(j, m - 1)", "max(p, j)", "min(p, j)", "k", "k + j", "p if x[i] > 2 else j", "p + 1 if x[i] > 2 else p",
)  # fmt: skip
CONDITIONS = one_of(
    "p > 0", "p > 0", "p >= 0", "p < m", "p < m", "p <= m", "p + 1 < m", "p < n", "q < m", "0 < q", "p != 2", "p < c",
    "p > q", "x[i] > 2", "x[i] > 2", "y[0] > 0 if n > 0 else p < m",
)  # fmt: skip
INDICES = one_of("p", "p", "p", "p - 1", "p + 1", "q", "j", "m - 1 - p", "min(p, m - 1)", "p + q", "m - p")
RANGES = one_of(
    "n", "m", "m", "1, n", "1, m", "i", "i, m", "0, m, 2", "m - 1, -1, -1", "m - 1, 0, -1", "n, m", "c", "0, n, c",
    "p, m", "q", "3",
)  # fmt: skip


@st.composite
def statements(draw, depth):
    lines = []
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.integers(0, 7))
        if kind < 3:
            lines += [f"{draw(LOCALS)} {draw(STEPS) if draw(st.booleans()) else f'= {draw(VALUES)}'}"]
        elif kind < 5:
            lines += [f"if {draw(CONDITIONS)}:", *("    " + line for line in draw(statements(2)))]
            if draw(st.integers(0, 3)) == 0:
                lines += ["else:", *("    " + line for line in draw(statements(2)))]
        elif depth == 1 and draw(st.booleans()):
            lines += [f"if {draw(CONDITIONS)}:", f"    {draw(one_of('break', 'continue'))}"]
        elif depth < 2:
            if draw(st.booleans()):
                head = f"for {'jk'[depth]} in range({draw(RANGES)}):"
            else:
                more = draw(one_of("", "", f" and x[{draw(INDICES)}] < 5", f" and {draw(CONDITIONS)}"))
                head = f"while {draw(CONDITIONS)}{more}:"
            body = draw(statements(depth + 1))
            lines += [head, "    out[i] = s", *("    " + line for line in body)]
        lines.append(f"s += x[{draw(INDICES)}]")
    return lines


@st.composite
def bodies(draw):
    starts = one_of("0", "0", "1", "i", "m - 1", "n - 1", "c", "-1")
    first = [f"{name} = {draw(starts)}" for name in ("p", "q", "j", "k")]
    lines = [*first, "s = int64(0)", *draw(statements(0)), *draw(statements(0)), "out[i] = s"]
    return "for i in grid(m):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.slow
@settings(max_examples=300 if EVERYTHING else 120, deadline=None)
@given(body=bodies())
def test_what_is_proved_is_inside(body):
    """Elements of x go up and down, so that conditions hold and do not."""
    tree = tree_of(body, SIGNATURE, types="")
    with pytest.MonkeyPatch.context() as patch:
        watched = Watched(patch)
        for m, n, c in itertools.product((0, 1, 2, 3, 5), (0, 1, 2, 4), (-HUGE - 1, -1, 0, 1, 2, 7, HUGE)):
            arguments = {"x": np.arange(m) * 3 % 7, "y": np.arange(n) * 3 % 7, "c": c, "out": np.zeros(m, "int64")}
            with suppress(ValueError):  # a step of 0
                watched.run(tree, arguments, {"m": m, "n": n})
