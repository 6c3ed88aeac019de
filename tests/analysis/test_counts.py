"""Counts that go up prove stores at what they count; anything less does not."""

import pytest

from pydotcompute.errors import DeclarationError

SIGNATURE = "(x: int32[n], v: T[n], u: uint8[n]) -> (out: T[n], last: int64)"
ACCEPTED = {
    "after it": "if x[i] > 0:\n    k += 1\n    out[k - 1] = v[i]",
    "before it": "if x[i] > 0:\n    out[k] = v[i]\n    k += 1",
    "both": "if x[i] > 0:\n    out[k] = v[i]\n    k += 2\n    out[k - 1] = 1",
    "under a further condition": "if x[i] > 0:\n    k += 1\n    if x[i] < 9:\n        out[k - 1] = v[i]",
    "what is left": "if x[i] < 0:\n    continue\nout[k] = v[i]\nk += 1",
    "backwards": "k += 1\nout[n - k] = v[i]",
    "read where it is written": "k += 1\nout[k - 1] = 1\nout[k - 1] += v[i]",
    "as many as are stored": "c = int64(u[i])\nfor q in range(c):\n    out[k + q] = v[i]\nk += c",
}
REFUSED = {
    "raised elsewhere": "if x[i] > 0:\n    k += 1\nout[k] = v[i]",
    "left before it is raised": "out[k] = v[i]\nif x[i] > 0:\n    continue\nk += 1",
    "raised by nothing": "k += 0\nout[k] = v[i]",
    "raised by what the data say": "k += x[i]\nout[k] = v[i]",
    "raised or not": "k += u[i]\nout[k] = v[i]",
    "more than it is raised by": "out[k] = v[i]\nout[k + 1] = 1\nk += 1",
    "of another factor": "k += 1\nout[k] = v[i]\nout[2 * k] = 1",
    "raised so far that it comes again": "if k >= 0:\n    out[k] = v[i]\nk += 68719476736",
    "a maximum": "k = max(k, int64(x[i]))\nout[k] = v[i]",
    "a rest": "k += 1\nout[k % 7] = v[i]",
    "read where others write": "k += 1\nif k > 1:\n    out[k - 1] = out[k - 2] + v[i]",
}


def body(lines, start="0"):
    return f"k = {start}\nfor i in grid(n):\n" + "\n".join(f"    {line}" for line in lines.split("\n"))


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, check):
    check(SIGNATURE, body(ACCEPTED[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, check):
    with pytest.raises(DeclarationError, match="`out`"):
        check(SIGNATURE, body(REFUSED[name]))


STARTS = {
    "of 32 bits": ("int32(0)", "if x[i] > 0:\n    out[k] = v[i]\n    k += int32(1)"),
    "of 32 bits, after it": ("int32(0)", "if x[i] > 0:\n    k += int32(1)\n    out[int64(k) - 1] = v[i]"),
    "of 32 bits, unless there is no room": ("int32(0)", "if k < n:\n    out[k] = v[i]\nk += int32(1)"),
    "from anywhere": ("last[()]", "if 0 <= k and k < n:\n    out[k] = v[i]\nk += 1"),
    "from anywhere, by what the data say": ("last[()]", "k += int64(u[i]) + 1\nif 0 <= k and k < n:\n    out[k] = v[i]"),
}


@pytest.mark.parametrize("name", STARTS)
def test_accepted_from_other_starts(name, check):
    start, lines = STARTS[name]
    check(SIGNATURE, body(lines, start))


ROUND = {
    "where a condition leaves negative ones out": "if k >= 0:\n    out[k] = v[i]\nk += int32(1)",
    "where nobody stores": "if x[i] > 0:\n    out[k] = v[i]\nk += int32(1)",
    "where some leave": "if x[i] > 0:\n    if x[i] > 1:\n        continue\n    out[k] = v[i]\nk += int32(1)",
    "where negative ones are indices": "out[int64(k) + 2147483648] = v[i]\nk += int32(1)",
    "in great steps": "if k >= 0:\n    out[k] = v[i]\n    k += int32(2147483647)\nelse:\n    out[int64(k) + 2] = v[i]",
}


@pytest.mark.parametrize("name", ROUND)
def test_a_count_of_32_bits_that_comes_round(name, check):
    with pytest.raises(DeclarationError, match="may store different values to the same element of `out`"):
        check(SIGNATURE, body(ROUND[name], "int32(0)"))


def test_a_count_that_comes_half_way_round(check):
    steps = "k = last[()]\nfor i in grid({}):\n    if k >= 0:\n        out[k] = v[i]\n    k += 4611686018427387904"
    check(SIGNATURE, steps.format(2))
    with pytest.raises(DeclarationError, match="may store different values to the same element of `out`"):
        check(SIGNATURE, steps.format(5))


def test_two_counts_of_which_one_wraps(check):
    """Their sum comes again where the one falls as far as the other has risen."""
    two = """
        k = {start}
        q = 0
        for i in grid(2):
            out[int64(k) + q] = v[i]
            k += int32(1073741824)
            q += 3221225472
    """
    check(SIGNATURE, two.format(start="int32(-1073741825)"))
    with pytest.raises(DeclarationError, match="may store different values to the same element of `out`"):
        check(SIGNATURE, two.format(start="x[0]"))


@pytest.mark.parametrize("start", ["int8(0)", "uint32(0)"])
def test_so_small_that_it_wraps(start, check):
    with pytest.raises(DeclarationError, match="`out`"):
        check(SIGNATURE, body("k += 1\nout[int64(k)] = v[i]", start))


def test_how_far_it_goes_proves_the_index(check):
    assert check(SIGNATURE, body(ACCEPTED["after it"])).body[1].body[0].body[1].inside
