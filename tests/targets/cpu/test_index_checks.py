"""Ordinary builds, as tests/targets/test_index_checks.py: what is a processor's alone, and on one thread and two."""

import re
import time

import numpy as np
import pytest
from tests.targets.cpu.compiled import kernel, tree_of

from pydotcompute.artifact import abi
from pydotcompute.check import memory
from pydotcompute.interpreter import execute as interpret
from pydotcompute.targets.cpu.compiler import kernel_ir
from pydotcompute.targets.cpu.lowering import lower

GATHER = ("for i, c in grid(n, d):\n    out[i, c] = table[index[i], c]",
          "(table: T[v, d], index: int64[n]) -> (out: T[n, d])")  # fmt: skip


@pytest.mark.parametrize("d", [1, 3, 16, 200])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_gather_by_any_index(d, threads):
    k = kernel(*GATHER)
    rng = np.random.default_rng(d)
    table, table_buffer = memory.guarded((50, d), np.dtype("f4"))
    out, buffer = memory.guarded((5000, d), np.dtype("f4"))
    table[...] = rng.random((50, d))
    index = rng.integers(0, 50, 5000)
    dims = {"v": 50, "d": d, "n": 5000}
    assert k.fault(dims, threads, table=table, index=index, out=out) is None
    assert (out == table[index]).all()
    for wrong in (-1, 50, 10**12, -(2**63), 2**63 - 1):
        index[4321] = wrong
        assert k.fault(dims, threads, table=table, index=index, out=out)[2:] == ("table", 0, 50, wrong)
        assert not memory.overrun(out, buffer) and not memory.overrun(table, table_buffer)


def test_arrays_of_other_sizes_are_looked_at_once():
    """The ends of a loop decide for all of it; where they are outside, each iteration is looked at."""
    k = kernel("for i in grid(n):\n    out[i] = x[i + 2] - y[m - 1 - i]", "(x: T[m], y: T[m], n: int64) -> (out: T[n])")
    x = np.arange(9, dtype="f4")
    out, buffer = memory.guarded((7,), np.dtype("f4"))
    assert k.fault({"n": 7, "m": 9}, x=x, y=x, n=7, out=out) is None
    assert (out == x[2:] - x[:1:-1]).all()
    assert k.fault({"n": 7, "m": 8}, x=x[:8], y=x[:8], n=7, out=out)[2:] == ("x", 0, 8, 8)
    assert k.fault({"n": 0, "m": 0}, x=x[:0], y=x[:0], n=0, out=out[:0]) is None
    assert not memory.overrun(out, buffer)


def test_a_sequential_loop_is_looked_at_once():
    """A row that data choose, from an element on that a call names."""
    body = """
        for i in range(n):
            s = 0.0
            r = index[i]
            for c in range(low, high):
                if table[r, c] > 1e3:
                    break
                s = s * 0.5 + table[r, c]
            out[i] = s
    """
    signature = "(table: T[v, d], index: int64[n], low: int64, high: int64) -> (out: T[n])"
    text = lower(tree_of(body, signature, types="{T: [float64]}")).text
    assert "within(low, d)" in text and "s = fmuladd(s, float64(0.5), load(table" in text
    k = kernel(body, signature, types="{T: [float64]}")
    table, buffer = memory.guarded((5, 7), np.dtype("f8"))
    table[...] = np.random.default_rng(0).random((5, 7))
    index, out = np.array([3, 0, 4, 4]), np.zeros(4)

    def call(low, high):
        return k.fault({"v": 5, "d": 7, "n": 4}, table=table, index=index, low=low, high=high, out=out)

    for low, high in ((0, 7), (2, 5), (3, 4), (7, 7), (9, 2), (-5, -9)):
        assert call(low, high) is None
        wanted = 0.0
        for c in range(low, high):
            wanted = wanted * 0.5 + table[4, c]
        assert out[3] == pytest.approx(wanted, rel=1e-15)
    assert call(0, 9)[2:] == ("table", 1, 7, 7) and call(-2, 3)[2:] == ("table", 1, 7, -2)
    table[3:, 4] = 2e3
    table[0, 6] = 2e3
    index[1] = 3
    assert call(0, 9) is None  # it ends before
    index[2] = 5
    assert call(0, 7)[2:] == ("table", 0, 5, 5) and not memory.overrun(table, buffer)


