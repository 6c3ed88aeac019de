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


@pytest.mark.parametrize("start", ["int8(0)", "uint32(0)"])
def test_so_small_that_it_wraps(start, check):
    with pytest.raises(DeclarationError, match="`out`"):
        check(SIGNATURE, body("k += 1\nout[int64(k)] = v[i]", start))


def test_how_far_it_goes_proves_the_index(check):
    assert check(SIGNATURE, body(ACCEPTED["after it"])).body[1].body[0].body[1].inside
