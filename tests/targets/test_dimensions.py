"""`len`, and the dimensions, params and type variables that helpers see, for every target."""

import numpy as np
import pytest
from pydotcompute.ir.tree import Load, walk
from tests.targets.built import agree, build, draw, every_target, loop, marked


@pytest.mark.slow
@every_target
def test_len(target):
    """Of arguments, outputs, scratch, arrays of an iteration and rows; weak: float32 stays float32."""
    body = """
        for i in grid(len(x)):
            own = local((7,), int32)
            w = (1, 2, 3)
            for k in range(len(own)):
                own[k] = k
            out[i] = x[i, 0] / len(x) + own[len(own) - 1] + len(x[i]) * 1000 + len(q) + len(w) + 10 * len(more)
        for i in grid((1, len(more))):
            more[i] = len(row) * i
        more[0] = len(more)
    """
    signature = "(x: float32[n, m], row: int32[c]) -> (out: float32[n], more: float32[2 * n + 1]) temp (q: int8[n - 1])"
    built = loop(target, signature, body)
    x = draw(5, 3)
    got, more = agree(built, x, np.zeros(4, "i4"))
    wanted = x[:, 0] / np.float32(5) + 6 + 3000 + 4 + 3 + 110
    assert got.dtype == np.float32 and np.allclose(got, wanted, rtol=1e-6)
    assert more.tolist() == [11, *(4 * i for i in range(1, 11))]


@pytest.mark.slow
@every_target
def test_helpers_see_dimensions(target):
    """Through one another, and where a parameter or a local hides one."""
    template = """
        def last(x):
            return x[n - 1] + len(x)

        def hidden(n, x):
            m = n + 1
            return last(x) * m + T(SCALE)

        def folded(i, x):
            if i >= n // 2:
                return hidden(i, x)
            return T(m)

        def k(x, y, out):
            for i in grid(n):
                out[i] = folded(i, x) + y[i % m]
    """
    text = """
        signature: "(x: T[n], y: T[m]) -> (out: T[n])"
        types: {T: [float32]}
        params: {SCALE: 3}
        fastmath: []
        template: k.py.j2
    """
    built = build(target, text, template)
    x, y = np.arange(9, dtype="f4"), np.array([0.5, 0.25], "f4")
    i = np.arange(9)
    wanted = np.where(i >= 4, 17 * (i + 1) + 3, 2) + y[i % 2]
    assert (agree(built, x, y) == wanted).all()


@pytest.mark.slow
@every_target
def test_helpers_of_an_inline_body(target):
    """Before its statements, seeing the dimensions, calling one another."""
    body = '''
        def wrapped(i):
            """The index on a ring."""
            return i % n

        def around(x, i):
            return x[wrapped(i + 1)] + x[wrapped(i + n - 1)]

        for i in grid(n):
            out[i] = around(x, i)
    '''
    built = loop(target, "(x: float32[n]) -> (out: float32[n])", body)
    x = draw(20)
    assert (agree(built, x) == np.roll(x, 1) + np.roll(x, -1)).all()


@pytest.mark.slow
@every_target
def test_computed_dimensions_of_inputs(target):
    """Over symbols that other arguments bind, before and after, and over params; their ends are inside, unchecked."""
    body = """
        for i in grid(n):
            out[i] = sum(v[k] * w[k % TILE] for k in range(row[i], row[i + 1])) + row[n] * b[i]
        for k in grid(m):
            col[k, 2 * n - 1] = k
    """
    signature = "(row: int64[n + 1], v: T[m], w: T[TILE], col: inout strided T[m, 2 * n], b: T[n]) -> (out: T[n])"
    more = ("types: {T: [float32]}", "params: {TILE: 3}", "fastmath: []")
    built = loop(target, signature, body, *more)
    row, v, w, b = np.array([0, 2, 2, 7]), draw(7), draw(3), np.ones(3, "f4")
    col = np.zeros((7, 12), "f4")[:, ::2]
    out = agree(built, row, v, w, col, b)
    assert np.allclose(out[1:], [7, (v[2:] * w[np.arange(2, 7) % 3]).sum() + 7], rtol=1e-5)
    built.call(row, v, w, col, b)
    assert col[:, 5].tolist() == list(range(7)) and not col[:, :5].any()
    for wrong, words in ((row[:3], "'row' must have n \\+ 1 = 4"), (row[:0], "'row' must have n \\+ 1 = 4")):
        with pytest.raises(ValueError, match=words):
            built.call(wrong, v, w, col, b)
    with pytest.raises(ValueError, match="'w' must have TILE = 3 elements in dimension 0"):
        built.call(row, v, v, col, b)


