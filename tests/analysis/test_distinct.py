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
    "of 64 bits, as far as there is room": "k = atomic_add(c, 1)\nif 0 <= k and k < n:\n    out[k] = v[i]",
    "of 32 bits, unless there is no room": "k = atomic_add(f, 1)\nif k < n:\n    out[k] = v[i]",
    "in great steps": "k = atomic_add(c, 4611686018427387904)\nout[k] = v[i]",
    "in steps that dimensions bound": "k = atomic_add(c, 40000)\nif k >= 0:\n    out[k] = v[i]",
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
    "of 32 bits, that comes round": "k = atomic_add(f, 1)\nif k >= 0:\n    out[k] = v[i]",
    "that comes round where nobody stores": "k = atomic_add(f, 1)\nif x[i] > 0:\n    out[k] = v[i]",
    "that comes round where some leave": "k = atomic_add(f, 1)\nif x[i] > 0:\n    if x[i] > 1:\n        continue\n"
    "out[k] = v[i]",
    "that comes round at once": "k = atomic_add(f, 2147483647)\natomic_add(f, 2147483647)\natomic_add(f, 2)\n"
    "out[k] = v[i]",
    "of 64 bits, that comes round": "k = atomic_add(c, 4611686018427387904)\nif k >= 0:\n    out[k] = v[i]",
    "that comes round in an inner loop": "for q in range(n):\n    k = atomic_add(c, 40000)\n    if k >= 0:\n"
    "        out[k] = v[i]",
    "that comes round where nobody turns": "k = atomic_add(f, 1)\nfor q in range(x[i]):\n    out[k] = v[i]",
    "that comes round where nobody reads": "k = atomic_add(f, 1)\ny = sum(v[k] for q in range(x[i]))\n"
    "if x[i] > 5:\n    out[k] = y",
    "that several make come round": "k = atomic_add(c, 40000)\natomic_add(c, 40000)\nif k >= 0:\n    out[k] = v[i]",
    "moved to where negative numbers are indices": "k = int64(atomic_add(f, 1))\nout[k + 2147483648] = v[i]",
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


def test_a_longer_count_is_a_way_out_of_a_short_one(check):
    for name, longer in (("of 32 bits, that comes round", True), ("of 64 bits, that comes round", False)):
        with pytest.raises(DeclarationError) as caught:
            check(SIGNATURE, body(REFUSED[name]))
        assert caught.value.hint.startswith("count in int64, which does not come round; or write `scatter(") == longer


def test_a_count_in_a_loop_that_is_too_short_for_it_to_come_round(check):
    check(SIGNATURE, "for i in grid(1000):\n    k = atomic_add(f, 1)\n    if 0 <= k and k < n:\n        out[k] = 1")


def test_a_helper_that_is_left_leaves_nobody_out(check):
    helper = "def half(a):\n    if a > 0:\n        return a / 2\n    return a"
    check(SIGNATURE, body("k = atomic_add(f, 1)\ny = half(v[i])\nout[k] = y"), helpers=helper)


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
