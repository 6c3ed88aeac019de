"""What the race rules know of the names and sizes in an index: at each place of the text what holds there, no more."""

import pytest

from pydotcompute.errors import DeclarationError

OWN = "another iteration of `grid` may write the same element"
# x[i] is an iteration's own element; x[0] is not. Each body is followed by `x[j] += 1`.
OWN_ELEMENT = {
    "the same in both branches": "if y[i] > 0:\n    j = i\nelse:\n    j = i + 0",
    "the branch that goes on": "j = 0\nif y[i] > 0:\n    j = i\nelse:\n    continue",
    "the other branch goes on": "j = 0\nif y[i] > 0:\n    continue\nelse:\n    j = i",
    "set anew after the branches": "j = 0\nif y[i] > 0:\n    j = 1\nj = i",
    "a branch that leaves in both of its own": (
        "j = i\nif y[i] > 0:\n    j = 0\n    if y[i] > 1:\n        continue\n    else:\n        continue"
    ),
    "set anew after a loop": "j = 0\nfor k in range(3):\n    j += 1\nj = i",
    "what a condition says of the rest": "j = 0\nif i > 0:\n    continue",
    "what the other branch says of the rest": "j = 0\nif i == 0:\n    pass\nelse:\n    continue",
    "what both of two conditions say": "j = 0\nif i > 1:\n    continue\nif i == 1:\n    continue",
}
SHARED_ELEMENT = {
    "another value in one branch": "j = i\nif y[i] > 0:\n    j = 0",
    "another value where the branch is not taken": "j = 0\nif y[i] > 0:\n    j = i",
    "another value in the other branch": "if y[i] > 0:\n    j = i\nelse:\n    j = 0",
    "the branch that goes on": "j = i\nif y[i] > 0:\n    j = 0\nelse:\n    continue",
    "the other branch goes on": "j = i\nif y[i] > 0:\n    continue\nelse:\n    j = 0",
    "an inner branch": "j = i\nif y[i] > 0:\n    if y[i] > 1:\n        j = 0\n    else:\n        continue",
    "changed in a loop": "j = i\nfor k in range(3):\n    j -= 1",
    "changed in a loop that another one leaves": "j = i\nwhile j > 3:\n    j -= 1\n    if y[j] > 0:\n        break",
    "a condition that holds no longer": "j = 0\nif i > 0:\n    m = 1\nelse:\n    m = 2",
    "a condition on something else": "j = 0\nif i > 1:\n    continue",
    "where True is said": "j = 0\nif True:\n    m = 1\nelse:\n    continue",
    "where False is said": "j = 0\nif False:\n    continue",
    "after what is never left": "j = 0\nwhile True:\n    j = 0\n    if y[i] > 0:\n        break",
    "where not False is said": "j = 0\nif not False and y[i] > 0:\n    m = 1\nelse:\n    continue",
    "the counter of a loop": "j = i\nfor j in range(3):\n    m = j",
}  # fmt: skip


def kernel(body):
    lines = ["    " + line for line in body.split("\n")]
    return "(x: inout T[n], y: T[n])", "\n".join(["for i in grid(n):", *lines, "    x[j] += 1"])


@pytest.mark.parametrize("what", OWN_ELEMENT)
def test_an_own_element(what, check):
    check(*kernel(OWN_ELEMENT[what]))


@pytest.mark.parametrize("what", SHARED_ELEMENT)
def test_an_element_that_others_touch(what, refusal):
    message, line = refusal(*kernel(SHARED_ELEMENT[what]))
    assert OWN in message and line == "x[j] += 1"


@pytest.mark.parametrize(
    "head", ["if True:", "while True:", "if not False:", "if y[i] > 0 or True:", "if False:\n    m = 1\nelse:"]
)
def test_what_is_done_where_a_constant_says_so(head, refusal):
    body = kernel(f"j = 0\n{head}\n    x[j] += 2\n    break" if "while" in head else f"j = 0\n{head}\n    x[j] += 2")[1]
    message, line = refusal(kernel("")[0], body.rpartition("\n")[0])
    assert OWN in message and line == "x[j] += 2"


# An index is inside its array, or the access is none: so `x[i]` and `x[i + extent]` never meet.
EXTENTS = {
    "a number": ("(m: int32) -> (x: T[8])", "i", "8"),
    "a sum": ("(m: int32, y: T[n]) -> (x: T[n + 1])", "i", "n + 1"),
    "a difference": ("(m: int32, y: T[n]) -> (x: T[n - 2])", "i", "n - 2"),
    "a product": ("(m: int32, y: T[n, k]) -> (x: T[n * k])", "i", "n * k"),
    "a square": ("(m: int32, y: T[n]) -> (x: T[n * n])", "i", "n * n"),
    "the second of two": ("(m: int32, x: inout T[2, n])", "0, i", "n"),
    "a flat array": ("(m: int32, x: inout T[...])", "i", "size"),
    "rows": ("(m: int32, x: inout T[..., n])", "i, 0", "rows"),
    "columns": ("(m: int32, x: inout T[..., n])", "0, i", "n"),
}


