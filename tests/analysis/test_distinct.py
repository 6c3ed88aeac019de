"""Values that atomics hand out once prove stores at them; anything less does not."""

import pytest

from pydotcompute.errors import DeclarationError

SIGNATURE = "(x: int32[n], v: T[n], b: int32[n]) -> (out: T[n], cell: T[8, n], c: int64, d: int64, f: int32, h: int32[8], s: uint8)"
ACCEPTED = {
    "under a condition": "if x[i] > 0:\n    k = atomic_add(c, 1)\n    out[k] = v[i]",
    "in the index itself": "out[atomic_add(c, 1)] = v[i]",
    "two of each": "k = atomic_add(c, 2)\nout[k] = v[i]\nout[k] = v[i] + 1",
    "by two atomics": "if x[i] > 0:\n    k = int64(atomic_add(f, 1))\n    out[2 * k] = v[i]\nelse:\n"
    "    q = int64(atomic_add(f, 3))\n    out[2 * q] = v[i]",
    "moved by what is the same in all": "k = int64(atomic_add(f, 1))\nout[n - 1 - k] = v[i]",
    "of a bin, in that bin": "q = b[i] % 8\nk = atomic_add(h, q, 1)\ncell[q, k] = v[i]",
    "of one element of several": "k = atomic_add(h, 3, 1)\nout[k] = v[i]",
    "kept for a loop": "k = atomic_add(c, 1)\nfor q in range(3):\n    cell[q, k] = v[i]",
}
REFUSED = {
    "added nothing": "k = atomic_add(c, 0)\nout[k] = v[i]",
    "added what the data say": "k = atomic_add(c, x[i])\nout[k] = v[i]",
    "another one goes down": "k = atomic_add(c, 1)\natomic_add(c, -1)\nout[k] = v[i]",
    "a maximum": "k = atomic_max(c, 1)\nout[k] = v[i]",
    "of a bin, among all": "k = atomic_add(h, b[i] % 8, 1)\nout[k] = v[i]",
    "of two counts": "k = atomic_add(c, 1)\nq = atomic_add(d, 1)\nif x[i] > 0:\n    out[k] = v[i]\nelse:\n    out[q] = v[i]",
    "another factor": "k = int64(atomic_add(f, 1))\nout[k] = v[i]\nout[2 * k] = v[i] + 1",
    "a product that may wrap": "k = atomic_add(c, 1)\nout[2 * k] = v[i]",
    "by the iteration": "k = int64(atomic_add(f, 1))\nout[k + i] = v[i]",
    "a rest": "k = atomic_add(c, 1)\nout[k % 7] = v[i]",
    "so small that it wraps": "k = atomic_add(s, 1)\nout[int64(k)] = v[i]",
    "of an earlier turn": "k = int64(0)\nfor q in range(3):\n    if x[i] > q:\n        k = atomic_add(c, 1)\nout[k] = v[i]",
}


def body(lines):
    return "for i in grid(n):\n" + "\n".join(f"    {line}" for line in lines.split("\n"))


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name, check):
    check(SIGNATURE, body(ACCEPTED[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, check):
    with pytest.raises(DeclarationError, match="may store different values to the same element of `out`"):
        check(SIGNATURE, body(REFUSED[name]))


def test_a_count_of_each_block(check):
    of_block = """
        for r in blocks(n):
            t = shared((1,), int32)
            for one in threads(1):
                t[0] = 0
            for c in threads(8):
                out[atomic_add(t, 0, 1){row}] = v[c]
    """
    check("(v: T[n]) -> (out: T[8, n])", of_block.format(row=", r"))
    with pytest.raises(DeclarationError, match="iterations of `blocks` may store different values"):
        check("(v: T[n]) -> (out: T[n])", of_block.format(row=""))
