"""Which kernels take LLVM's passes that write loops apart by conditions that are the same in all turns: those take twice as
long for a kernel of tiles, of which they change nothing."""

import re
from pathlib import Path

import pytest

from pydotcompute import declare
from pydotcompute.analysis.races import check
from pydotcompute.frontend.build import build_tree
from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower
from tests.targets.cpu.compiled import tree_of

ROOT = str(Path(__file__).resolve().parents[3])
SIGNATURE = "(x: float32[m, n], k: int64) -> (out: float32[m, n])"
LOOP = "for i in grid(m):\n    for j in range(n):\n        {}\n"
BOTH = "if {}:\n            out[i, j] = x[i, j] + 1\n        else:\n            out[i, j] = x[i, j] * 3"


@pytest.mark.parametrize(
    "turn, steady",
    [
        (BOTH.format("k > 3"), True),
        (BOTH.format("i % 2 == k"), True),
        (BOTH.format("j % 2 == k"), False),
        (BOTH.format("x[i, 0] > 2"), False),  # what is read may be written in between
        ("if k > 3:\n            for l in range(n):\n                out[i, l] = x[i, l] + j", False),  # a loop inside
        ("out[i, j] = x[i, j] if k > 3 else 0", False),
    ],
)
def test_conditions_that_no_turn_of_an_innermost_loop_changes(turn, steady):
    assert lower(tree_of(LOOP.format(turn), SIGNATURE, types="")).steady is steady


def test_such_a_loop_is_written_apart():
    """Its condition is outside of both loops that come of it."""
    source = lower(tree_of(LOOP.format(BOTH.format("k > 3")), SIGNATURE, types=""))
    text = str(optimised(kernel_ir(source, "f.py"), "cpu:x86-64-v3", "f")[0])
    assert " fadd <8 x float>" in text and " fmul <8 x float>" in text and not re.search(r"select i1 [^,]+, <8 x float>", text)


@pytest.mark.parametrize("name", ["attention", "matmul", "matmul_batched", "weighted_sum_rows"])
def test_kernels_of_tiles_do_not(name):
    kernel = declare.load(ROOT).kernels[name]
    for specialisation in kernel.specialisations:
        rendered = declare.render(kernel, specialisation, "cpu", ROOT)
        assert not lower(check(build_tree(kernel, specialisation, rendered))).steady
