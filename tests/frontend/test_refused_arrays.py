"""Arrays of a kernel's own and atomics: where they may not stand, and what they may not be."""

import pytest

# (where, the text with § before the place of the mistake, message, what to do)
CASES = [
    (
        "grid",
        "t = §private(3, T)",
        "`private` outside the body of blocks",
        "write `local(…)`, an array of the iteration's own",
    ),
    (
        "kernel",
        "t = §shared(3, T)",
        "`shared` outside the body of blocks",
        "write `local(…)`, an array of the kernel's own",
    ),
    (
        "kernel",
        "if n > 3:\n    t = §local(3, T)",
        "`local` under `if`, `for` or `while`",
        "write it at the top of the kernel, before them",
    ),
    (
        "template",
        "def g(v):\n    for k in range(3):\n        t = §local(3, T)\n    return v\n\ndef f(a, x, k, u, b, out, count):\n"
        "    out[0] = g(a)\n",
        "`local` under `if`, `for` or `while`",
        "write it at the top of the helper, before them",
    ),
    (
        "kernel",
        "t = §local(3, T)\nfor i in grid(n):\n    pass",
        "`local` outside the body of grid or threads",
        "one per iteration: write it first in the body of `for i in grid(n)` or `threads(n)`; "
        "for one of the call declare it in the signature: `temp (q: T[n])`",
    ),
    (
        "blocks",
        "t = §local(3, T)",
        "`local` outside the body of grid or threads",
        "one per iteration: write it first in the body of `for i in grid(n)` or `threads(n)`",
    ),
    (
        "blocks",
        "if a > 0:\n        t = §shared(3, T)",
        "`shared` under `if`, `for` or `while`",
        "one per block: write it first in the body of `for b in blocks(k)`",
    ),
    (
        "blocks",
        "for j in range(3):\n        t = §shared(3, T)",
        "`shared` under `if`, `for` or `while`",
        "one per block: write it first in the body of `for b in blocks(k)`",
    ),
    (
        "blocks",
        "t = private(§n, T)",
        "the shape of `private` is known at compile time, and `n` is not",
        "write numbers and params, such as TILE + 1, or `shared`",
    ),
    (
        "blocks",
        "t = shared((n, §r), T)",
        "the shape of `shared` follows from dimensions and integer arguments, and `r` does not",
        "write numbers, dimensions, params and arguments, such as n + 1",
    ),
    ("blocks", "t = shared(§0, T)", "a dimension of `shared` is 0", "write a number from 1"),
    ("blocks", "t = shared((3, §2 - 4), T)", "a dimension of `shared` is -2", "write a number from 1"),
    ("blocks", "t = shared(§(), T)", "`shared` has no dimensions", "write a name for a scalar"),
    ("blocks", "t = shared(3, §flaot32)", "`flaot32` is not a dtype", "did you mean `float32`?"),
    ("blocks", "t = shared(3, §x)", "`x` is not a dtype", "write a dtype, float32, or a type variable"),
    ("blocks", "t = shared(3, §3)", "`3` is not a dtype", "write a dtype, float32, or a type variable"),
    ("blocks", "t = §shared(3)", "`shared` takes a shape and a dtype, found 1", "write `shared((32, 33), float32)`"),
    (
        "blocks",
        "t = private(16384, T)\n    w = §private(16385, T)",
        "the private arrays of a block take 131076 bytes with `w`; there are 131072",
        "make them smaller, or write `shared`",
    ),
    ("blocks", "§t = w = shared(8192, T)", "`shared(…)` makes one array", "give it one name: `tile = shared(8192, T)`"),
    ("blocks", "t = 1\n    §t = shared(3, T)", "`t` is an array here and a scalar on line 9", "use two names"),
    ("blocks", "§t[0] = 1\n    t = shared(3, T)", "`t` is read before it is set", "set it before this line: `t = …`"),
    (
        "blocks",
        "for c in threads(n):\n        t = local(3, T)\n        t[0] = 1\n    out[r] = §t[0]",
        "`t` belongs to an iteration of the parallel loop of line 9 and cannot be read after it",
        "reduce it, `s += e`, or store it into an array",
    ),
    ("blocks", "t = shared(3, T)\n    §t = 4", "`t` is a scalar here and an array on line 9", "use two names"),
    (
        "blocks",
        "t = shared(3, T)\n    v = §t + 4",
        "`t` is an array: array arithmetic is not part of the kernel language",
        "write one element, `t[i]`, in a loop",
    ),
    ("grid", "§atomic_add(count, i)", "`atomic_add` takes 3 arguments, found 2", "write `atomic_add(a, i, value)`"),
    ("grid", "atomic_add(§x[i], i, 1)", "`atomic_add` takes an array's name first", "write `atomic_add(a, i, value)`"),
    (
        "grid",
        "atomic_add(§x, i, 1)",
        "`x` is an input and cannot be updated",
        "declare it `inout`, or an output, in the signature: `x: inout …`",
    ),
    ("grid", "atomic_add(count, §(i, i), 1)", "`count` has 1 dimension, found 2 indices", "write `count[i]`"),
    ("grid", "atomic_add(count, §a, 1)", "an index is an integer, not float32", "convert it: int64(…)"),
    (
        "grid",
        "t = local(3, T)\n    atomic_add(§t, 0, 1)",
        "`t` is local: no two iterations meet in it",
        "write `a[i] += value`",
    ),
    ("blocks", "t = shared(3, complex64)\n    for c in threads(n):\n        §atomic_add(t, 0, 1)",
     "`atomic_add` updates integers and floats, not complex64", "update its parts, in two arrays of floats"),
    (
        "kernel",
        "§atomic_add(count, 0, 1)\nfor i in grid(n):\n    pass",
        "`atomic_add` outside a parallel loop",
        "nothing else runs at this time: write `a[i] += value`",
    ),
]


@pytest.mark.parametrize("place, text, message, hint", CASES, ids=[case[1] for case in CASES])
def test_refusal(check_refusal, place, text, message, hint):
    check_refusal(place, text, message, hint)
