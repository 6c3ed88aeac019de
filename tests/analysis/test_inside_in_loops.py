"""Which accesses at locals that loops or conditions set are proved to be inside."""

import pytest
from tests.analysis.test_inside import unproved

LOOP = "for i in grid(n):\n    p = 0\n    {}\n    out[i] = x[p]"


@pytest.mark.parametrize(
    "lines",
    [
        # the index of some turn, or what it was before
        "for j in range(n):\n        if x[j] > x[p]:\n            p = j",
        "for j in range(n):\n        p = j if x[j] > x[p] else p",
        "for j in range(n // 2):\n        for q in range(2):\n            if x[2 * j + q] > x[p]:\n                p = 2 * j + q",
        "for j in range(n - 1, -1, -1):\n        p = max(p, j)",
        "for j in range(n, 2 * n):\n        p = j - n",
        "for j in range(i, n, 3):\n        if y[j] > x[p]:\n            p = i\n        elif y[j] > 9:\n            p = j",
        "for j in range(2, n):\n        for q in range(j):\n            while x[p] > y[q]:\n                p = q",
        # what comes before, in a circle
        "p = n - 1\n    s = 0.0\n    for j in range(n):\n        s += x[p]\n        p = j\n    p = int64(s > 1) * i",
        # counted
        "for j in range(n):\n        if x[j] > 0:\n            out[i] = x[p]\n            p += 1\n    p = i",
        "for j in range(n):\n        if x[j] > 0:\n            p += 1\n    p = max(p - 1, 0)",
        "p = n\n    for j in range(n):\n        p -= 1\n        out[i] = x[p]\n    p = i",
        "for j in range(i):\n        if x[j] > 2:\n            p += 1",
        # as far as is asked
        "while p < n and x[p] > c:\n        p += 1\n    p = p if p < n else i",
        "p = i\n    while p > 0 and x[p - 1] > x[p]:\n        p -= 1",
        "p = i\n    while x[p] > c and 1 <= p:\n        p -= 1",
        "while p + 1 < n:\n        p = p + 1\n        if x[p] > c:\n            break",
        "while n > 3 + p:\n        p += 4\n    p = min(p, n - 1)",
        "while p + 2 < n:\n        p += 2",
        "while i >= 1 + p:\n        p += 1",
        "p = n - 1\n    while p >= 5 and x[p] > 2:\n        p -= 5",
        "p = i\n    while y[p] > 9:\n        if p == 0:\n            break\n        p = 0",
        # chosen by a condition
        "if y[i] > 0:\n        p = n - 1",
        "q = i + 1\n    if q >= n:\n        q = 0\n    p = q",
        "if c > 0 and c < n:\n        p = c",
    ],
)
def test_locals_that_loops_set_are_proved(lines):
    assert unproved(LOOP.format(lines)) == []


@pytest.mark.parametrize(
    "lines, indices",
    [
        # there may have been no turn, or none that set it
        ("p = c\n    for j in range(n):\n        p = j", ["p"]),
        ("p = n\n    for j in range(n):\n        if x[j] > 0:\n            p = j", ["p"]),
        ("p = i - 1\n    for j in range(1, n):\n        p = j", ["p"]),
        ("for j in range(n, i):\n        p = j\n    p = p + n", ["p"]),
        ("for j in range(n, i):\n        p += 1\n    p = p + n", ["p"]),
        ("p = i\n    while p < i - 1:\n        p += 1\n    p = p + 1", ["p"]),
        # what changes meanwhile
        ("q = 0\n    for j in range(n):\n        for e in range(q):\n            p = e\n        q = int64(x[j])", ["p"]),
        ("q = i\n    while p < q:\n        p += 1\n        q = 0\n    out[i] = x[q - p]\n    p = i", ["(q - p)"]),
        ("for j in range(i):\n        for p in range(c):\n            out[i] = 0\n        p += 1", ["p"]),
        ("q = 0\n    for j in range(n):\n        p = q\n        q = int64(x[j])", ["p"]),
        ("for j in range(n):\n        j = j + c\n        p = j", ["p"]),
        ("for j in range(n):\n        for j in range(c):\n            out[i] = 0\n        p = j", ["p"]),
        ("for p in range(n):\n        p += 1", ["p"]),
        ("for j in range(n + 1):\n        p = j", ["p"]),
        ("for j in range(n):\n        for q in range(2):\n            p = 2 * j + q", ["p"]),
        ("for j in range(n):\n        p = int64(x[j])", ["p"]),
        # counted oftener than it seems
        ("for j in range(n):\n        p += 1", ["p"]),
        ("for j in range(n - 1):\n        p += 2", ["p"]),
        ("for j in range(n - 1):\n        p += 1\n        if x[j] > 0:\n            p += 1", ["p"]),
        ("for j in range(n - 1):\n        for q in range(2):\n            p += 1", ["p"]),
        ("for j in range(n - 1):\n        p += 1\n        p -= 2", ["p"]),
        ("for j in range(n - 1):\n        p += c", ["p"]),
        ("for j in range(n - 1, -1, c):\n        out[i] = x[j - p]\n        p += 1\n    p = i", ["(j - p)"]),
        ("q = int32(0)\n    while x[i] > c:\n        q += int32(1)\n    p = min(int64(q), n - 1)", ["p"]),
        ("p = i\n    for j in range(n):\n        if x[j] > 0:\n            p += 1\n        else:\n            p -= 1", ["p"]),
        # one step further than was asked
        ("while p < n:\n        p += 1", ["p"]),
        ("p = i\n    while p > 0:\n        p -= 2", ["p"]),
        ("p = i\n    while p >= 0:\n        p -= 1", ["p"]),
        ("p = i\n    while p > 0:\n        for q in range(2):\n            p -= 1", ["p"]),
        ("while p + 2 < n:\n        p += 3", ["p"]),
        ("p = i\n    while p + 9223372036854775807 < n:\n        p += 9223372036854775807", ["p"]),
        ("p = i\n    while 1 < p - 1:\n        p -= 4", ["p"]),
        ("p = c\n    while p + 1 < n:\n        p += 1\n    p = min(p, n - 1)", ["p"]),
        ("p = i\n    while p > 0 or x[i] > c:\n        p -= 1", ["p"]),
        ("p = i\n    while p > 0:\n        p -= 1\n        p += 2", ["p"]),
        ("q = i\n    p = i\n    while p > q:\n        p -= 1\n        q -= 1", ["p"]),
        # chosen by a condition
        ("if y[i] > 0:\n        p = n", ["p"]),
        ("if c < n:\n        p = c", ["p"]),
        ("if c > 0 and c < n:\n        p = n\n    else:\n        p = c", ["p"]),
    ],
)
def test_locals_that_may_be_outside_are_not_proved(lines, indices):
    assert unproved(LOOP.format(lines)) == indices
