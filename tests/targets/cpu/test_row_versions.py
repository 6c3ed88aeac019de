"""Sums of rows: in whichever version of the loop a row's length puts it, its terms are added in one order."""

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, kernel, tree_of

from pydotcompute.backends.cpu.levels import unfit
from pydotcompute.targets.cpu.lowering import lower

LENGTHS = (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025,
           1536, 1537, 2049, 5000)  # fmt: skip
ROWS = 3


def in_order(terms):
    """The order: lanes of 256 bytes, eight passes over them, a tree that folds them, and a binary counter."""
    count = 256 // terms.itemsize
    levels, folded = {}, None
    for number, first in enumerate(range(0, len(terms), 8 * count)):
        if folded is not None:
            level, before = 0, number - 1
            while before >> level & 1:
                folded = levels[level] + folded
                level += 1
            levels[level] = folded
        lanes = np.full(count, -0.0, terms.dtype)
        block = terms[first : first + 8 * count]
        for k in range(0, len(block), count):
            part = block[k : k + count]
            lanes[: len(part)] += part
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        folded = lanes[0]
    if folded is None:
        return terms.dtype.type(0)
    blocks = -(-len(terms) // (8 * count)) - 1
    for level in range(blocks.bit_length()):
        if blocks >> level & 1:
            folded = levels[level] + folded
    return terms.dtype.type(0) + folded


BODIES = {
    "blocks": "for r in blocks(m):\n    s[r] = sum(x[r, c] for c in threads(n))",
    "of its own length": "for r in blocks(m):\n    k = n + r * 0\n    s[r] = sum(x[r, c] for c in threads(k))",
    "grid": "for r in grid(m):\n    s[r] = sum(x[r, c] for c in range(n))",
    "twice": "for r in blocks(m):\n    t = sum(x[r, c] for c in threads(n))\n    s[r] = sum(x[r, c] for c in threads(n))\n"
    "    for c in threads(n):\n        y[r, c] = t",
    "of a function": "for r in blocks(m):\n    s[r] = sum(sqrt(x[r, c]) for c in threads(n))",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", BODIES)
def test_the_order_of_a_rows_terms(form, dtype, level):
    if unfit(level):
        pytest.skip(unfit(level))
    more = f", y: {dtype}[m, n]" if form == "twice" else ""
    signature = f"(x: {dtype}[m, n]) -> (s: {dtype}[m]{more})"
    k = kernel(BODIES[form], signature, types="", target=f"cpu:{level}")
    for n in LENGTHS:
        rng = np.random.default_rng(n)
        x = (rng.normal(size=(ROWS, n)) * 10.0 ** rng.integers(-3, 4, (ROWS, n))).astype(dtype)
        memory = np.full(ROWS * n + 40, np.nan, dtype)
        for offset in (0, 1, 5):
            here = memory[offset : offset + ROWS * n].reshape(ROWS, n)
            here[:] = x * x if form == "of a function" else x
            outputs = {"s": np.full(ROWS + 1, 7, dtype)}
            if more:
                outputs["y"] = np.zeros((ROWS, n), dtype)
            given = {name: value[:ROWS] for name, value in outputs.items()}
            assert k({"m": ROWS, "n": n}, 1, x=here, **given) == 0
            expected = np.array([in_order(np.sqrt(row) if form == "of a function" else row) for row in here])
            assert given["s"].tobytes() == expected.tobytes(), (n, offset)
            assert outputs["s"][ROWS] == 7
            if more:
                np.testing.assert_array_equal(given["y"], np.repeat(expected[:, None], n, 1))


@pytest.mark.slow
@pytest.mark.parametrize("term", ["x[r, c]", "sqrt(x[r, c])"])
def test_rows_of_any_strides(term):
    """Rows whose elements lie apart, which have one version for all lengths; and two arrays, of which one may be dense."""
    body = f"for r in blocks(m):\n    s[r] = sum({term} for c in threads(n))"
    for text, more in ((body, ""), (f"{body} + sum(y[r, c] for c in threads(n))", ", y: strided float32[m, n]")):
        k = kernel(text, f"(x: strided float32[m, n]{more}) -> (s: float32[m])", types="", target="cpu:x86-64-v2")
        for n in LENGTHS:
            x = np.random.default_rng(n).random((ROWS, n)).astype("f4")
            apart = np.zeros((ROWS, 2 * n), "f4")[:, ::2], np.zeros((ROWS, n), "f4")[:, ::-1], np.zeros((n, ROWS), "f4").T
            terms = np.sqrt(x) if "sqrt" in term else x
            sums, y_sums = (np.array([in_order(row) for row in rows]) for rows in (terms, x))
            for here in (x, *apart):
                here[:] = x
                for y in (x, here) if more else (None,):
                    s, given = np.zeros(ROWS, "f4"), {} if y is None else {"y": y}
                    assert k({"m": ROWS, "n": n}, 1, x=here, s=s, **given) == 0
                    assert s.tobytes() == (sums if y is None else sums + y_sums).tobytes(), (n, here.strides)


@pytest.mark.slow
def test_rows_summed_up_in_two_types():
    """Lanes of 4 and of 8 bytes along rows of one length: its versions are those of the first."""
    text = "for r in blocks(m):\n    s[r] = sum(x[r, c] for c in threads(n))\n    d[r] = sum(y[r, c] for c in threads(n))"
    signature = "(x: float32[m, n], y: float64[m, n]) -> (s: float32[m], d: float64[m])"
    for body in (text, "\n".join([text.splitlines()[0], *text.splitlines()[:0:-1]])):
        k = Kernel(tree_of(body, signature, types=""), "cpu:x86-64-v2")
        for n in LENGTHS:
            y = np.random.default_rng(n).normal(size=(ROWS, n))
            x = y.astype("f4")
            s, d = np.zeros(ROWS, "f4"), np.zeros(ROWS)
            assert k({"m": ROWS, "n": n}, 1, x=x, y=y, s=s, d=d) == 0
            assert s.tobytes() == np.array([in_order(row) for row in x]).tobytes()
            assert d.tobytes() == np.array([in_order(row) for row in y]).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("term", ["x[r, c]", "sqrt(x[r, c])"])
def test_rows_of_known_lengths(dtype, term):
    """Each is written in the one form that such a row takes."""
    lengths = [n for n in LENGTHS if 9 <= n <= 2049]
    sums = [f"    s[r, {k}] = sum({term} for c in range({n}))" for k, n in enumerate(lengths)]
    signature = f"(x: {dtype}[m, 2049], n: int64) -> (s: {dtype}[m, {len(lengths)}])"
    body = "\n".join(["for r in range(m):", *sums])
    k = kernel(body, signature, types="", target="cpu:x86-64-v3")
    x = np.random.default_rng(0).random((ROWS, 2049)).astype(dtype)
    s = np.zeros((ROWS, len(lengths)), dtype)
    assert k({"m": ROWS}, 1, x=x, n=0, s=s) == 0
    terms = np.sqrt(x) if "sqrt" in term else x
    for place, n in enumerate(lengths):
        assert s[:, place].tobytes() == np.array([in_order(row[:n]) for row in terms]).tobytes(), n
    known, unknown = (
        len(lower(tree_of(f"for r in grid(m):\n    s[r, 0] = sum({term} for c in range({count}))", signature, types="")).text)
        for count in ("2049", "n")
    )  # fmt: skip
    assert known < unknown / 2