def test_a_range_to_the_end_may_begin_before_the_first():
    body = "for i in range(low, n):\n    out[i] = 1.0"
    k = kernel(body, "(low: int64, n: int64) -> (out: T[n])")
    out = np.zeros(4, "f4")
    assert k.fault({"n": 4}, low=1, n=4, out=out) is None and out.tolist() == [0, 1, 1, 1]
    assert k.fault({"n": 4}, low=-2, n=4, out=out)[2:] == ("out", 0, 4, -2)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_brought_inside_is_looked_at_once(threads):
    """Wherever an index comes from, between 0 and the extent less 1 it is inside of what has an element."""
    body = """
        for i, j in grid(n, n):
            k = min(max(x[i, j], 0), m - 1)
            out[i, j] = v[min(m - 1, max(0, x[i, j] - 1))] + v[k]
    """
    signature = "(x: int64[n, n], v: int64[m]) -> (out: int64[n, n])"
    text = lower(tree_of(body, signature, types="")).text
    certain = [line for line in text.splitlines() if "store(out" in line and "_load(" not in line]
    assert certain and all(line.count("load(v, ") == 2 for line in certain) and "within(" in text
    k = kernel(body, signature, types="")
    v, buffer = memory.guarded((5,), np.dtype("i8"))
    v[...] = [1, 10, 100, 1000, 10000]
    x = np.random.default_rng(0).integers(-9, 9, (20, 20))
    x[3, :4] = -(2**63) + 1, 2**63 - 1, 4, 0
    out = np.zeros((20, 20), "i8")
    assert k.fault({"n": 20, "m": 5}, threads, x=x, v=v, out=out) is None
    assert (out == v[np.clip(x - 1, 0, 4)] + v[np.clip(x, 0, 4)]).all() and not memory.overrun(v, buffer)
    assert k.fault({"n": 20, "m": 0}, threads, x=x, v=v[:0], out=out)[2:] == ("v", 0, 0, -1)
    for near in ("min(max(x[i, j], 0), m)", "min(max(x[i, j], 0), m - 0)", "min(max(x[i, j], -1), m - 1)",
                 "min(max(x[i, j], 0), n - 1)", "max(min(x[i, j], 0), m - 1 + x[i, j])"):  # fmt: skip
        loose = kernel(body.replace("min(max(x[i, j], 0), m - 1)", near), signature, types="")
        assert loose.fault({"n": 20, "m": 5}, threads, x=x, v=v, out=out)[2] == "v", near


@pytest.mark.parametrize(
    "body",
    [
        "for i in grid(j):\n    out[i] = 1",
        "for b in blocks(2**62):\n    if x[j] == 1:\n        out[0] = 1",
        "for i, c in grid(2**61, 2):\n    if x[j] == 1:\n        out[0] = 1",
    ],
)
def test_nothing_hangs_after_a_fault(body):
    k = kernel(body, "(x: int64[n], y: int64[n], j: int64) -> (out: int64[n])", types="")
    x = np.zeros(3, "i8")
    for threads in (1, 2):
        start = time.perf_counter()
        assert k.fault({"n": 3}, threads, x=x, y=np.array([7, 8, 9]), j=2**62, out=np.zeros(3, "i8")) is not None
        assert time.perf_counter() - start < 5


