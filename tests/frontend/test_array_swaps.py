"""Swapped arrays in the tree: nothing is written twice where it is known how the names stand; what may not be swapped."""

import pytest

TWO = "(x: T[n]) -> (out: T[n]) temp (v: T[n], w: T[n], other: T[n, n], z: T[2, 2])"
FILL = "for i in grid(n):\n    {0}[i] = x[i]\n    {1}[i] = x[i]\n"


def test_outside_of_loops_names_are_known(printed):
    text = printed(FILL.format("v", "w") + "v, w = w, v\nfor i in grid(n):\n    out[i] = v[i] - w[i]", signature=TWO).splitlines()
    assert text[-2:] == ["for i in grid(n):", "    out[i] = (w[i] - v[i])"]
    assert not any("if " in line for line in text)


def test_in_a_loop_what_uses_them_is_written_for_each_way(printed):
    text = printed(
        FILL.format("v", "w") + "for t in range(3):\n    for i in grid(n):\n        v[i] = w[i]\n    v, w = w, v",
        signature=TWO,
    ).splitlines()
    at = next(k for k, line in enumerate(text) if "range" in line)
    assert text[0] == "which_1 = 0"
    assert [line.strip() for line in text[at + 1 : at + 7]] == [
        "if (which_1 == 0):", "for i in grid(n):", "v[i] = w[i]", "else:", "for i in grid(n):", "w[i] = v[i]",
    ]  # fmt: skip
    assert len(text) == at + 8


@pytest.mark.parametrize(
    "swap, message",
    [
        ("x, v = v, x", "`x` is an input: `temp`, `shared` and `local` arrays may be swapped"),
        ("out, v = v, out", "`out` is an output: `temp`, `shared` and `local` arrays may be swapped"),
        ("v, a = a, v", "`a` is swapped with arrays and is none"),
        ("v, other = other, v", "arrays that are swapped have one shape and dtype, and `other` is temp float32[n, n], "
         "not temp float32[n]"),
        ("other, z = z, other", "arrays that are swapped have one shape and dtype, and `z` is temp float32[2, 2], "
         "not temp float32[n, n]"),
        ("for i in grid(n):\n    v, w = w, v", "`v` is swapped inside `grid`, whose iterations share it"),
        ("v, w = w, x", "`v` cannot be assigned: it is an array"),
    ],
)  # fmt: skip
def test_refused(refusal, swap, message):
    error = refusal("a = 1\n" + swap + "\n" + FILL.format("v", "out"), signature=TWO)
    assert error.message == message and error.hint and error.at.line == 8 + swap.startswith("for")


def test_too_many_ways(refusal):
    names = "abcd"
    signature = f"(x: T[n]) -> (out: T[n]) temp ({', '.join(f'{c}: T[n]' for c in names)})"
    body = "for t in range(9):\n    a, b = b, a\n    b, c = c, b\n    c, d = d, c\n" + FILL.format("out", "a")
    assert refusal(body, signature=signature).message == "a, b, c, d are swapped in more than 6 ways"
