"""Which accesses are proved to be inside: what everybody writes is, what data or arguments decide is not."""

import textwrap
import time
from pathlib import Path

import pytest

from pydotcompute import declare
from pydotcompute.analysis import inside, races
from pydotcompute.frontend.build import build_tree
from pydotcompute.ir.printer import expression

from tests.targets.cpu.compiled import tree_of

ROOT = Path(__file__).parents[2]
ARRAYS = "(x: float32[n], y: int64[n], w: float32[n, m], c: int64, k: int32) -> (out: float32[n], b: float32[n, m])"


def unproved(body="", signature=ARRAYS, **settings):
    """The indices of the accesses that are not proved."""
    found = inside.unproved(tree_of(body, signature, types="", **settings))
    return [", ".join(map(expression, node.indices)) for node in found]


@pytest.mark.parametrize(
    "body",
    [
        "for i in grid(n):\n    out[i] = x[n - 1 - i]",
        "for i, j in grid(n, m):\n    b[i, j] = w[i, m - 1 - j]",
        "for i in grid(n):\n    out[i] = x[i - 1] if i > 0 else x[i]",
        "for i in grid(n):\n    if i + 1 < n:\n        out[i] = x[i + 1]",
        "for i in grid(n):\n    j = y[i]\n    if 0 <= j < n:\n        out[i] = x[j]",
        "for i in grid(n):\n    out[i] = x[min(max(y[i], 0), n - 1)]",
        "for i in grid(n):\n    out[i] = x[y[i] % n]",
        "for i in grid(n):\n    j = i // (m + 1) * m\n    if j < n:\n        out[i] = x[j]",
        "for i in grid(n):\n    s = x[i]\n    for j in range(i, n):\n        s += x[j]\n    out[i] = s",
        "for i in grid(n):\n    s = x[i]\n    for j in range(n - 1, -1, -1):\n        s += x[j]\n    out[i] = s",
        "for i in grid(n):\n    j = i\n    while j < n and j >= 0:\n        out[i] = x[j]\n        j += c",
        "for r in blocks(n):\n    t = shared((8,), float32)\n    for j in threads(8):\n        t[j] = j\n"
        "    for j in threads(8):\n        if r == 0 and j < n:\n            out[j] = t[7 - j]",
        "for i in grid(n):\n    if int64(k) * 4 < n and k >= 0:\n        out[i] = x[int64(k) * 4]",
        # truths as numbers
        "for i in grid(n):\n    out[i] = x[i - int64(i > 0)]",
        "for i in grid(n):\n    out[i] = x[i + int64(i + 1 < n)]",
        "for i in grid(n):\n    v = local((2,), float32)\n    v[int64(x[i] > 0)] = 1\n    out[i] = v[1 - int64(not isnan(x[i]))]",
        "for i in grid(n):\n    v = local((2,), float32)\n    v[(y[i] > 7) + 0] = 1\n    out[i] = v[uint8(y[i] > 7 and k > 3)]",
        # functions of integers
        "for i in grid(n):\n    out[i] = x[where(y[i] > 0, i, n - 1)]",
        "for i in grid(n):\n    out[i] = x[abs(i - n // 2)]",
        "for i in grid(n):\n    j = y[i]\n    if -n < j < n and j > -99:\n        out[i] = x[abs(j)]",
        "for i in grid(n):\n    v = local((65,), float32)\n    v[popcount(y[i])] = 1\n    out[i] = v[clz(k)] + v[1 - sign(y[i])]",
    ],
)
def test_proved(body):
    assert unproved(body) == []


