"""Ordinary builds: an index that is not proved to be inside is checked, the access skipped, and nothing goes on for long
after a fault."""

import time

import numpy as np
import pytest
from tests.targets.built import build, loop, marked

ordinary = pytest.mark.parametrize("target", [*map(marked, ("cpu:x86-64-v3", "cuda:compute_80", "opencl:1.2", "hip:gfx90a"))])


def fault(kernel, *args, **given):
    """What a call tells: (array, axis, extent, index, line, line of the call of a helper); None if nothing."""
    try:
        kernel.call(*args, **given)
    except IndexError as error:
        return error.args
    return None


@ordinary
def test_a_gather_by_any_index(target):
    k = loop(target, "(table: T[v, d], index: int64[n]) -> (out: T[n, d])",
             "for i, c in grid(n, d):\n    out[i, c] = table[index[i], c]", "types: {T: [float32]}")  # fmt: skip
    rng = np.random.default_rng(0)
    for d in (1, 3, 40):
        table, index = rng.random((50, d)).astype("f4"), rng.integers(0, 50, 300)
        assert (k.call(table, index) == table[index]).all()
        for wrong in (-1, 50, 10**12, -(2**63), 2**63 - 1):
            index[217] = wrong
            out = np.zeros((300, d), "f4")
            assert fault(k, table, index, out)[:4] == ("table", 0, 50, wrong)
            assert (out[217] == 0).all()  # nothing from outside has come in


@ordinary
def test_stores_and_atomics_outside_are_skipped(target):
    body = "for i in grid(n):\n    atomic_add(count, k[i], 1)\n    scatter(out, k[i], x[i])"
    k = loop(target, "(k: int64[n], x: float32[n], m: int64) -> (out: float32[m] = 0, count: int32[m] = 0)", body)
    where, x = np.array([0, 2, 2, 0, 1]), np.arange(5, dtype="f4")
    out, count = k.call(where, x, 3)
    assert count.tolist() == [2, 1, 2] and out[1] == 4
    for wrong in (3, -1, 2**62):
        where[3] = wrong
        told = fault(k, where, x, 3, out, count := np.zeros(3, "i4"))
        assert told[1:4] == (0, 3, wrong) and (count <= [1, 1, 2]).all()


@ordinary
def test_code_whose_indices_are_all_proved_has_no_checks(target):
    k = loop(target, "(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[n - 1 - i]")
    assert k.meta["unchecked"] == 0 and "sites" not in k.meta
    signature, body = "(x: float32[m], n: int64) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i]"
    trusted = loop(target, signature, body, "unchecked: true")
    assert trusted.meta["unchecked"] == 1 and "sites" not in trusted.meta
    assert fault(loop(target, signature, body), np.ones(4, "f4"), 6) is not None


@ordinary
def test_of_an_access_the_indices_that_are_not_proved_are_looked_at(target):
    body = "for i, c in grid(n, 3):\n    out[i, a[i], c, b[i]] = w[c, a[i], i] + w[c, i % m, b[i]]"
    signature = "(w: float32[3, m, n], a: int64[n], b: int64[n]) -> (out: float32[n, m, 3, n] = 0)"
    k = loop(target, f"{signature}", body)
    rng = np.random.default_rng(0)
    w, a, b = rng.random((3, 5, 40), "f4"), rng.integers(0, 5, 40), rng.integers(0, 40, 40)
    out, i, c = np.zeros((40, 5, 3, 40), "f4"), np.arange(40)[:, None], np.arange(3)
    out[i, a[:, None], c, b[:, None]] = w[c, a[:, None], i] + w[c, i % 5, b[:, None]]
    assert (k.call(w, a, b) == out).all()
    for wrong, extent, axes in ((a, 5, (1,)), (b, 40, (2, 3))):
        right = wrong.copy()
        for outside in (-1, extent, 2**62):
            wrong[31] = outside
            array, axis, *told = fault(k, w, a, b, got := np.zeros_like(out))[:4]
            assert array in ("w", "out") and axis in axes and told == [extent, outside]
            assert (got[31] == 0).all()
        wrong[:] = right


