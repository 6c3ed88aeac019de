"""Helpers: what they may not be, have or do."""

import pytest

# (the template with § before the place of the mistake, message, what to do)
CASES = [
    (
        "§import math\ndef f(a, x, k, u, b, out, count):\n    pass",
        "`import` is not part of the kernel language",
        "the language's functions need no module",
    ),
    (
        "§Q = 3\ndef f(a, x, k, u, b, out, count):\n    pass",
        "an assignment outside a function",
        "declare a constant in `params:`, or set it in the kernel",
    ),
    (
        "§1 + 1\ndef f(a, x, k, u, b, out, count):\n    pass",
        "a template holds functions: helpers, then the kernel",
        "move it into the kernel",
    ),
    (
        "def f(a, x, k, u, b, out, count):\n    for i in grid(n):\n        pass\n§def g(v):\n    return v",
        "helper `g` stands after the kernel",
        "move it before the kernel",
    ),
    (
        "§def exp(v):\n    return v\n{kernel}        pass",
        "`exp` cannot be the name of a helper: it is a function of the kernel language",
        "choose another name",
    ),
    (
        "§def a(v):\n    return v\n{kernel}        pass",
        "`a` cannot be the name of a helper: the signature has it",
        "choose another name",
    ),
    (
        "def g(v):\n    return v\n§def g(v):\n    return v\n{kernel}        pass",
        "`g` is defined twice, first on line 1",
        "rename one of them",
    ),
    (
        "@§cache\ndef g(v):\n    return v\n{kernel}        pass",
        "a decorator is not part of the kernel language",
        "the declaration says how to build",
    ),
    (
        "def g(v, *§w):\n    return v\n{kernel}        pass",
        "`*w` is not part of the kernel language",
        "name each argument",
    ),
    (
        "def g(v, **§w):\n    return v\n{kernel}        pass",
        "`**w` is not part of the kernel language",
        "name each argument",
    ),
    (
        "def g(v, *, §w):\n    return v\n{kernel}        pass",
        "a keyword-only argument is not part of the kernel language",
        "take the `*` away",
    ),
    (
        "def g(§v, /):\n    return v\n{kernel}        pass",
        "a positional-only argument is not part of the kernel language",
        "take the `/` away",
    ),
    (
        "def g(v=§3):\n    return v\n{kernel}        pass",
        "a default value is not part of the kernel language",
        "give every argument in the call",
    ),
    (
        "def g(v: §float32):\n    return v\n{kernel}        pass",
        "an annotation is not part of the kernel language",
        "types are inferred from each call",
    ),
    (
        "def g(v) -> §float32:\n    return v\n{kernel}        pass",
        "an annotation is not part of the kernel language",
        "types are inferred",
    ),
    (
        "def g(§exp):\n    return 1\n{kernel}        pass",
        "`exp` cannot be an argument: it is a function of the kernel language",
        "choose another name",
    ),
    (
        "§def g(v):\n    if v > 0:\n        return v\n{kernel}        out[i] = g(x[i])",
        "helper `g` can end without a value",
        "end every way through it with `return`",
    ),
    (
        "§def g(v, k):\n    for j in range(k):\n        return v + j\n{kernel}        out[i] = g(x[i], n)",
        "helper `g` can end without a value",
        "end every way through it with `return`",
    ),
    (
        "def g(v):\n    return\n{kernel}        out[i] = §g(x[i])",
        "`g` returns no value and stands in an expression",
        "write `g(x[i])` alone",
    ),
    (
        "def g(v):\n    return\n{kernel}        p, q = §g(x[i])",
        "`g` returns no value",
        "write `g(x[i])` alone",
    ),
    (
        "def g(v):\n    if v > 0:\n        return v\n    §return\n{kernel}        out[i] = g(x[i])",
        "helper `g` returns no value here and 1 on line 3",
        "return as many",
    ),
    (
        "def g(v):\n    return v\n{kernel}        §g(x[i])",
        "`g(x[i])` has no effect",
        "assign its value, or leave it out",
    ),
    (
        "def g(v, k):\n    v[k] = 1\n    return k\n{kernel}        out[i] = 1 + §g(out, i)",
        "`g` stores into arrays and stands in an expression",
        "give its value a name before: `v = g(out, i)`",
    ),
    (
        "def g(v):\n    t = local((2,), T)\n    t[0] = v\n    return t[0]\n{kernel}"
        "        out[i] = sum(§g(x[j]) for j in range(3))",
        "`g` stores into arrays and stands in a reduction over range",
        "write a loop, and add up in it",
    ),
    (
        "def g(v):\n    for i in grid(n):\n        §return\ndef f(a, x, k, u, b, out, count):\n    g(out)",
        "`return` inside `grid`",
        "its iterations are in no order: reduce, or store into an array",
    ),
    (
        "def g(p, q):\n    §p, q = q, p\n{kernel}        t = local((2, 3), T)\n        g(t[0], t[1])",
        "`p` is a part of an array: whole arrays may be swapped",
        "copy the elements in a loop",
    ),
    (
        "def g(v):\n    if v > 0:\n        return v, 1\n    §return v\n{kernel}        out[i] = g(x[i])",
        "helper `g` returns 1 here and 2 on line 3",
        "return as many",
    ),
    (
        "def g(v):\n    if v > 0:\n        return v\n    return §float64(v)\n{kernel}        out[i] = g(x[i])",
        "helper `g` returns float64 here and float32 on line 3",
        "convert one of them, `float32(…)`",
    ),
    (
        "def g(v):\n    return v, v\n{kernel}        out[i] = §g(x[i])",
        "`g` returns 2 values and stands in an expression",
        "write `a, b = g(x[i])`",
    ),
    (
        "def g(v):\n    return v, v\n{kernel}        §p, q, r = g(x[i])",
        "2 values for 3 targets",
        "write as many of both",
    ),
    (
        "def g(v):\n    return §g(v)\n{kernel}        out[i] = g(x[i])",
        "recursion is not part of the kernel language: g calls g",
        "write a loop",
    ),
    (
        "def g(v):\n    return h(v)\ndef h(v):\n    return §g(v)\n{kernel}        out[i] = g(x[i])",
        "recursion is not part of the kernel language: g calls h calls g",
        "write a loop",
    ),
    (
        "def g(v):\n    return v\n{kernel}        out[i] = §f(x[i])",
        "unknown function `f`",
        "the kernel of this name cannot be called in a kernel; write a helper, a `def` before the kernel or the "
        "statements of `body:`",
    ),
    ("def g(v):\n    return v\n{kernel}        out[i] = §g(x[i], 1)", "`g` takes 1 argument, found 2", "write `g(v)`"),
    (
        "def g(v):\n    §v[0] = 1\n    return v[0]\n{kernel}        out[i] = g(x)",
        "`v`, which is `x` here, is an input and cannot be stored into",
        "declare it `inout`, or an output, in the signature: `x: inout …`",
    ),
    (
        "def g(v):\n    return v + §a\n{kernel}        out[i] = g(x[i])",
        "unknown name `a`",
        "a helper sees its arguments: pass it as one",
    ),
    (
        "def g(v):\n    return v + §x[0]\n{kernel}        out[i] = g(x[i])",
        "unknown array `x`",
        "a helper sees its arguments: pass it as one",
    ),
    (
        "def g(v):\n    return §v[0]\n{kernel}        out[i] = g(x[i])",
        "`v` is a scalar and has no elements",
        "write `v`",
    ),
    (
        "def g(v):\n    return sum(v for j in §threads(3))\n{kernel}        out[i] = g(x[i])",
        "a reduction over threads in a helper",
        "move it into the kernel, or write `range`",
    ),
    (
        "def g(v):\n    for j in §threads(3):\n        pass\n    return v\n{kernel}        out[i] = g(x[i])",
        "`threads` in a helper",
        "move it into the kernel, or write `range`",
    ),
    (
        "def g(v):\n    t = §shared(3, T)\n    return v\n{kernel}        out[i] = g(x[i])",
        "`shared` outside the body of blocks",
        "one per block: write it first in the body of `for b in blocks(k)`",
    ),
    (
        "def g(v):\n    atomic_add(§v, 0, 1)\n    return 1\n{kernel}        out[i] = g(x)",
        "`v`, which is `x` here, is an input and cannot be updated",
        "declare it `inout`, or an output, in the signature: `x: inout …`",
    ),
    (
        "def g(v):\n    return v\n{kernel}        §g = 3",
        "`g` cannot be assigned: it is a helper",
        "choose another name",
    ),
    ("def g(v):\n    return v\n{kernel}        out[i] = §g + 3", "`g` is a helper, not a value", "call it: `g(…)`"),
    ("def g(v):\n    return v\n{kernel}        out[i] = §gg(3)", "unknown function `gg`", "did you mean `g`?"),
    (
        "def f(a, x, k, u, b, out, count):\n    for i in grid(n):\n        v = §exp",
        "`exp` is a function of the kernel language, not a value",
        "write `exp(…)`",
    ),
    (
        "def g(v):\n    t = v\n    return t\n{kernel}        out[i] = §t",
        "unknown name `t`",
        "known here: a, b, count, i, k, n, out, u, x",
    ),
    (
        "def g(v):\n    §v.x = 3\n    return v\n{kernel}        out[i] = g(x[i])",
        "`v.x`: an attribute is not part of the kernel language",
        "use the listed functions and the names of the signature",
    ),
    (
        "def g(v):\n    return §v + 1\n{kernel}        out[i] = g(x)",
        "`v` is an array: array arithmetic is not part of the kernel language",
        "write one element, `v[i]`, in a loop",
    ),
    (
        "def g(v):\n    if v > 0:\n        w = 1\n    return §w\n{kernel}        out[i] = g(x[i])",
        "`w` may not be set here: line 3 sets it under a condition, or in a loop that may not run",
        "set it before, on every way that leads here: `w = …`",
    ),
    (
        "def g(v):\n    return v, v\n{kernel}        w, §i = g(x[i])",
        "`i` is the index of a parallel loop and cannot be assigned inside it",
        "use another name in the loop of line 4",
    ),
    ("def g(§v, v):\n    return v\n{kernel}        pass", "`v` is an argument twice", "choose another name"),
    (
        "def g(v):\n    return §v,\n{kernel}        out[i] = g(x[i])",
        "helper `g` returns a tuple of 1",
        "return a scalar, or several: `return a, b`",
    ),
    (
        "def g(v):\n    return v\n{kernel}        p, q = §g(x[i])",
        "`g` returns one value, not a tuple of 2",
        "write `v = g(x[i])`",
    ),
    (
        "def g(v):\n    return v\n{kernel}        p, = §g(x[i])",
        "`g` returns one value, not a tuple of 1",
        "write `v = g(x[i])`",
    ),
]

INLINE = [
    ("def g(v):\n    return §v[0]\nfor i in grid(n):\n    out[i] = g(x[i])", "`v` is a scalar and has no elements"),
    ("def g():\n    return 1\n§def g():\n    return 2\nout[0] = g()", "`g` is defined twice, first on line 8"),
    ("§def f(v):\n    return v\nout[0] = x[0]", "`f` cannot be the name of a helper: the kernel has it"),
    ("def g(v):\n    return h(v)\ndef h(v):\n    return §g(v)\nout[0] = g(1)",
     "recursion is not part of the kernel language: g calls h calls g"),
]  # fmt: skip


@pytest.mark.parametrize("text, message", INLINE, ids=[case[0] for case in INLINE])
def test_refusal_in_an_inline_body(refusal, text, message):
    """At the place in the declaration."""
    before = text[: text.index("§")].split("\n")
    error = refusal(text.replace("§", ""), extra="params: {TILE: 32}")
    assert (error.message, error.at.line, error.at.column) == (message, len(before) + 7, len(before[-1]) + 7)


@pytest.mark.parametrize("text, message, hint", CASES, ids=[case[0] for case in CASES])
def test_refusal(check_refusal, text, message, hint):
    check_refusal("template", text, message, hint)
