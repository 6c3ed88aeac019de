"""What is told to be written instead of a race: by what the line is after; and what is told is accepted."""

import dataclasses

import pytest

from pydotcompute.analysis import races
from pydotcompute.errors import DeclarationError

OWN = (
    "let each iteration touch only its own elements, write to another array, or use a reduction or an atomic; "
    "what goes from one element to the next takes a loop over `range`"
)
DISJOINT = "declare disjoint: [{}] if no two iterations meet in an element of it"
# name: (signature, body, hint, the body as the hint has it, or the array to declare disjoint)
WAYS = {
    "a histogram": (
        "(k: int64[n], x: T[n], m: int64) -> (out: T[m] = 0)",
        "for i in grid(n):\n    out[k[i]] += x[i]",
        f"write `atomic_add(out, k[i], x[i])`; or {DISJOINT.format('out')}",
        "for i in grid(n):\n    atomic_add(out, k[i], x[i])",
    ),
    "a histogram of two dimensions, written out": (
        "(k: int64[n], x: T[n], m: int64) -> (out: T[m, 3] = 0)",
        "for i in grid(n):\n    out[k[i], 2] = out[k[i], 2] - x[i] / 2",
        f"write `atomic_add(out, (k[i], 2), -(x[i] / 2))`; or {DISJOINT.format('out')}",
        "for i in grid(n):\n    atomic_add(out, (k[i], 2), -(x[i] / 2))",
    ),
    "the largest of each group": (
        "(k: int64[n], x: T[n], m: int64) -> (out: T[m] = 0)",
        "for i in grid(n):\n    out[k[i]] = max(out[k[i]], x[i])",
        f"write `atomic_max(out, k[i], x[i])`; or {DISJOINT.format('out')}",
        "for i in grid(n):\n    atomic_max(out, k[i], x[i])",
    ),
    "groups of truths, which no atomic updates": (
        "(k: int64[n], x: bool[n], m: int64) -> (out: bool[m] = 0)",
        "for i in grid(n):\n    out[k[i]] += x[i]",
        f"{DISJOINT.format('out')}; else {OWN}",
        "out",
    ),
    "all in one number": (
        "(x: T[n]) -> (out: T = 0)",
        "for i in grid(n):\n    out[()] += x[i]",
        "accumulate in a scalar: `s = out[()]` before the loop, `s += x[i]` in it, and `out[()] = s` after it",
        "s = out[()]\nfor i in grid(n):\n    s += x[i]\nout[()] = s",
    ),
    "the least of all in one element": (
        "(x: T[n]) -> (out: T[1] = 0)",
        "for i in grid(n):\n    out[0] = min(out[0], x[i])",
        "accumulate in a scalar: `s = out[0]` before the loop, `s = min(s, x[i])` in it, and `out[0] = s` after it",
        "s = out[0]\nfor i in grid(n):\n    s = min(s, x[i])\nout[0] = s",
    ),
    "a sum of a block's threads": (
        "(x: T[n, m]) -> (out: T[n] = 1)",
        "for b in blocks(n):\n    for c in threads(m):\n        out[b] *= x[b, c]",
        "accumulate in a scalar: `s = out[b]` before the loop, `s *= x[b, c]` in it, and `out[b] = s` after it",
        "for b in blocks(n):\n    s = out[b]\n    for c in threads(m):\n        s *= x[b, c]\n    out[b] = s",
    ),
    "sums of columns": (
        "(a: T[n, m]) -> (y: T[m] = 0)",
        "for i in grid(n):\n    for j in range(m):\n        y[j] += a[i, j]",
        "let the parallel loop run over `j`, and a `range` over `i` inside it; or write `atomic_add(y, j, a[i, j])`",
        "for j in grid(m):\n    for i in range(n):\n        y[j] += a[i, j]",
    ),
    "sums over one of three": (
        "(a: T[n, m, k]) -> (y: T[n, k] = 0)",
        "for i, j, c in grid(n, m, k):\n    y[i, c] += a[i, j, c]",
        "let the parallel loop run over `i`, `c`, and a `range` over `j` inside it; "
        "or write `atomic_add(y, (i, c), a[i, j, c])`",
        "for i, c in grid(n, k):\n    for j in range(m):\n        y[i, c] += a[i, j, c]",
    ),
    "products over columns, which no atomic makes": (
        "(a: T[n, m]) -> (y: T[m] = 1)",
        "for i in grid(n):\n    for j in range(m):\n        y[j] *= a[i, j]",
        "let the parallel loop run over `j`, and a `range` over `i` inside it",
        "for j in grid(m):\n    for i in range(n):\n        y[j] *= a[i, j]",
    ),
    "sums of diagonals": (
        "(a: T[n, m]) -> (y: T[n + m] = 0)",
        "for i, j in grid(n, m):\n    y[i + j] += a[i, j]",
        "write `atomic_add(y, i + j, a[i, j])`",
        "for i, j in grid(n, m):\n    atomic_add(y, i + j, a[i, j])",
    ),
    "rows of a sparse matrix": (
        "(start: int64[k], s: T[n], x: inout T[nnz])",
        "for i in grid(n):\n    for j in range(start[i], start[i + 1]):\n        x[j] *= s[i]",
        f"{DISJOINT.format('x')}; else {OWN}",
        "x",
    ),
    "a step of a bitonic sort": (
        "(x: inout T[n], h: int64)",
        "for i in grid(n):\n    j = i ^ h\n    if j > i:\n        x[i], x[j] = min(x[i], x[j]), max(x[i], x[j])",
        f"{DISJOINT.format('x')}; else {OWN}",
        "x",
    ),
    "butterflies": (
        "(x: inout T[n], h: int64)",
        "for i in grid(n // 2):\n    j = i // h * 2 * h + i % h\n    v = x[j + h]\n    x[j] = v",
        f"{DISJOINT.format('x')}; else {OWN}",
        "x",
    ),
    "scratch that is one for all": (
        "(a: T[n, m]) -> (out: T[n]) temp (t: T[m, 2])",
        "for i in grid(n):\n    for j in range(m):\n        t[j, 0] = a[i, j]\n    out[i] = t[0, 0]",
        "write `t = local((m, 2), T)` in the loop, not `temp`, for an array of each iteration's own; else " + OWN,
        "for i in grid(n):\n    own = local((m, 2), T)\n    for j in range(m):\n        own[j, 0] = a[i, j]\n"
        "    out[i] = own[0, 0]",
    ),
    "scratch of blocks": (
        "(a: T[n, m]) -> (out: T[n]) temp (t: T[m])",
        "for b in blocks(n):\n    for c in threads(m):\n        t[c] = a[b, c]\n    out[b] = t[0]",
        "write `t = shared((m,), T)` in the loop, not `temp`, for an array of each iteration's own; else " + OWN,
        "for b in blocks(n):\n    own = shared((m,), T)\n    for c in threads(m):\n        own[c] = a[b, c]\n"
        "    out[b] = own[0]",
    ),
    "scratch of which each iteration has its element": (
        "(x: T[n]) -> (out: T[n]) temp (t: T[n])",
        "for i in grid(n - 1):\n    t[i] = x[i]\n    out[i] = t[i + 1]", OWN, "",
    ),
    "an array that cannot be declared": (
        "(x: T[n, 64]) -> (out: T[n])",
        "for b in blocks(n):\n    t = shared((64,), T)\n    for c in threads(64):\n        t[c] = t[c ^ 1]", OWN, "",
    ),
    "what is stored to another element": (
        "(k: int64[n], x: inout T[n])",
        "for i in grid(n):\n    x[k[i]] = x[i] + 1", f"{DISJOINT.format('x')}; else {OWN}", "x",
    ),
    "what another line stores": (
        "(k: int64[n], x: inout T[n])",
        "for i in grid(n):\n    x[i] += 1\n    x[k[i]] = 0", f"{DISJOINT.format('x')}; else {OWN}", "x",
    ),
    "a stencil in place": ("(x: inout T[n])", "for i in grid(n - 1):\n    x[i] = x[i + 1]", OWN, ""),
    "an update by another element": ("(x: inout T[n])", "for i in grid(n - 1):\n    x[i] += x[i + 1]", OWN, ""),
    "a quotient, which no accumulator is": (
        "(x: T[n]) -> (out: T = 1)", "for i in grid(n):\n    out[()] = out[()] / x[i]", OWN, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_the_way_out_is_told_and_leads_out(tree, check, name):
    signature, body, hint, mended = WAYS[name]
    types = "{T: [float32]}" if "T" in signature else ""
    refused = tree(signature, body, types=types)
    with pytest.raises(DeclarationError) as caught:
        races.check(refused)
    assert caught.value.hint == hint
    if mended.isidentifier():
        races.check(dataclasses.replace(refused, disjoint=(mended,)))
    elif mended:
        check(signature, mended, types=types)


def test_a_line_that_is_not_whole_is_told_the_general_way(tree):
    with pytest.raises(DeclarationError) as caught:
        races.check(tree("(x: T[n]) -> (out: T = 0)", "for i in grid(n):\n    out[()] += (x[i]\n        + 1)"))
    assert caught.value.hint == OWN


def test_a_line_of_a_helper_whose_names_are_others_is_told_the_general_way(tree):
    helpers = "def add(y, v):\n    y[()] += v\n"
    with pytest.raises(DeclarationError) as caught:
        races.check(tree("(x: T[n]) -> (out: T = 0)", "for i in grid(n):\n    add(out, x[i])", helpers=helpers))
    assert caught.value.hint == OWN
