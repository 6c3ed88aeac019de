"""Parallel loops have as many iterations as the product of their counts, of which a negative one is none: whatever
the product of the others would be."""

import multiprocessing
from itertools import product

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, tree_of
from tests.targets.cuda.cuda_support import loop

from pydotcompute.targets.cuda import toolchain as cuda_toolchain

COUNTS = (-(2**63), -1, 0, 1, 3, 2**31, 2**32, 2**62, 2**63 - 1)
FORMS = {
    "sum over grid": "total[()] = sum(1 for {i} in grid({n}))",
    "accumulator": "s = 0\nfor {i} in grid({n}):\n    s += 1\ntotal[()] = s",
    "grid": "for {i} in grid({n}):\n    atomic_add(seen, 0, 1)",
    "blocks": "for {i} in blocks({n}):\n    atomic_add(seen, 0, 1)",
    "threads": "for r in blocks(1):\n    for {i} in threads({n}):\n        atomic_add(seen, 0, 1)",
    "sum over threads": "for r in blocks(1):\n    seen[r] = sum(1 for {i} in threads({n}))",
    "computed": "m = table[0]\nfor {i} in grid({n}, m):\n    atomic_add(seen, 0, 1)",
}


def kernel_text(form, counts):
    names, limits = ("i, j, g"[: 3 * counts - 2], "a, b, c"[: 3 * counts - 2])
    text = FORMS[form].format(i=names, n=limits)
    if form == "computed":
        text = text.replace("for i in", "for i, q in").replace("for i, j in", "for i, j, q in")
    scalars = ", ".join(f"{name}: int64" for name in "abc"[:counts])
    outputs = " -> (total: int64)" if "total" in text else ""
    inouts = "table: int64[k], seen: inout int64[k]"
    return f"({inouts}, {scalars}){outputs}", text


def few(counts):
    """All choices of counts that make less than 30 iterations, in exact arithmetic."""
    for chosen in product(COUNTS, repeat=counts):
        total = 1
        for count in chosen:
            total *= max(count, 0)
        if total < 30:
            yield chosen, total


def forms():
    return [(form, counts) for form in FORMS for counts in (1, 2, 3) if counts < 3 or form != "computed"]


@pytest.mark.parametrize("form, counts", forms())
def test_on_a_cpu_and_in_the_interpreter(form, counts):
    signature, text = kernel_text(form, counts)
    kernel = Kernel(tree_of(text, signature, types=""))
    for chosen, wanted in few(counts):
        for run in (lambda **given: kernel({"k": 1}, 3, **given), lambda **given: kernel.interpret({"k": 1}, **given)):
            given = {"table": np.ones(1, "int64"), "seen": np.zeros(1, "int64"), **dict(zip("abc", chosen))}
            given |= {"total": np.zeros((), "int64")} if "total" in signature else {}
            run(**given)
            assert given["seen"][0] + given.get("total", 0) == wanted, (form, chosen)


@pytest.mark.skipif(bool(cuda_toolchain.missing()), reason="needs the extra build-cuda")
@pytest.mark.parametrize("form, counts", forms())
def test_in_ptx(form, counts):
    signature, text = kernel_text(form, counts)
    built = loop(signature, text)
    for chosen, wanted in list(few(counts))[:: (1, 3, 40)[counts - 1]]:
        seen = np.zeros(1, "int64")
        total = built.call(np.ones(1, "int64"), seen, *chosen)
        assert seen[0] + (total if "total" in signature else 0) == wanted, (form, chosen)


@pytest.mark.parametrize(
    "text, dtype, chosen",
    [
        ("for i, j in grid(a, b):\n    atomic_add(seen, 0, i ^ table[0])", "int64", (2**32, 2**32)),
        ("for i, j, g in blocks(a, b, b):\n    atomic_add(seen, 0, i ^ table[0])", "int64", (2**40, 2**40)),
        ("s = 0\nfor i, j in grid(a, b):\n    s += i ^ table[0]\nseen[0] = s", "int64", (2**32, 2**33)),
        ("s = 0\nfor i in grid(a):\n    s += i ^ table[0]\nseen[0] = s", "int64", (2**63 - 1, 1)),
        ("for i in grid(a):\n    atomic_add(seen, 0, i ^ table[0])", "uint64", (2**63, 1)),
    ],
)
def test_what_never_ends_does_not_end_at_once(text, dtype, chosen):
    """A product that int64 does not hold is not 0 iterations, nor any other number that comes to an end. (The
    sums are such that no compiler knows them without the loop.)"""
    if "seen[0] = s" in text:  # a reduction over grid is followed by scalar outputs
        text, extra = text.replace("seen[0] = s", "total[()] = s"), " -> (total: int64)"
    else:
        extra = ""
    signature = f"(table: int64[k], seen: inout int64[k], a: {dtype}, b: {dtype}){extra}"
    kernel = Kernel(tree_of(text, signature, types=""))
    given = {"table": np.ones(1, "int64"), "seen": np.zeros(1, "int64"), **dict(zip("ab", chosen))}
    given |= {"total": np.zeros((), "int64")} if extra else {}
    child = multiprocessing.get_context("fork").Process(target=lambda: kernel({"k": 1}, 2, **given))
    child.start()
    child.join(0.5)
    running = child.is_alive()
    child.kill()
    child.join()
    assert running, f"ended with {child.exitcode}"
