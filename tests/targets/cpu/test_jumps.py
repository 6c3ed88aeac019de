"""Where jumps lie in the machine code of kernels that do not reduce."""

import itertools
import re
import shutil
import subprocess

import pytest
from tests.targets.cpu.compiled import tree_of

from pydotcompute.targets.cpu.compiler import emit_object, kernel_ir
from pydotcompute.targets.cpu.lowering import lower

BODY = """
    for i in range(n):
        count[(key[i] >> shift) & 255] += 1
    for i in range(n):
        b = (key[i] >> shift) & 255
        if count[b] > 3:
            out[count[b]] = key[i]
        elif key[i] > 7:
            count[b] -= 1
"""
SIGNATURE = "(key: uint32[n], shift: uint32) -> (out: uint32[n], count: int64[256])"


def text(body=BODY, signature=SIGNATURE):
    return kernel_ir(lower(tree_of(body, signature, types="")), "k.py")


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump")
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_no_jump_lies_across_two_lines_of_the_cache(level, tmp_path):
    file = tmp_path / "kernel.o"
    file.write_bytes(emit_object(text(), f"cpu:{level}", "k"))
    listed = subprocess.run(["objdump", "-d", "--no-show-raw-insn", file], capture_output=True, text=True, check=True)
    found = [(int(m[1], 16), m[2]) for m in re.finditer(r"^\s+([0-9a-f]+):\s+(\S+)", listed.stdout, re.M)]
    jumps = [(at, end - 1) for (at, word), (end, _) in itertools.pairwise(found) if word[0] == "j"]
    assert len(jumps) > 20
    assert not [at for at, last in jumps if at // 64 != last // 64]


def test_what_was_made_before_makes_no_difference():
    sums = text("out[()] = sum(x[i] for i in grid(n))", "(x: float32[n]) -> (out: float32)")
    first, other = (emit_object(t, "cpu:x86-64-v3", "k") for t in (text(), sums))
    assert [emit_object(t, "cpu:x86-64-v3", "k") for t in (sums, text(), sums)] == [other, first, other]


BEST = "for i in grid(m):\n    p = 0\n    b = x[0]\n    for j in range(1, n):\n        {}\n    out[i] = x[p]"


@pytest.mark.parametrize(
    "turn, jumps",
    [
        ("if x[j] > x[p]:\n            p = j", True),
        ("if abs(y[i, j]) < abs(y[i, p]) and x[j] > 0:\n            p = j\n            b = x[j]", True),
        ("if x[j] > b:\n            b = x[j]\n            p = j", False),  # nothing waits for a load
        ("if p < n - 1 and x[p] < x[j]:\n            p += 1", False),  # one of two as often as the other
        ("if x[j] > x[p]:\n            p = j\n        else:\n            b = 0", False),
        ("q = 0\n        if x[j] > x[q]:\n            q = j\n        p = q", False),  # each turn looks at its own
    ],
)
def test_the_best_so_far_is_jumped_to(turn, jumps):
    """So that a processor looks at the next element before it knows whether this one is better."""
    tree = tree_of(BEST.format(turn), "(x: float32[n], y: float32[m, n]) -> (out: float32[m])", types="", extra="requires: [n > 0]")
    assert ("if rarely(" in lower(tree).text) == jumps


@pytest.mark.skipif(not shutil.which("objdump"), reason="needs objdump")
def test_a_jump_is_one_in_machine_code(tmp_path):
    """Such a loop has no choice between registers."""
    body = "for i in grid(1):\n    p = 0\n    for j in range(n):\n        if x[j] > x[p]:\n            p = j\n    out[i] = p"
    file = tmp_path / "kernel.o"
    file.write_bytes(emit_object(text(body, "(x: float32[n]) -> (out: int64[1])"), "cpu:x86-64-v3", "k"))
    listed = subprocess.run(["objdump", "-d", "--no-show-raw-insn", file], capture_output=True, text=True, check=True)
    after = re.findall(r"ucomiss[^\n]*\n[^\n]*\t(\w+)", listed.stdout)
    assert after and not [word for word in after if word.startswith("cmov")]