@pytest.mark.parametrize(
    "body, indices",
    [
        ("for i in grid(n):\n    out[i] = x[y[i]]", "y[i]"),
        ("for i in grid(n):\n    out[i] = x[i + 1]", "(i + 1)"),
        ("for i in grid(n):\n    out[i] = w[i, 0]", "i, 0"),
        ("for i in grid(n):\n    out[i] = x[c]", "c"),
        ("for i in grid(n):\n    out[i] = x[c] if c < n else 0", "c"),
        ("for i in grid(n):\n    out[i] = x[c] if c >= 0 else 0", "c"),
        # what wraps is not what it seems
        ("for i in grid(n):\n    if c >= 0 and c * 4 < n:\n        out[i] = x[c]", "c"),
        ("for i in grid(n):\n    out[i] = x[int64(int8(i))]", "int64(int8(i))"),
        ("for i in grid(n):\n    if k * 4 < n:\n        out[i] = x[int64(k)]", "int64(k)"),
        ("for i in grid(n):\n    if k >= 0 and k * int32(4) < int32(9) and n > 9:\n        out[i] = x[k]", "int64(k)"),
        # a loop may end before its end: nothing holds after it
        ("for i in grid(n):\n    j = 0\n    while j < i:\n        j += 2\n    out[i] = x[j]", "j"),
        ("for i in grid(n):\n    j = n\n    for q in range(n):\n        j -= 1\n    out[i] = x[j]", "j"),
        # truths as numbers, and functions of integers
        ("for i in grid(n):\n    out[i] = x[i + int64(i < n)]", "(i + int64((i < n)))"),
        ("for i in grid(n):\n    out[i] = x[i - int64(i > c)]", "(i - int64((i > c)))"),
        ("for i in grid(n):\n    v = local((2,), float32)\n    out[i] = v[2 * int64(i > c)]", "(2 * int64((i > c)))"),
        ("for i in grid(n):\n    out[i] = x[where(y[i] > 0, i, n)]", "where((y[i] > 0), i, n)"),
        ("for i in grid(n):\n    out[i] = x[abs(i - n)]", "abs((i - n))"),
        ("for i in grid(n):\n    if c < n:\n        out[i] = x[abs(c)]", "abs(c)"),
        ("for i in grid(n):\n    v = local((64,), float32)\n    out[i] = v[popcount(y[i])]", "popcount(y[i])"),
        ("for i in grid(n):\n    v = local((2,), float32)\n    out[i] = v[1 - sign(y[i])]", "(1 - sign(y[i]))"),
        # each load of an element stands for itself
        ("for i in grid(n):\n    if 0 <= y[i] < n:\n        out[i] = x[y[i]]", "y[i]"),
    ],
)
def test_not_proved(body, indices):
    assert unproved(body) == [indices]


@pytest.mark.parametrize(
    "condition, body, indices",
    [
        ("y[p] >= 0", "out[p] += x[p]", ["p"]),
        ("y[p] >= 0 and x[p] > 0", "out[p] = w[p, m - 1]", ["p", "p", "p, (m - 1)"]),
        ("y[p] + y[p + 1] >= 0", "out[p] = x[p + 1]", ["p", "(p + 1)"]),
        ("w[p, j] >= 0", "b[p, j] = 1", ["p, j"]),
        # nobody has looked
        ("y[p] >= 0", "out[p + 1] = 0", ["p", "(p + 1)"]),
        ("y[p] >= 0", "b[p, j] = 0", ["p", "p, j"]),
        ("c > 0 or y[p] >= 0", "out[p] = 0", ["p", "p"]),
        ("c > 0 and y[p] >= 0", "out[p] = 0", ["p", "p"]),
        ("(y[p] if c > 0 else c) >= 0", "out[p] = 0", ["p", "p"]),
        ("any(y[p] >= 0 for q in range(j))", "out[p] = 0", ["p", "p"]),
        ("y[y[p]] >= 0", "out[y[p]] = 1", ["y[p]", "p", "y[p]"]),
        # the index is another one
        ("y[p] >= 0", "p += 1\n        out[p] = 0", ["p", "p"]),
        ("y[p] >= 0", "for q in range(j):\n            out[p] = 0\n            p += 1", ["p", "p"]),
    ],
)
def test_what_a_condition_has_looked_at(condition, body, indices):
    """It is inside in the loop's body, where code leaves the loop before that after a fault, but not behind it."""
    text = f"for i in range(n):\n    p = k\n    j = c\n    while {condition}:\n        {body}\n        p += c\n    out[p] = 1"
    tree = tree_of(text, ARRAYS.replace("k: int32", "k: int64"), types="")
    found = inside.unproved(inside.marked(tree, leaves=True))
    assert [", ".join(map(expression, node.indices)) for node in found] == [*indices, "p"]


def test_code_that_goes_on_after_a_fault_looks_again():
    assert unproved("for i in range(n):\n    p = c\n    while y[p] >= 0:\n        out[p] += x[p]") == ["p"] * 4


def test_which_indices_are_proved():
    body = "for i in grid(n):\n    for j in range(m):\n        b[i, j] = w[y[i], j] + w[i, y[i]] + w[i, j] + w[i + 1, c]"
    tree = tree_of(body, ARRAYS, types="")
    assert [node.proved for node in inside.unproved(tree)] == [(False, True), (True, False), (False, False)]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_the_last_value_of_a_type_wraps(dtype):
    signature = f"(x: float32[n], k: {dtype}) -> (out: float32[n])"
    above = f"for i in grid(n):\n    j = int64(k + {dtype}(1))\n    if k >= 0 and j <= n:\n        out[i] = x[j - 1]"
    below = f"for i in grid(n):\n    j = int64(k - {dtype}(1))\n    if k <= 0 and -n <= j:\n        out[i] = x[j + n]"
    assert unproved(above, signature) == ["(j - 1)"]
    assert unproved(below, signature) == ["(j + n)"]
    assert unproved(above.replace("k >= 0", "0 <= k < 127"), signature) == []
    if dtype.startswith("int"):
        assert unproved(below.replace("k <= 0", "-128 < k <= 0"), signature) == []


