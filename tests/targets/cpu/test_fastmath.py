"""Fast-math flags: what a kernel declares reaches its own operations and no library function, whatever else was
compiled in this process before."""

import functools
import itertools
import random
import re

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, tree_of

from pydotcompute.targets.cpu import compiler as cpu, namespace
from pydotcompute.targets.llvm import numba_frontend as frontend
from pydotcompute.ir.math import FUNCTIONS
from pydotcompute.targets.cpu.lowering import lower

from tests.math.samples import one_argument, two_arguments

FLAGS = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")
SUBSETS = [c for k in range(len(FLAGS) + 1) for c in itertools.combinations(FLAGS, k)] + [("fast",)]
DRAWN = random.Random(11)
BINARY = ("atan2", "hypot", "pow")
# What lowered code calls besides: sums without loss, remainders, powers of integers, folds of lanes, moduli.
OTHERS = {
    "x[i] ** 2": "float64", "x[i] ** 0.5": "float32", "x[i] % y[i]": "float32", "x[i] // y[i]": "float64",
    "fma(x[i], y[i], x[i])": "float32",
}  # fmt: skip


def expressions(dtype):
    calls = {name: f"{name}(x[i], y[i])" if name in BINARY else f"{name}(x[i])" for name in sorted(FUNCTIONS)}
    return [*calls.values(), *(text for text, of in OTHERS.items() if of == dtype)]


def everything(dtype, flags, form="{}", argument="x[i]"):
    """The tree of a kernel with an output for each listed function."""
    texts = [form.format(text.replace("x[i]", argument)) for text in expressions(dtype)]
    body = "for i in grid(n):\n" + "\n".join(f"    out{k}[i] = {text}" for k, text in enumerate(texts))
    outputs = ", ".join(f"out{k}: {dtype}[n]" for k in range(len(texts)))
    signature = f"(x: {dtype}[n], y: {dtype}[n]) -> ({outputs})"
    return tree_of(body, signature, types="", extra=f"fastmath: [{', '.join(flags)}]")


@functools.cache
def plain(dtype, *form):
    """The same without flags."""
    return Kernel(everything(dtype, (), *form))


@pytest.fixture
def first(monkeypatch):
    """As in a process that has compiled nothing yet: library functions are compiled for this test's kernels."""
    forget(monkeypatch)


def forget(monkeypatch):
    monkeypatch.setattr(frontend, "_LIBRARY", {})
    namespace.listed_function.cache_clear()


def results(built, x, y):
    """What a kernel puts out for these arguments."""
    outputs = {p.name: np.zeros_like(x) for p in built.tree.parameters if p.writable}
    inputs = {p.name: {"x": x, "y": y}[p.name] for p in built.tree.parameters if not p.writable}
    assert built({"n": x.size}, **inputs, **outputs) == 0
    return list(outputs.values())


@functools.cache
def arguments(dtype):
    """Numbers of all sizes, those near which functions change among them; no special ones."""
    x, y = two_arguments("pow", dtype, 700)
    pairs = [(x, y)]
    for name in ("exp2", "log1p", "sin", "cbrt"):
        one = one_argument(name, dtype, 400)
        pairs.append((one, np.roll(one, 7)))
    x, y = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    usual = (np.abs(x) < 1e30) & (np.abs(x) > 1e-30) & (np.abs(y) < 1e30) & (np.abs(y) > 1e-30)
    return x[usual], y[usual]


def is_usual(values):
    """Where a flag says nothing: no NaN, no infinity, no zero, nothing denormal."""
    return np.isfinite(values) & (np.abs(values) >= np.finfo(values.dtype).tiny)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flags", [("fast",), ("nsz", "afn", "reassoc")], ids="-".join)
