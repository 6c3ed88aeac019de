"""`sort`, `median` and `searchsorted`: what they may not be given, and where they may not stand."""

import pytest

# (where, the text with § before the place of the mistake, message, what to do)
CASES = [
    ("grid", "§sort(x)", "`sort` takes 2 arguments, found 1", "write `sort(a, n)`"),
    ("grid", "v = §searchsorted(x, n)", "`searchsorted` takes 3 or 4 arguments, found 2", "write `searchsorted(a, n, v)`"),
    ("grid", "sort(§x, n)", "`x` is an input and cannot be sorted",
     "copy it into an output, `temp` or `local` array, `copy[i] = x[i]`"),
    ("grid", "v = median(§x[i], 3)", "`x[i]` is not an array", "write `median(x, …)` for an array `x` or a row of one"),
    ("grid", "t = local((2, 3), T)\n    v = median(§t, 3)", "`median` takes an array of one dimension, and `t` has 2",
     "give it a row, `t[i]`"),
    ("grid", "v = median(x, §a)", "`median` takes a number of elements, not float32", "convert it: int64(…)"),
    ("grid", "v = searchsorted(x, n, §k)", "`k` is an array, and `searchsorted` takes one, first",
     "write `searchsorted(a, n, v)`"),
    ("grid", "out[i] = 1 + §sort(out, n)", "`sort` stores into arrays and stands in an expression",
     "write `sort(out, n)` alone"),
    ("grid", "out[i] = §sort(out, n)", "`sort` returns no value and stands in an expression",
     "write `sort(out, n)` alone"),
    ("grid", "§median(x, n)", "`median(x, n)` has no effect", "assign its value, or leave it out"),
    ("grid", "§median = 3", "`median` cannot be assigned: it is a word of the kernel language", "choose another name"),
    ("grid", "v = §sorted(x)", "`sorted` is not part of the kernel language",
     "copy the elements into an array of your own, and write `sort(a, n)`"),
]  # fmt: skip


@pytest.mark.parametrize("place, text, message, hint", CASES, ids=[case[1] for case in CASES])
def test_refusal(check_refusal, place, text, message, hint):
    check_refusal(place, text, message, hint)
