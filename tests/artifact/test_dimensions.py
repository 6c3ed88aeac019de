"""Random expressions over dimensions mean the same to every visitor: Python's numbers where those fit int64, else a
ValueError; in a text that is read again, in data, in an entry point, on the Python path and in kernels."""

import json

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, tree_of
from tests.targets.cuda.cuda_support import loop
from entries import Native, f4
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import array, tree, write_kernel

from pydotcompute.artifact import dimensions
from pydotcompute.artifact.dimensions import COMPARE, Operation, data, evaluate, from_data, names, substituted, text
from pydotcompute.backends import launch as cuda_launch
from pydotcompute.targets.cuda import toolchain as cuda_toolchain

NUMBERS = st.sampled_from([0, 1, 2, 3, -1, -3, 7, 2**31, 2**62, 2**63 - 1]) | st.integers(-9, 9)
LEAVES = st.sampled_from(["n", "m", "K", "n", "m"]) | NUMBERS


def operations(parts):
    plain = st.builds(lambda op, a, b: Operation(op, (a, b)), st.sampled_from(["+", "-", "*", "//", "%"]), parts, parts)
    by = st.sampled_from([0, 1, 2, 5, 63])
    shifted = st.builds(lambda op, a, k: Operation(op, (a, k)), st.sampled_from(["**", "<<", ">>"]), parts, by)
    truth = st.builds(lambda op, a, b: Operation(op, (a, b)), st.sampled_from([*COMPARE, "and", "or"]), parts, parts)
    one = st.builds(lambda op, a: Operation(op, (a,)), st.sampled_from(["neg", "not", "abs"]), parts)
    some = st.builds(lambda op, a: Operation(op, tuple(a)), st.sampled_from(["min", "max"]),
                     st.lists(parts, min_size=2, max_size=3))  # fmt: skip
    chosen = st.builds(lambda a, b, c: Operation("if", (a, b, c)), parts, parts, parts)
    return plain | plain | shifted | truth | one | some | chosen


TREES = st.recursive(LEAVES, operations, max_leaves=9)
SIZES = [(n, m) for n in (0, 1, 2, 3, 5, 8) for m in (0, 1, 4, 7)]


def reference(node, known):
    """Its value by Python itself; None where it has none."""
    wide = False

    def value(part):
        nonlocal wide
        if isinstance(part, str):
            return known[part]
        if not isinstance(part, Operation):
            return part
        if part.op in ("and", "or", "if"):
            first = value(part.operands[0])
            if part.op == "if":
                return value(part.operands[1 if first else 2])
            return value(part.operands[1]) if bool(first) == (part.op == "and") else first
        a, *others = map(value, part.operands)
        if part.op in ("neg", "not", "abs", "min", "max"):
            result = {"neg": lambda: -a, "not": lambda: not a, "abs": lambda: abs(a), "min": lambda: min(a, *others),
                      "max": lambda: max(a, *others)}[part.op]()  # fmt: skip
        else:
            result = eval(f"a {part.op} b", {"a": a, "b": others[0]})
        wide = wide or not -(2**63) <= result < 2**63
        return result

    try:
        found = value(node)
    except ZeroDivisionError:
        return None
    return None if wide else found


def valued(node, known):
    try:
        return evaluate(node, known)
    except ValueError:
        return None


@settings(max_examples=400)
@given(TREES)
def test_the_value_is_python_s(node):
    for n, m in SIZES:
        known = {"n": n, "m": m, "K": -3}
        wanted, found = reference(node, known), valued(node, known)
        assert found == wanted and type(found) is type(wanted), text(node)


@settings(max_examples=400)
@given(TREES)
@example(Operation("neg", (Operation("neg", (0,)),)))
def test_text_and_data_come_back(node):
    assert from_data(json.loads(json.dumps(data(node)))) == from_data(node) == node
    again = tree(text(node))
    for n, m in SIZES:
        known = {"n": n, "m": m, "K": -3}
        assert valued(again, known) == valued(node, known), text(node)
    assert text(tree(text(again))) == text(again)


@settings(max_examples=300)
@given(TREES, st.sampled_from([-3, 0, 2, 2**62]))
def test_a_param_is_put_in_as_a_value(node, param):
    """`n * K ** 2` with K = -3 is n * 9."""
    concrete = substituted(node, {"K": param})
    assert "K" not in names(concrete)
    for n, m in SIZES:
        assert valued(concrete, {"n": n, "m": m}) == valued(node, {"n": n, "m": m, "K": param}), text(node)


def test_params_as_values():
    node = tree("n * K ** 2")
    assert text(substituted(node, {"K": -3})) == "n * 9"
    assert text(substituted(tree("n - K"), {"K": -3})) == "n - -3"
    assert substituted(tree("K // 0 + n"), {"K": 1}) == tree("1 // 0 + n")