CHAIN = {
    "plain": "while left[k] >= 0:\n        out[k] += 1\n        k = left[k] if x[k] > 0 else right[k]\n    end[i] = k",
    "and": "while k != 7 and left[k] >= 0:\n        k = left[k] if x[k] > 0 else right[k]\n        out[k] += 1\n    end[i] = k",
    "or": "while k == 7 or left[k] >= 0:\n        out[k] += 1\n        k = left[k] if x[k] > 0 else right[k]\n    end[i] = k",
    "in a helper": "end[i] = follow(left, right, x, k)",
}  # fmt: skip
FOLLOW = "def follow(left, right, x, k):\n    while left[k] >= 0:\n        k = left[k] if x[k] > 0 else right[k]\n    return k\n"


@ordinary
@pytest.mark.parametrize("kind", CHAIN)
def test_what_the_condition_of_a_loop_has_looked_at(target, kind):
    """It is inside in the loop's body, which is not reached after a fault, but no longer once the index has changed."""
    signature = "(start: int64[n], left: int64[m], right: int64[m], x: float32[m]) -> (end: int64[n], out: int64[m] = 0)"
    body = f"{FOLLOW}for i in range(n):\n    k = start[i]\n    {CHAIN[kind]}"
    k = loop(target, signature, body)
    left, right = np.array([1, 3, 3, -1, 5, 0]), np.array([2, 0, 1, -1, 0, 2])
    x, start = np.array([1, -1, 1, 0, 1, -1], "f4"), np.array([4, 3, 5])
    right[1] = 3
    assert k.call(start, left, right, x)[0].tolist() == [3, 3, 3]
    for wrong in (-1, 6, 2**62, -(2**62)):
        whole = np.full(18, 9)
        assert fault(k, np.array([3, wrong]), left, right, x, np.zeros(2, "i8"), whole[6:12])[1:4] == (0, 6, wrong)
        assert (np.delete(whole, range(6, 12)) == 9).all()
    right[2] = 99
    x[2], start[2] = -1, 2
    assert fault(k, start, left, right, x)[1:4] == (0, 6, 99)


ENDLESS = [
    "for i in grid(n):\n    k = y[i]\n    while x[k] >= 0:\n        k += 0\n    out[i] = k",
    "k = x[j]\nfor i in grid(k):\n    out[i] = 1",
    "for i in grid(n):\n    for q in range(x[j], 2**62):\n        out[i] = q",
    "for i in grid(n):\n    k = x[j]\n    while k >= 0:\n        k = 0\n    out[i] = k",
    "for b in blocks(n):\n    k = x[j] + 2**62\n    for c in threads(k):\n        if c < 0:\n            out[b] = 1",
    "for i in grid(n):\n    for q in range(2**40):\n        out[i] = x[j] + q",
    "for i in grid(n):\n    for q in range(2**20):\n        for p in range(-2**60, q):\n            out[i] = x[j] + p",
    "k = x[j]\nwhile k >= 0:\n    for i in grid(n):\n        out[i] = 1",
    "for q in range(2**62):\n    for i in grid(n):\n        out[i] = x[j]",
    "for b in blocks(n):\n    out[b] = sum(x[c + j] for c in threads(2**62))",
    "for b in blocks(n):\n    out[b] = max(x[c + j] for c in threads(2**62))",
    # where threads wait for each other in the loop
    "for b in blocks(1):\n    k = y[0]\n    while x[k] >= 0:\n        for c in threads(n):\n            out[c] = k",
    "for b in blocks(1):\n    for q in range(2**62):\n        for c in threads(n):\n            out[c] = x[c + j]",
    "for b in blocks(1):\n    q = 0\n    while q >= 0:\n        for c in threads(n):\n            out[c] = x[c]\n"
    "        if x[j] >= 0:\n            continue\n        q = -1",
    "for b in blocks(1):\n    q = 0\n    while q >= 0:\n        for p in range(2**40):\n"
    "            q += sum(x[(j + p) * c] for c in threads(n))",
]  # fmt: skip


def each(bodies):
    """Every body on every target."""
    kinds = [(target, body) for target in ("cpu:x86-64-v3", "cuda:compute_80", "opencl:1.2") for body in bodies]
    return pytest.mark.parametrize("target, body", [marked(*kind) for kind in kinds])


@pytest.mark.slow
@each(ENDLESS)
def test_nothing_hangs_after_a_fault(target, body):
    k = loop(target, "(x: int64[n], y: int64[n], j: int64) -> (out: int64[n])", body)
    x, y = np.zeros(3, "i8"), np.array([7, 8, 9])
    if target == "opencl:1.2":
        fault(k, x, y, 2**62)  # which compiles it
    start = time.process_time()
    assert fault(k, x, y, 2**62) is not None
    assert time.process_time() - start < 20


