"""Counts that come round: of random ones, with steps so great that they wrap at once, none that is accepted touches an
element twice."""

import random
import textwrap

import numpy as np
import pytest

from pydotcompute.analysis import races
from pydotcompute.errors import DeclarationError
from pydotcompute.interpreter import execute

STEPS = {
    "int32": (1, 1, 1, 3, 1 << 29, 1 << 30, 3 << 29, (1 << 31) - 2, (1 << 31) - 1),
    "int64": (1, 1, 1, 1 << 36, 1 << 61, 1 << 62, 3 << 61, (1 << 63) - 2, (1 << 63) - 1),
}
GUARDS = ("k >= 0", "k < n", "k < 100", "0 <= k and k < n", "not k < 0", "x[i] > 0", "k != 2", "k % 2 == 0")
INDICES = ("k", "k", "k", "k", "n - 1 - k", "k + 1", "k - 1", "2 * k", "int64(k) + 2", "k % n", "int64(k) + {half}")
LEAVE = "if x[i] > 0:\n    if x[i] > 1:\n        continue"


def counting(draw):
    """A random loop in which each iteration touches at most one element of `out`, once: its start, signature, body."""
    dtype, scan = draw.choice(["int32", "int64"]), draw.random() < 0.5
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    step = f"k += {dtype}({{}})" if scan else "atomic_add(f, 0, {})"
    raising = step.format(draw.choice(STEPS[dtype]))
    store = f"out[{draw.choice(INDICES).format(half=most // 2 + 1)}] += 1"
    for guard in draw.sample(GUARDS, draw.choice([0, 0, 1, 1, 2])):
        store = f"if {guard}:\n" + textwrap.indent(store, "    ")
    if scan:
        lines = draw.choice([[store, raising], [raising, store]])
    else:
        lines = [f"k = {raising}", store]
        for _ in range(draw.choice([0, 0, 0, 1, 2])):
            lines.insert(draw.randint(0, len(lines)), step.format(draw.choice(STEPS[dtype])))
    if draw.random() < 0.2:
        lines.insert(draw.randint(0, len(lines)), LEAVE)
    loop = f"for i in grid({draw.choice(['n', 'n', '9'])}):\n" + textwrap.indent("\n".join(lines), "    ")
    start = draw.choice([0, 0, 0, 1, -1, -3, most - 2, least])
    first = f"k = {dtype}({draw.choice(['start', '0'])})\n" if scan else ""
    signature = f"(x: int32[n], start: {dtype}, f: inout {dtype}[1], out: inout int32[m])"
    return dtype, start, signature, first + loop


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_element_is_touched_twice(tree, part):
    refused = touched = 0
    for number in range(90 * part, 90 * part + 90):
        draw = random.Random(number)
        dtype, start, signature, body = counting(draw)
        try:
            checked = races.check(tree(signature, body, types=""))
        except DeclarationError as error:
            assert "`out`" in error.message, body
            refused += 1
            continue
        for n, m in ((9, 9), (9, 20)):
            x = np.array([draw.randint(0, 2) for _ in range(n)], np.int32)
            count, out = np.array([start], dtype), np.zeros(m, np.int32)
            try:
                execute.run(checked, {"x": x, "start": start, "f": count, "out": out}, {"n": n, "m": m})
            except IndexError:
                continue  # of which nothing is promised
            assert out.max() <= 1, f"{number}, n={n}, m={m}, start={start}\n{body}\n{out}"
            touched += out.any()
    assert refused > 9 and touched > 4
