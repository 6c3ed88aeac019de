"""What is left of a loop after its last vector is one more, under a mask: the bits of any other iteration, nothing beyond
the arrays, and as it was where a processor has no masks."""

import numpy as np
import pytest
from pydotcompute.backends.cpu.levels import unfit
from tests.targets.cpu.compiled import kernel, tree_of

from pydotcompute.check import memory
from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower

LEVELS = [level for level in ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4") if not unfit(level)]
SIGNATURE = "(a: T, x: T[n]) -> (out: T[n])"
BODIES = {
    "a function": "out[i] = exp(x[i]) * a",
    "several": "v = tanh(x[i])\nout[i] = where(v == a, 1, v * erfc(v)) + sin(x[i])",
    "a choice": "if x[i] > a:\n    out[i] = log(x[i])\nelse:\n    out[i] = exp(x[i]) - x[i]",
    "neighbours": "out[i] = exp(x[i + 1]) - exp(x[i - 1]) if 0 < i < n - 1 else log(x[i])",
}


def indented(text, count="n"):
    return f"for i in grid({count}):\n" + "\n".join("    " + line for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", BODIES)
def test_iterations_of_the_rest_are_as_all_others(name, level, dtype):
    k = kernel(indented(BODIES[name]), SIGNATURE, target=level, types=f"{{T: [{dtype}]}}", extra="fastmath: []")
    data = np.random.default_rng(0).uniform(0.1, 3, 600).astype(dtype)
    long = np.zeros_like(data)
    assert k({"n": 600}, a=1.5, x=data, out=long) == 0
    for n in (*range(40), 63, 64, 65, 127, 129):
        for shift in (0, 1, 3):
            (x, xs), (out, outs) = (memory.guarded((n,), data.dtype, shift) for _ in range(2))
            x[...] = data[:n]
            assert k({"n": n}, a=1.5, x=x, out=out) == 0
            assert not memory.overrun(out, outs) and not memory.overrun(x, xs)
            inner = slice(None) if name != "neighbours" else slice(0, max(n - 1, 0))  # its last one has no neighbour
            assert (out[inner] == long[:n][inner]).all()


@pytest.mark.parametrize("level", LEVELS)
def test_an_output_in_the_place_of_its_input(level):
    k = kernel("for i in grid(n):\n    x[i] = exp(x[i]) - 1.0", "(x: inout T[n])", target=level, extra="fastmath: []")
    for n in range(70):
        x = np.linspace(0, 2, n, dtype="f4")
        wanted = np.zeros(n, "f4")
        for m in range(n):
            one = x[m : m + 1].copy()
            assert k({"n": 1}, x=one) == 0
            wanted[m] = one[0]
        assert k({"n": n}, x=x) == 0 and (x == wanted).all()


@pytest.mark.parametrize("body, signature, is_one", [
    ("out[i] = exp(x[i])", "(x: T[n]) -> (out: T[n])", True),
    ("out[i] = x[i] * 2.0", "(x: T[n]) -> (out: T[n])", False),  # not much
    ("out[i] = exp(x[p[i]])", "(x: T[n], p: int64[n]) -> (out: T[n])", False),  # apart
    ("out[i] = exp(float32(x[i]))", "(x: int8[n]) -> (out: T[n])", False),  # no words
    ("out[i] = exp(x[i])", "(x: broadcast T[...]) -> (out: T[...])", True),
    ("out[i] = exp(x[i])", "(x: strided T[n]) -> (out: T[n])", True),  # where it has no strides
    ("out[i] = exp(x[0] * i)", "(x: T[n]) -> (out: T[n])", False),  # one for all
])  # fmt: skip
def test_of_which_loops_it_is_one(body, signature, is_one):
    count = "size" if "..." in signature else "n"
    assert ("under_mask" in lower(tree_of(indented(body, count), signature)).text) is is_one


@pytest.mark.parametrize("level, masks", [("cpu:x86-64-v2", False), ("cpu:x86-64-v3", True), ("cpu:x86-64-v4", True), ("cpu:aarch64", False)])
def test_which_processors_have_masks(level, masks):
    text = kernel_ir(lower(tree_of(indented("out[i] = exp(x[i])"), "(x: T[n]) -> (out: T[n])")), "k.py")
    module, _ = optimised(text, level, "k")
    assert ("masked.store" in str(module)) is masks