@pytest.mark.parametrize("dtype, least", [("uint8", 0), ("int8", -128)])
def test_every_value_of_a_type_is_reckoned_with(dtype, least):
    def left(index, size):
        body = f"for i in grid(n):\n    t = local(({size},), float32)\n    t[{index}] = 1\n    out[i] = t[0]"
        return unproved(body, f"(x: {dtype}[n]) -> (out: float32[n])")

    assert left(f"int64(x[i]) - {least}", 256) == []
    assert len(left(f"int64(x[i]) - {least}", 255)) == 1
    assert len(left(f"int64(x[i]) - {least + 1}", 256)) == 1


def test_what_a_kernel_requires_counts():
    body = "for i in grid(n):\n    out[i] = x[i] + z[i // 2]"
    signature = "(x: float32[n], z: float32[h]) -> (out: float32[n])"
    assert unproved(body, signature) == ["(i // 2)"]
    assert unproved(body, signature, extra='requires: ["n == 2 * h"]') == []
    assert unproved(body, signature, extra='requires: ["h >= n"]') == []
    assert unproved(body, signature, extra='requires: ["h >= 1"]') == ["(i // 2)"]


def test_a_helper_is_proved_for_all_its_calls_or_none():
    template = """
    def get(a, k):
        return a[k]

    def f(x, out):
        for i in grid(n):
            out[i] = get(x, i){other}
    """
    signature = "(x: float32[n]) -> (out: float32[n])"
    assert unproved(signature=signature, template=template.replace("{other}", "")) == []
    assert unproved(signature=signature, template=template.replace("{other}", " + get(x, i + 1)")) == ["k"]


def test_nearly_all_of_the_repository_s_kernels_are_proved():
    found = {}
    for kernel in declare.load(ROOT).kernels.values():
        chosen = kernel.specialisations[0]
        tree = races.check(build_tree(kernel, chosen, declare.render(kernel, chosen, "cpu", ROOT)))
        if left := inside.unproved(tree):
            found[kernel.name] = len(left)
    assert found == {"gather": 1}


HALVES = "(x: float32[n, m], k: int64) -> (out: float32[n // 2, (m + 1) // 2, n // k])"


def test_dimensions_that_are_quotients():
    """What the arithmetic of dimensions and that of kernels have in common."""
    body = "for i, j, q in grid({}, {}, {}):\n    out[i, j, q] = x[2 * i + 1, 2 * j]"
    assert unproved(body.format("n // 2", "(m + 1) // 2", "n // k"), HALVES) == []
    assert unproved(body.format("n >> 1", "m // 2", "n // k"), HALVES) == []
    for counts in (("(n + 1) // 2", "m // 2", "n // k"), ("n // 2", "m // 2 + 1", "n // k"), ("n // 2", "m // 2", "n // 3")):
        assert "i, j, q" in unproved(body.format(*counts), HALVES)
    rest = "for i, j in grid(n % 4, {}):\n    out[i, j] = x[n - 1 - i, j % 8]"
    assert unproved(rest.format("m"), "(x: float32[n, m]) -> (out: float32[n % 4, m])") == []
    assert unproved(rest.format("m + 1"), "(x: float32[n, m]) -> (out: float32[n % 4, m])") != []


def test_dimensions_that_are_the_lesser_or_the_greater():
    signature = "(x: float32[n], y: float32[m]) -> (out: float32[n]) temp (t: float32[min(n, 4)], u: float32[max(n, m)])"
    body = "for i in grid({}):\n    {}[i] = 1"
    assert unproved(body.format("min(n, 4)", "t"), signature) == []
    assert unproved("if n <= 4:\n" + textwrap.indent(body.format("n", "t"), "    "), signature) == []
    assert unproved(body.format("n", "t"), signature) == unproved(body.format("4", "t"), signature) == ["i"]
    assert unproved(body.format("n", "u"), signature) == unproved(body.format("m", "u"), signature) == []
    assert unproved(body.format("n + 1", "u"), signature) == ["i"]


@pytest.mark.parametrize("statements", [3, 100, 1_500])
def test_an_index_may_follow_from_many_statements(statements):
    chain = "".join(f"    h = (h * 31 + {j}) % 1000003\n" for j in range(statements))
    began = time.process_time()
    assert unproved(f"for i in grid(n):\n    h = i\n{chain}    if h < n:\n        out[i] = x[h]") == []
    assert time.process_time() - began < 10