@pytest.mark.slow
@every_target
@pytest.mark.parametrize("choice", [0, 1])
def test_dimensions_that_are_truths(target, choice):
    """Of params and conditions: 0 or 1, in arguments, outputs and scratch."""
    body = """
        for i in grid(n):
            out[i] = x[i]
        if PAD:
            q[0] = n
            out[n] = x[0] + q[0]
            first[0, 0] = 5
            first[1, 0] = len(out)
    """
    signature = (
        "(x: float32[n], y: float32[PAD]) -> (out: float32[n + PAD], first: float32[2 * PAD, 1 < 2]) "
        "temp (q: float32[not not PAD])"
    )
    built = loop(target, signature, body, "params: {PAD: [true, false]}", choice=choice)
    x, pad = draw(3), 1 - choice
    out, first = agree(built, x, np.zeros(pad, "f4"))
    assert out.tolist() == [*x, *([x[0] + 3] if pad else [])]
    assert first.tolist() == ([[5], [4]] if pad else [])


@pytest.mark.slow
@every_target
def test_conditions_on_scalars(target):
    """Of the kernel's own values; and an index that they prove to be inside is not checked."""
    body = """
        for i in grid(n):
            out[i] = min(max(x[k], low), high) if flag else x[i]
    """
    signature = "(x: T[n], low: T, high: T, k: int32 = 0, flag: bool = True) -> (out: T[n])"
    requires = 'requires: ["low < high", "0 <= k < n", "flag or k == 0"]'
    for choice in range(2):
        built = loop(target, signature, body, "types: {T: [float32, int64]}", requires, choice=choice)
        x = draw(5, dtype=("f4", "i8")[choice])
        agree(built, x, 1, 2, 3)
        agree(built, x, 1, 2, 0, False)
        assert not any(node.array == "x" and not node.inside for node in accesses(built))
        broken = {"low < high": (x, 2, 2, 3), "0 <= k and k < n": (x, 1, 2, 5), "flag or k == 0": (x, 1, 2, 1, False)}
        if choice == 0:
            broken["low < high"] = (x, 0.1, np.float32(0.1))
        for said, args in broken.items():
            for call in built.call, built.python:
                with pytest.raises(ValueError, match=f"^k: requires {said}, got "):
                    call(*args)


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked("cpu:x86-64-v3")])
def test_a_truth_is_a_condition_itself(target):
    body, requires = "for i in grid(n):\n    out[i] = x[i]", 'requires: ["flag", "not (flag and n > 3)"]'
    built = loop(target, "(x: float32[n], flag: bool) -> (out: float32[n])", body, requires)
    assert (agree(built, draw(3), True) == draw(3)).all()
    for call in built.call, built.python:
        for n, flag, said in ((3, False, "flag, got flag = F"), (4, np.True_, "not .flag and n > 3., got flag = T")):
            with pytest.raises(ValueError, match=f"^k: requires {said}"):
                call(draw(n), flag)


def accesses(built):
    return [node for s in built.tree.body for node in walk(s) if isinstance(node, Load)]


@pytest.mark.slow
@every_target
def test_constants_give_way_to_names_of_the_kernel(target):
    """To arguments, arrays, dimensions and locals; a helper, which sees no argument, has the constant."""
    body = """
        def scaled(v):
            return v * e

        for i in grid(pi):
            inf = nan[i] + e
            out[i] = scaled(inf) - pi
    """
    built = loop(target, "(nan: float32[pi], e: float32) -> (out: float32[pi])", body, "fastmath: []")
    x = draw(7)
    got = agree(built, x, 2.0)
    assert (got == (x + np.float32(2)) * np.float32(np.e) - np.float32(7)).all()