def test_a_function_is_the_same_to_the_bit_under_any_flags(flags, dtype, monkeypatch):
    x, y = arguments(dtype)
    without = results(plain(dtype), x, y)
    forget(monkeypatch)  # the functions are compiled for a kernel with flags
    flagged = results(Kernel(everything(dtype, flags)), x, y)
    for text, wanted, got in zip(expressions(dtype), without, flagged, strict=True):
        usual = is_usual(wanted)
        bits = wanted[usual].view(f"i{wanted.itemsize}"), got[usual].view(f"i{got.itemsize}")
        wrong = np.flatnonzero(bits[0] != bits[1])[:3]
        assert not wrong.size, (text, x[usual][wrong], y[usual][wrong], wanted[usual][wrong], got[usual][wrong])
        assert usual.mean() > 0.1, text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("flags", [("fast",), ("reassoc", "nsz")], ids="-".join)
def test_what_a_kernel_does_with_a_result_changes_no_function(flags, dtype):
    """LLVM sees both after inlining, and may not go on into the function from an operation that has flags."""
    x, y = arguments(dtype)
    flagged = results(Kernel(everything(dtype, flags, "({} + 1.5) * 0.75 - x[i]")), x, y)
    for text, values, got in zip(expressions(dtype), results(plain(dtype), x, y), flagged, strict=True):
        usual = is_usual(values) & (np.abs(values) < np.finfo(dtype).max / 8)
        value, argument = values[usual].astype("g"), x[usual].astype("g")
        size = np.abs(value) + 1.5 + np.abs(argument)
        error = np.abs(got[usual] - ((value + 1.5) * 0.75 - argument)) / size / np.finfo(dtype).eps
        assert error.max() < 4, (text, x[usual][error.argmax()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_a_kernel_does_with_an_argument_changes_no_function(dtype):
    x, y = arguments(dtype)
    form = ("{}", "(x[i] + 0.5)")
    flagged = results(Kernel(everything(dtype, ("fast",), *form)), x, y)
    for text, wanted, got in zip(expressions(dtype), results(plain(dtype, *form), x, y), flagged, strict=True):
        usual = is_usual(wanted)
        assert (got[usual] == wanted[usual]).all(), text


def flagged_functions(source):
    """How many functions of a lowered kernel's module carry flags, and how many there are."""
    found = re.findall(r"^define .*?^}", cpu.kernel_ir(source, "f.py"), re.M | re.S)
    return sum(bool(re.search(rf"\b({'|'.join((*FLAGS, 'fast'))})\b", body)) for body in found), len(found)


@pytest.mark.parametrize("flags", DRAWN.sample(SUBSETS, 12), ids=lambda flags: "-".join(flags) or "none")
def test_flags_stand_in_the_kernels_own_functions_alone(flags, first):
    template = """
        def helper(v):
            return exp2(v) * 2 + cbrt(v)

        def f(x, y, out, most):
            for r in blocks(m):
                s = T(0)
                for c in threads(n):
                    s += helper(x[r, c]) ** 2.5 % y[r] - tanh(x[r, c])
                out[r] = s / log1p(y[r])
                most[r] = argmax(sin(x[r, c]) for c in threads(n))
    """
    signature = "(x: T[m, n], y: T[m]) -> (out: T[m], most: int64[m])"
    tree = tree_of(
        signature=signature, types="{T: [float64]}", template=template, extra=f"fastmath: [{', '.join(flags)}]"
    )
    source = lower(tree)
    own = {"compute", "body", "begin", "finish", *source.functions}
    flagged, all_of_them = flagged_functions(source)
    assert flagged <= len(own) < all_of_them
    assert (flagged > 0) == bool(set(flags) - {"contract"})


def test_the_flags_of_one_kernel_change_no_other(first):
    """As reported: both gave 1, 8 and 128."""
    x = np.array([1.0, 3.0, 10.0])
    for flags in ("fast", "", "reassoc", "reassoc, nsz"):
        body, signature = "for i in grid(n):\n    out[i] = x[i] ** 2", "(x: float64[n]) -> (out: float64[n])"
        built = Kernel(tree_of(body, signature, types="", extra=f"fastmath: [{flags}]"))
        assert results(built, x, x)[0].tolist() == [1, 9, 100]
