"""Loops and reductions: where they may not stand, and values that an iteration would carry to the next."""

import pytest

# (where, the text with § before the place of the mistake, message, what to do)
CASES = [
    ("grid", "for t in §x:\n        pass", "`for` cannot run over `x`", "write `for i in range(n):`, and `x[i]` for `t`"),
    ("kernel", "for v in §x:\n    pass", "`for` cannot run over `x`", "write `for i in grid(n):`, and `x[i]` for `v`"),
    ("kernel", "for i in §x:\n    pass", "`for` cannot run over `x`", "write `for k in grid(n):`, and `x[k]` for `i`"),
    ("kernel", "for r in blocks(n):\n    for v in §x:\n        pass", "`for` cannot run over `x`",
     "write `for i in threads(n):`, and `x[i]` for `v`"),
    ("kernel", "for r in blocks(n):\n    for c in threads(n):\n        for v in §x:\n            pass",
     "`for` cannot run over `x`", "write `for i in range(n):`, and `x[i]` for `v`"),
    ("kernel", "for v in §3:\n    pass", "`for` cannot run over `3`", "write `for i in grid(n):`"),
    ("kernel", "for v in §elements(x):\n    pass", "`for` cannot run over `elements(…)`", "write `for i in grid(n):`"),
    ("grid", "for t in §rnage(3):\n        pass", "`for` cannot run over `rnage(…)`", "did you mean `range`?"),
    (
        "grid",
        "for t in §enumerate(x):\n        pass",
        "`enumerate` is not part of the kernel language",
        "write `for i in range(n)`",
    ),
    (
        "grid",
        "for t in §range():\n        pass",
        "`range` takes 1 to 3 arguments, found 0",
        "write `range(start, stop, step)`",
    ),
    ("grid", "for t in range(§x[i]):\n        pass", "`range` takes integers, not float32", "convert it: int64(…)"),
    ("grid", "for t in range(0, 5, §0):\n        pass", "the step of a range is 0", "write a step that is not 0"),
    ("grid", "for §t, w in range(5):\n        pass", "`(t, w)` cannot be the index of a range", "write a name"),
    ("grid", "for §x[i] in range(5):\n        pass", "`x[i]` cannot be the index of a range", "write a name"),
    (
        "grid",
        "§break",
        "`break` out of a parallel loop, `grid` on line 8",
        "its iterations are in no order; skip the rest of one with `continue`",
    ),
    (
        "kernel",
        "s = 0.0\nfor i in grid(n):\n    for t in range(3):\n        pass\n    §break",
        "`break` out of a parallel loop, `grid` on line 9",
        "its iterations are in no order; skip the rest of one with `continue`",
    ),
    ("kernel", "§break", "`break` outside a loop", "leave it out"),
    ("kernel", "§continue", "`continue` outside a loop", "leave it out"),
    (
        "kernel",
        "for i in grid(n):\n    for c in §threads(n):\n        out[c] = 0",
        "`threads` inside `grid`",
        "write `range`, or make the outer loop `blocks`",
    ),
    (
        "kernel",
        "for i in grid(n):\n    for c in §grid(n):\n        out[c] = 0",
        "`grid` inside `grid`",
        "write `range` for the inner loop",
    ),
    (
        "kernel",
        "for i in blocks(n):\n    for c in §grid(n):\n        out[c] = 0",
        "`grid` inside `blocks`",
        "write `threads`",
    ),
    (
        "kernel",
        "for i in blocks(n):\n    for c in §blocks(n):\n        out[c] = 0",
        "`blocks` inside `blocks`",
        "write `threads`",
    ),
    (
        "kernel",
        "for i in §threads(n):\n    out[i] = 0",
        "`threads` outside `blocks`",
        "write `for b in blocks(k):` around it, or use grid",
    ),
    (
        "kernel",
        "for i in blocks(n):\n    for c in threads(n):\n        for d in §threads(n):\n            out[c] = 0",
        "`threads` inside `threads`",
        "write `range` for the inner loop, or `for i, j in threads(m, n)`",
    ),
    (
        "kernel",
        "for i, j in §grid():\n    out[i] = 0",
        "`grid` takes a count for each index, found none",
        "write `grid(n)` or `grid(m, n)`",
    ),
    ("kernel", "for §i, j in grid(n):\n    out[i] = 0", "`grid` has 1 count and 2 targets", "write `for i in grid(n)`"),
    (
        "kernel",
        "for §i in grid(n, n):\n    out[i] = 0",
        "`grid` has 2 counts and 1 target",
        "write `for i, j in grid(n, n)`",
    ),
    (
        "kernel",
        "for i, §i in grid(n, n):\n    out[i] = 0",
        "`i` is already the index of a loop here",
        "choose another name",
    ),
    (
        "kernel",
        "for §i, j, p, q in grid(n, n, n):\n    out[i] = 0",
        "`grid` has 3 counts and 4 targets",
        "write `for i, j, k in grid(n, n, n)`",
    ),
    (
        "kernel",
        "for i in grid((1, n, §0)):\n    out[i] = 0",
        "a step of `grid` is 0",
        "write a step that is not 0",
    ),
    (
        "kernel",
        "for r in blocks(1):\n    for i in threads((1, n, §n - 5)):\n        out[i] = 0",
        "a step of `threads` is known at compile time, and `n - 5` is not",
        "write a number or a param, or count from 0 and multiply: `i = start + t * step`",
    ),
    (
        "kernel",
        "for i in grid(§(1, n, 2, 3)):\n    out[i] = 0",
        "a count of `grid` is a number, or a start and a stop, found a tuple of 4",
        "write `(start, stop)` or `(start, stop, step)`",
    ),
    (
        "kernel",
        "for i in grid((§0.5, n)):\n    out[i] = 0",
        "`grid` takes integers, not a weak float",
        "convert it: int64(…)",
    ),
    (
        "kernel",
        "for §x in grid(n):\n    out[i] = 0",
        "`x` cannot be the index of a loop: it is an array",
        "choose another name",
    ),
    ("kernel", "for §x[0] in grid(n):\n    out[i] = 0", "`x[0]` cannot be the index of a loop", "write a name"),
    (
        "kernel",
        "for §n in grid(n):\n    out[i] = 0",
        "`n` cannot be the index of a loop: it is a dimension",
        "choose another name",
    ),
    ("kernel", "for i in grid(§a):\n    out[i] = 0", "`grid` takes integers, not float32", "convert it: int64(…)"),
    (
        "kernel",
        "for i in grid(n):\n    v = x[i]\nfor j in grid(n):\n    out[j] = §v",
        "`v` belongs to an iteration of the parallel loop of line 8 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
    (
        "kernel",
        "v = 0.0\nfor t in range(3):\n    for i in grid(n):\n        out[i] = §v\n        v = x[i]",
        "`v` carries a value from one iteration of the parallel loop of line 10 to the next",
        "an accumulator appears in its update alone: `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
        "a running total takes a loop over `range`",
    ),
    (
        "blocks",
        "for c in threads(n):\n        v = x[c]\n    out[r] = §v",
        "`v` belongs to an iteration of the parallel loop of line 9 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
    (
        "blocks",
        "for c in threads(n):\n        out[c] = x[c]\n    out[r] = §c",
        "`c` belongs to an iteration of the parallel loop of line 9 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
    (
        "blocks",
        "v = 0.0\n    for t in range(3):\n        out[r] = §v\n        for c in threads(n):\n            v = x[c]",
        "`v` belongs to an iteration of the parallel loop of line 12 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
    (
        "blocks",
        "s = 0.0\n    for c in threads(n):\n        s = §s + x[c]\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "write `s += x[c]`",
    ),
    (
        "blocks",
        "s = 0.0\n    for c in threads(n):\n        s = x[c] - §s\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "an accumulator appears in its update alone: `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
        "a running total takes a loop over `range`",
    ),
    (
        "blocks",
        "s = 0.0\n    for c in threads(n):\n        §s += x[c]\n        out[c] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "an accumulator appears in its update alone: `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
        "a running total takes a loop over `range`",
    ),
    (
        "blocks",
        "s = 1.0\n    for c in threads(n):\n        §s /= x[c]\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "write `s *= 1 / (x[c])`",
    ),
    (
        "blocks",
        "s = 1.0\n    for c in threads(n):\n        §s += x[c]\n        s *= x[c]\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "give each kind of update an accumulator of its own",
    ),
    (
        "blocks",
        "s = 1.0\n    for c in threads(n):\n        for t in range(3):\n            §s += x[t]\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "add up in a name of the iteration's own in the inner loop, and update `s` once after it",
    ),
    (
        "blocks",
        "s = 1.0\n    for c in threads(n):\n        s = max(§s, x[c], 0)\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "an accumulator appears in its update alone: `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
        "a running total takes a loop over `range`",
    ),
    (
        "blocks",
        "s = 1.0\n    for c in threads(n):\n        if §s > 0:\n            s += 1\n    out[r] = s",
        "`s` carries a value from one iteration of the parallel loop of line 10 to the next",
        "an accumulator appears in its update alone: `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
        "a running total takes a loop over `range`",
    ),
    (
        "kernel",
        "s = 0.0\nfor r in blocks(n):\n    s = §s / 2 + x[r]",
        "`s` carries a value from one iteration of the parallel loop of line 9 to the next",
        "an accumulator appears in its update alone: `+= -= *= &= |= ^=`, `s = min(s, e)` or `s = max(s, e)`; "
        "a running total takes a loop over `range`",
    ),
    (
        "kernel",
        "s = 0.0\nfor r in blocks(n):\n    for c in threads(n):\n        §s += x[c]",
        "`s` carries a value from one iteration of the parallel loop of line 9 to the next",
        "add up in a name of the iteration's own in the inner loop, and update `s` once after it",
    ),
    (
        "grid",
        "v = sum(x[c] for c in §threads(n))",
        "a reduction over threads inside `grid`",
        "write `range`, or make the outer loop `blocks`",
    ),
    (
        "grid",
        "v = sum(x[c] for c in §x)",
        "a reduction runs over range, threads, blocks or grid, not `x`",
        "write `for k in range(n)`, and `x[k]` for an element",
    ),
    (
        "grid",
        "v = sum(x[c] for c in range(0, 3, §0))",
        "the step of a range is 0",
        "write a step that is not 0",
    ),
    (
        "grid",
        "v = sum(x[c] for §c, d in range(0, 3))",
        "`range` has 1 index and 2 targets",
        "write a `for` for each: `for i in range(m) for j in range(n)`",
    ),
    (
        "grid",
        "v = argmax(x[c] for c in range(3) if §c > 1 for d in range(3))",
        "`if` before another `for` of `argmax`, whose iterations are counted",
        "write the condition at the end",
    ),
    (
        "blocks",
        "v = sum(x[c] for c in threads(n) for §d in range(n))",
        "a second `for` in a reduction over threads",
        "write the one over `range` as a reduction of its own: `sum(sum(… for k in range(m)) for i in threads(n))`",
    ),
    (
        "blocks",
        "v = sum(max(x[c] for c in §threads(n)) for d in range(n))",
        "a reduction over threads inside a reduction",
        "write `range` for the inner one",
    ),
    ("grid", "v = §sum(x)", "`sum` takes one reduction", "write `sum(x[c] for c in threads(n))`"),
    ("grid", "v = §any(x[i], a)", "`any` takes one reduction", "write `any(x[c] for c in threads(n))`"),
    (
        "grid",
        "out[0] = sum(x[c] for c in §blocks(n))",
        "a reduction over blocks inside `grid`",
        "write `range` for the inner loop",
    ),
    (
        "blocks",
        "v = sum(x[c] for c in threads(n) for §d in threads(n))",
        "a second `for` in a reduction over threads",
        "run over several counts at once: `for i, j in threads(m, n)`",
    ),
    (
        "blocks",
        "v = sum(sum(x[c] for c in §threads(n)) for d in threads(n))",
        "a reduction over threads inside a reduction",
        "write `range` for the inner one",
    ),
    (
        "blocks",
        "v = sum(x[c] for c in threads(n))\n    for c in threads(n):\n        out[c] = sum(x[d] for d in §threads(n))",
        "a reduction over threads inside `threads`",
        "write `range` for the inner loop, or `for i, j in threads(m, n)`",
    ),
    (
        "blocks",
        "v = sum(x[c] for §c, d in threads(n))",
        "`threads` has 1 count and 2 targets",
        "write `for i in threads(n)`",
    ),
    (
        "blocks",
        "v = sum(x[c] for §x in threads(n))",
        "`x` cannot be the index of a loop: it is an array",
        "choose another name",
    ),
    ("blocks", "v = sum(x[c] for §r in threads(n))", "`r` is already the index of a loop here", "choose another name"),
    (
        "kernel",
        "t = §shared(3, T)\nfor i in grid(n):\n    pass",
        "`shared` outside the body of blocks",
        "one per block: write it first in the body of `for b in blocks(k)`; "
        "for one of the call declare it in the signature: `temp (q: T[n])`",
    ),
    (
        "grid",
        "t = §shared(3, T)",
        "`shared` outside the body of blocks",
        "one per block: write it first in the body of `for b in blocks(k)`",
    ),
    ("kernel", "for §i, in grid(n):\n    out[i] = 0", "a tuple of one target", "write `for i in grid(n)`"),
    (
        "blocks",
        "m = 0.0\n    while §m < 3:\n        for c in threads(n):\n            m = x[c]",
        "`m` belongs to an iteration of the parallel loop of line 11 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
    (
        "blocks",
        "m = 0.0\n    while 2 < sum(§m for c in threads(n)):\n        for c in threads(n):\n            m = x[c]",
        "`m` belongs to an iteration of the parallel loop of line 11 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
]


@pytest.mark.parametrize("place, text, message, hint", CASES, ids=[case[1] for case in CASES])
def test_refusal(check_refusal, place, text, message, hint):
    check_refusal(place, text, message, hint)