def test_the_line_of_a_helper_that_stores_and_of_its_call():
    """Its statements stand in the place of the call; the row that it is given may be outside too."""
    body = """
    def inner(row, k):
        row[k] = 1.0
    def outer(row, k):
        inner(row, k + 1)
    for i in grid(n):
        outer(out[i + shift], k)
    """
    signature = "(k: int64, shift: int64, out: inout float64[n, m])"
    k, tree = kernel(body, signature, types=""), tree_of(body, signature, types="")
    for at, shift, (axis, extent, index) in ((3, 0, (1, 4, 4)), (0, 1, (0, 3, 3))):
        out = np.zeros((3, 4))
        words, kept = k.words({"k": at, "shift": shift, "out": out}, {"n": 3, "m": 4})
        assert k.library.run(words) == 1
        site, call, *found = words[k.count : k.count + abi.TOLD_WORDS]
        place, array, _, told = k.sites[site - 1]
        assert (array, told, *found) == ("out", axis, extent, index)
        assert k.calls[call - 1].line - place.line == 4
        with pytest.raises(IndexError) as caught:
            interpret.run(tree, {"k": at, "shift": shift, "out": out}, {"n": 3, "m": 4})
        line, wanted = str(caught.value).split(":")[1], f"index {index} of axis {axis} is outside out, which has {extent}"
        assert f"{wanted}, in a helper called on line {int(line) + 4}" in str(caught.value)


def test_one_value_is_looked_at_and_used():
    """An index is loaded once: another thread may write its array in between."""
    from pydotcompute.targets.cpu.lowering import lower

    for body, signature in (GATHER, ("for i in grid(n):\n    out[i] = table[index[i]]",
                                     "(table: T[v], index: int64[n]) -> (out: T[n])")):  # fmt: skip
        text = lower(tree_of(body, signature)).text
        used = [line for line in text.splitlines() if "store(out" in line]
        assert used and all("load(table" not in line or "load(index" not in line for line in used)


@pytest.mark.slow
def test_a_name_that_a_loop_left_by_a_fault_has_not_set_is_zero():
    """It may be an index, and one that is nothing would be checked as another than it is used as."""
    body = """
        for i in grid(n):
            a = v[x[i]]
            while True:
                j = x[i]
                z = v[i]
                if j > 3:
                    break
            out[i] = a + v[j] + z
    """
    text = kernel_ir(lower(tree_of(body, "(x: int32[n], v: complex64[n]) -> (out: complex64[n])", types="")), "f.py")
    entries = re.findall(r"{\nentry:.*\n((?:  .*\n)*)  br label %start", text)
    (begun,) = [entry for entry in entries if "%j" in entry]
    for zero in ("i32 0, ptr %j", "{ float, float } zeroinitializer, ptr %z"):
        assert f"store {zero}," in begun


def test_what_the_condition_of_a_loop_has_looked_at_is_not_looked_at_again():
    """And of an access only the indices that are not proved: those of a tree of decisions."""
    body = """
        for i in grid(n):
            node = 0
            while feature[node] >= 0:
                node = left[node] if x[i, feature[node]] <= threshold[node] else right[node]
            out[i] = node
    """
    arrays = ", ".join(f"{name}: int64[k]" for name in ("feature", "left", "right"))
    text = lower(tree_of(body, f"(x: T[n, f], {arrays}, threshold: T[k]) -> (out: int64[n])", types="{T: [float32]}")).text
    assert len(re.findall(r"(?<!def )_load\w*\(", text)) == 2 and text.count("in_range(") == 2


@pytest.mark.parametrize("then", ["min(max(y[i], 0), n - 1)", "i + 1", "c - c"])
def test_what_an_iteration_has_left_for_the_next_is_looked_at(then):
    """It is what the loop's body sets once, but in the first iteration it is not yet that."""
    body = f"""
        j = c
        s = 0.0
        for i in range(m):
            s = s * 0.5 + x[j]
            j = {then}
        out[0] = s
    """
    k = kernel(body, "(x: T[n], y: int64[m], c: int64) -> (out: T[1])", types="{T: [float64]}")
    x, y, out = np.arange(4.0), np.array([2, 0, -7]), np.zeros(1)
    for c in (4, -1, 10**4):
        assert k.fault({"n": 4, "m": 3}, x=x, y=y, c=c, out=out)[2:] == ("x", 0, 4, c)
    assert k.fault({"n": 4, "m": 3}, x=x, y=y, c=3, out=out) is None
    second, third = {"i": (1, 2), "m": (2, 0), "c": (0, 0)}[then[0]]
    assert out[0] == 3 * 0.25 + second * 0.5 + third