@pytest.mark.parametrize("what", EXTENTS)
def test_what_is_outside_of_an_array_meets_nothing(what, check):
    signature, index, extent = EXTENTS[what]
    body = f"for i in grid(m):\n    x[{index}] = x[{index.replace('i', f'i + {extent}')}]"
    check(signature, body)
    with pytest.raises(DeclarationError, match=OWN):
        check(signature, body.replace(f"i + {extent}", f"i + ({extent} - 1)"))


# All iterations store `v` to one element: fine if it is one value.
ONE_VALUE = {
    "a number": "v = 2",
    "an argument": "v = k + 1",
    "an element of an argument that nobody writes": "v = x[0] + x[k]",
    "branches by an argument": "v = 1\nif k > 3:\n    v = 2",
    "an expression with a condition": "v = 1 if k > 3 else 2",
    "set anew after a loop": "v = 0\nfor q in range(i):\n    v += 1\nv = k",
}
OTHER_VALUES = {
    "the index": "v = i",
    "an element": "v = x[i]",
    "a minimum": "v = min(i, 4)",
    "a negated condition": "v = not i < 4",
    "set in one branch": "v = 1\nif i > 3:\n    v = 2",
    "set in one branch, by data": "v = 1\nif x[i] > 3:\n    v = 2",
    "set in both branches": "if i > 3:\n    v = 1\nelse:\n    v = 2",
    "set in an inner branch": "v = 1\nif k > 3:\n    if i > 3:\n        v = 2",
    "set after other branches": "v = 1\nif k > 3:\n    m = 1\nelse:\n    m = 2\nif m + i > 3:\n    v = m",
    "an expression with a condition": "v = 1 if i > 3 else 2",
    "an expression whose value is the index": "v = i if k > 3 else 2",
    "more turns for some": "v = 0\nfor q in range(i):\n    v += 1",
    "turns from another start": "v = 0\nfor q in range(i, k):\n    v += 1",
    "turns of another step": "v = 0\nfor q in range(0, k, i + 1):\n    v += 1",
    "a counter": "v = 0\nfor q in range(i, k):\n    v = q",
    "while the index says so": "v = 0\nwhile v < i:\n    v += 2",
    "left at another turn": "v = 0\nfor q in range(k):\n    if q == i:\n        break\n    v += 1",
    "from the turn before": "v = 0\nw = 0\nfor q in range(3):\n    v = w\n    w = i",
}


@pytest.mark.parametrize("what", ONE_VALUE)
def test_one_value_for_an_element_of_all(what, check):
    check(*same_element(ONE_VALUE[what]))


@pytest.mark.parametrize("what", OTHER_VALUES)
def test_different_values_for_an_element_of_all(what, refusal):
    message, line = refusal(*same_element(OTHER_VALUES[what]))
    assert "store different values to the same element of `out`" in message and line == "out[0] = v"


def same_element(body):
    lines = ["    " + line for line in body.split("\n")]
    return "(x: T[n], k: int64) -> (out: T[4] = 0)", "\n".join(["for i in grid(n):", *lines, "    out[0] = v"])


REDUCTIONS = {
    "of what all have": ("v = k\nfor c in threads(4):\n    v += c", True),
    "from the index": ("v = i\nfor c in threads(4):\n    v += c", False),
    "of the index": ("v = k\nfor c in threads(4):\n    v += i", False),
    "of an element": ("v = T(0)\nfor c in threads(4):\n    v += x[i]", False),
    "where the index says so": ("v = k\nfor c in threads(4):\n    if c < i:\n        v += c", False),
    "in one expression": ("v = max(c for c in threads(4) if c < i)", False),
}


@pytest.mark.parametrize("what", REDUCTIONS)
def test_whether_a_reduction_has_one_value_for_all_blocks(what, check):
    body, one = REDUCTIONS[what]
    signature, kernel = same_element(body)
    kernel = kernel.replace("grid", "blocks")
    if one:
        check(signature, kernel)
    else:
        with pytest.raises(DeclarationError, match="store different values to the same element of `out`"):
            check(signature, kernel)


def test_a_pair_that_a_loop_sets_anew(refusal, check):
    helpers = "def pair(j):\n    return j // 2, j\n"
    body = "for i in grid(n):\n    j = i\n    m = i\n    for q in range(3):\n        j, m = pair(j)\n"
    for name in ("j", "m"):
        message, _ = refusal("(x: inout T[n])", f"{body}    x[{name}] += 1", helpers=helpers)
        assert OWN in message
    check("(x: inout T[n])", "for i in grid(n):\n    m = 0\n    j, m = pair(i)\n    x[m] += 1", helpers=helpers)


@pytest.mark.parametrize("count", ["i - 1", "i - 2", "i + 62", "i + 63", "i + 64"])
def test_a_shift_by_the_width_or_by_less_than_nothing_gives_0(count, refusal):
    """Each of these is 0 in some iteration of four."""
    message, _ = refusal("(x: inout T[n])", f"for i in grid(4):\n    x[(i + 1) << ({count})] = x[0]")
    assert OWN in message