LEFT_OUT = [
    # by another thread of the block
    "for b in blocks(1):\n    for c in threads(n):\n        out[c + j] = 7\n"
    "    for c in threads(1):\n        while out[c] != 7:\n            out[c] += 0",
    # by another thread, where the block goes round with barriers
    "for b in blocks(1):\n    for c in threads(n):\n        out[c + j] = 7\n"
    "    while out[0] != 7:\n        for c in threads(n):\n            out[c] += x[c]",
    # by an earlier phase
    "for i in grid(n):\n    out[i + j] = 7\nfor i in grid(1):\n    while out[i] != 7:\n        out[i] += 0",
    # by the chunks of a reduction
    "s = 0\nfor i in grid(n):\n    s += x[i + j]\nwhile s < 7:\n    s += x[0]\nout[0] = s",
]  # fmt: skip


@pytest.mark.slow
@each(LEFT_OUT)
def test_what_others_have_left_out_keeps_nobody_waiting(target, body):
    """The last iteration alone is outside; the loop that does not end is another thread's, or another launch's."""
    k = loop(target, "(x: int64[n], j: int64) -> (out: int64[n] = 0)", body)
    x = np.arange(3) * 7 + 7
    assert fault(k, x, 0) is None
    start = time.process_time()
    assert fault(k, x * 0, 1)[1:4] == (0, 3, 3)
    assert time.process_time() - start < 20


ASKED = [
    "s = total(y, m)\n    if s > 7:\n        out[r] = sum(x[r, c] for c in threads(n))",
    "s = sum(y[j] for j in range(m))\n    if s > 7:\n        out[r] = sum(x[r, c] for c in threads(n))",
    "if total(y, m) > 7:\n        out[r] = sum(x[r, c] for c in threads(n))",
    "for j in range(total(y, m)):\n        out[r] = sum(x[r, c] for c in threads(n))",
    "j = 0\n    while total(y, m) > 7 and j < 3:\n        j += 1\n        out[r] = sum(x[r, c + r] for c in threads(n))",
]  # fmt: skip
HELPER = "def total(y, m):\n    s = int64(0)\n    for j in range(m):\n        s += y[j]\n    return s\n"


@pytest.mark.slow
@each(ASKED)
def test_threads_of_a_block_decide_alike_after_a_fault_of_one(target, body):
    """What a thread works out by loops of its own, which it ends after a fault, decides about what all do together."""
    body = f"{HELPER}for r in blocks(1):\n    for c in threads(n):\n        x[r, c] = y[k[c]]\n    {body}"
    k = loop(target, "(y: int64[m], k: int64[n]) -> (x: int64[1, n], out: int64[1])", body)
    where = np.arange(70)
    assert fault(k, where, where) is None
    where[5] = 99
    assert fault(k, np.arange(70), where)[1:4] == (0, 70, 99)


@ordinary
def test_the_line_of_a_helper_and_of_its_call(target):
    template = """
    def get(a, i):
        return a[i + 1]

    def twice(a, i):
        return get(a, i) + get(a, i)

    def k(x, out):
        for i in grid(n):
            out[i] = x[i]
            out[i] = twice(x, i)
    """
    k = build(target, 'signature: "(x: float32[n]) -> (out: float32[n])"\ntemplate: k.py.j2', template)
    assert fault(k, np.zeros(3, "f4")) == ("x", 0, 3, 3, 2, 10)


@ordinary
@pytest.mark.parametrize("value", ["x[k] ** 0", "imag(x[k])", "u[k] < 300", "300 > u[k]", "u[k] == -1"])
def test_an_element_that_changes_no_result_is_looked_at(target, value):
    k = loop(target, "(x: float32[n], u: uint8[n], k: int64) -> (out: float32[1])", f"out[0] = {value}", "fastmath: []")
    x, u = np.ones(3, "f4"), np.ones(3, "u1")
    assert k.call(x, u, 2) == k.python(x, u, 2)
    assert fault(k, x, u, 3)[2:4] == (3, 3)
    with pytest.raises(IndexError, match="index 3 is outside"):
        k.python(x, u, 3)
