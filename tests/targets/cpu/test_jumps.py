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