@settings(max_examples=12)
@given(TREES)
def test_entry_point_and_python_path(tmp_path_factory, node):
    """The entry point serves just what the Python path serves alike, and hands on what it does not know to be so."""
    parameters = [array("x", "float32", "n"), array("y", "float32", "m"), array("o", "uint8", node, role="out")]
    native = Native(write_kernel(tmp_path_factory.mktemp("k"), "k", parameters, params={"K": -3}))
    python = native.kernel._dispatcher.call
    for n, m in SIZES:
        args, wanted = (f4(n), f4(m)), reference(node, {"n": n, "m": m, "K": -3})
        if wanted is not None and 0 <= wanted < 10_000:
            assert python(*args).shape == (wanted,), text(node)
            if native.serves(*args):
                assert native.entry()(*args).shape == (wanted,), text(node)
        elif wanted is None or wanted < 0:
            assert not native.serves(*args), text(node)
            with pytest.raises(ValueError):
                python(*args)


# Of a `and b` and the like each side decides; what is not chosen may not have a value.
SHAPES = [
    "n << 1", "abs(n - m)", "n if n > m else m", "(n < m) + (n == m) + 1", "not n", "n and m", "n or m", "n >> 1",
    "3 < n <= 5 and m", "n * K ** 2", "n * m // (m - 2) if m > 2 else n", "max(n, m, 3) - min(n, m)", "-n + 9 + K ** 2",
    "(n - m) % 3 + 1", "2 ** 3 + n % (m + 1)", "n + (n != m)", "K + 9", "n // m if m else 0",
]  # fmt: skip
BODY = "for i in grid(2):\n    for j in range(k):\n        out[i, j] = 100 * i + j"
SIGNATURE = "(x: float32[n], y: float32[m], k: int64) -> (out: int64[2, {}])"


def expected(rows):
    return (100 * np.arange(2)[:, None] + np.arange(rows)[None]).astype("int64")


@pytest.mark.skipif(bool(cuda_toolchain.missing()), reason="needs the extra build-cuda")
@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_for_cuda_and_the_interpreter(shape):
    """The second row begins where the first one ends, so a wrong extent puts it in a wrong place."""
    built = loop(SIGNATURE.format(shape), BODY, "params: {K: -3}")
    for n, m in SIZES:
        rows = reference(tree(shape), {"n": n, "m": m, "K": -3})
        if rows is None or rows < 0:
            continue
        args = np.zeros(n, "f4"), np.zeros(m, "f4"), int(rows)
        assert (built.call(*args) == expected(rows)).all(), (n, m)
        assert (built.python(*args) == expected(rows)).all(), (n, m)


@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_for_a_cpu(shape):
    kernel = Kernel(tree_of(BODY, SIGNATURE.format(shape), types="", extra="params: {K: -3}"))
    for n, m in SIZES:
        rows = reference(tree(shape), {"n": n, "m": m, "K": -3})
        if rows is None or rows < 0:
            continue
        out, rows = np.zeros((2, int(rows)), "int64"), int(rows)
        assert kernel({"n": n, "m": m, "k": rows}, 1, x=f4(n), y=f4(m), k=int(rows), out=out) == 0
        assert (out == expected(rows)).all(), (n, m)


@pytest.mark.skipif(bool(cuda_toolchain.missing()), reason="needs the extra build-cuda")
def test_a_declared_grid_has_its_params_as_values():
    signature, body = "(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i]"
    built = loop(signature, body, "params: {TILE: -3}", "launch: {block: 32, grid: n * TILE ** 2}")
    assert cuda_launch.launches(built.meta, {"n": 2})[0].grid == (18, 1, 1)
    assert (built.call(np.ones(5, "f4")) == 1).all()


@pytest.mark.skipif(bool(cuda_toolchain.missing()), reason="needs the extra build-cuda")
@pytest.mark.parametrize("count", ["a + b", "a - b", "a * b", "-a", "(a + b) // 3", "min(a, b)", "(a - b) % 7"])
def test_counts_of_launches_wrap_as_in_the_kernel(count):
    """Where the kernel has iterations there is a launch, and none where it has none."""
    built = loop("(a: int64, b: int64, x: float32[k]) -> (out: float32[k])",
                 f"for i in grid({count}):\n    if i < k:\n        out[i] = x[i]")  # fmt: skip
    for a in (-(2**63), -(2**62), -1, 3, 2**62, 2**63 - 1):
        for b in (-(2**63), -5, 2, 2**63 - 1):
            with np.errstate(over="ignore"):
                wanted = int(eval(count, {"a": np.int64(a), "b": np.int64(b), "min": min}))
            assert bool(cuda_launch.launches(built.meta, {"a": a, "b": b, "k": 1})) == (wanted > 0), (a, b)


def test_what_no_expression_has():
    for value in ({}, None, [], ["n"], ["pow", 1, 2], ["if", 1, 2], "n m", ["+", "n", ["x.y"]]):
        with pytest.raises(ValueError):
            from_data(value)
    for source in ("n // 0", "n % 0", "n * 9223372036854775807 * 2", "-9223372036854775807 - 2 + n", "k"):
        with pytest.raises(ValueError, match="has no value"):
            evaluate(tree(source), {"n": 1})
    assert dimensions.shown(tree("n + m * n"), {"n": 1, "m": 2}) == "n = 1, m = 2"
