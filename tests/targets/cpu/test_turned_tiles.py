"""What iterations of a grid read along rows of their own, as columns of tiles: the same bits, and no element more."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest
from tests.targets.built import agree, draw, loop, marked
from tests.targets.cpu.compiled import tree_of

from pydotcompute.targets.cpu.lowering import lower

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit
LEVELS = [marked(f"cpu:x86-64-v{k}") for k in (2, 3, 4)]
SIZES = [(n, m) for n in (0, 1, 4, 7, 8, 9, 13, 24) for m in (1, 3, 4, 7, 8, 9, 19)]

# name: (signature, body, of how many loads there are tiles)
BODIES = {
    "two arrays": ("(x: float64[n, m], y: float64[n, m], w: float64[m]) -> (out: float64[n], more: float64[n])", """
        for i in grid(n):
            a = 0.0
            b = 1.0
            for k in range(m):
                a += x[i, k] * w[k]
                b = b * 0.5 + y[i, k]
            out[i] = a
            more[i] = b
    """, 2),
    "two sizes": ("(x: float32[n, m], y: float64[n, m]) -> (out: float64[n], more: float32[n])", """
        for i in grid(n):
            a = 0.0
            b = float32(0)
            for k in range(m):
                a = 0.5 * a + y[i, k] * x[i, k]
                b += x[i, k]
            out[i] = a
            more[i] = b
    """, 2),
    "whole numbers": ("(x: int32[n, m], y: uint64[n, m]) -> (out: float64[n], more: uint64[n])", """
        for i in grid(n):
            a = 0.0
            b = uint64(1)
            for k in range(m):
                a = 0.5 * a + x[i, k]
                b = b * 3 + y[i, k]
            out[i] = a
            more[i] = b
    """, 2),
    "shifted rows": ("(x: float32[a, b]) -> (out: float32[a - 2])", """
        for i in grid(a - 2):
            s = 0.0
            for k in range(b - 3):
                s = 0.5 * s + x[i + 2, k + 3] - x[1 + i, 1 + k]
            out[i] = s
    """, 2),
    "diagonals": ("(x: float32[n, q]) -> (out: float32[n])", """
        for i in grid(n):
            a = 0.0
            for k in range(q - n):
                a = 0.5 * a + x[i, i + k]
            out[i] = a
    """, 1),
    "rows of planes": ("(x: float64[3, n, m], y: float64[n, 3, m]) -> (out: float64[3, n])", """
        for p, i in grid(3, n):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + x[p, i, k] * y[i, p, k]
            out[p, i] = a
    """, 2),
    "a nest": ("(x: float32[n, m], y: float32[2, m]) -> (out: float32[n])", """
        for i in grid(n):
            best = float32(inf)
            for c in range(2):
                a = 0.0
                for k in range(m):
                    a += (x[i, k] - y[c, k]) ** 2
                best = min(a, best)
            out[i] = best
    """, 1),
    "conditions": ("(x: float64[n, m], w: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            last = 0.0
            for k in range(m):
                if x[i, k] > 0.25 and w[k] > 0:
                    a = 0.5 * a + w[k]
                    last = x[i, k]
                a += x[i, k] if last > 0.5 else w[k]
            out[i] = a + last
    """, 1),
    "at some turns": ("(x: float64[n, m], w: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + (x[i, k] if w[k] > 0 else 0)
            out[i] = a
    """, 0),
    "at some turns, by a condition": ("(x: float64[n, m], w: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + w[k]
                if w[k] < 0.5 and x[i, k] > 0:
                    a += 1
            out[i] = a
    """, 0),
    "in one branch": ("(x: float64[n, m], w: float64[m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + w[k]
                if w[k] < 0.5:
                    a += x[i, k]
            out[i] = a
    """, 0),
    "neighbours that may lie apart": ("(x: strided float64[n, m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + x[i, k]
            out[i] = a
    """, 0),
    "what the last turn leaves": ("(x: float64[n, m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            last = 0.0
            for k in range(m):
                last = x[i, k] * 2
                a = 0.5 * a + last
            out[i] = a + last
    """, 1),
    "by steps of two rows": ("(x: float64[p, m]) -> (out: float64[p // 2])", """
        for i in grid(p // 2):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + x[2 * i, k]
            out[i] = a
    """, 0),
    "rows that data choose": ("(x: float64[n, m], at: int64[n]) -> (out: float64[n])", """
        for i in grid(n):
            r = min(max(at[i], 0), n - 1)
            a = 0.0
            for k in range(m):
                a = 0.5 * a + x[r, k]
            out[i] = a
    """, 0),
    "a row that turns change": ("(x: float64[q, m]) -> (out: float64[q - m])", """
        for i in grid(q - m):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + x[i + k, k]
            out[i] = a
    """, 0),
    "backwards": ("(x: float64[n, m]) -> (out: float64[n])", """
        for i in grid(n):
            a = 0.0
            for k in range(m):
                a = 0.5 * a + x[i, m - 1 - k]
            out[i] = a
    """, 0),
    "columns": ("(x: float64[n, m]) -> (out: float64[m])", """
        for i in grid(m):
            a = 0.0
            for k in range(n):
                a = 0.5 * a + x[k, i]
            out[i] = a
    """, 0),
    "in place": ("(x: inout float64[n, m]) -> ()", """
        for i in grid(n):
            a = 0.0
            for k in range(m):
                x[i, k] = a
                a = 0.5 * a + x[i, k] + k
    """, 0),
}  # fmt: skip


def given(kernel, n, m):
    extents = {"n": n, "m": m, "a": n + 2, "b": m + 3, "q": n + m, "p": 2 * n, "3": 3, "2": 2}
    for k, p in enumerate(kernel.specialisation.parameters):
        if p.role != "out":
            yield draw(*(extents[str(d)] for d in p.dims), dtype=p.dtype, seed=k)


@pytest.mark.parametrize("target", LEVELS)
@pytest.mark.parametrize("name", BODIES)
def test_tiles_are_what_is_loaded(name, target):
    kernel = loop(target, *BODIES[name][:2], EXACT)
    for n, m in SIZES:
        agree(kernel, *given(kernel, n, m))


@pytest.mark.parametrize("name", BODIES)
def test_tiles_are_of_rows_alone(name):
    """Which neighbours in the grid read at each turn in any case, as far from each other as others."""
    signature, body, tiles = BODIES[name]
    made = lower(tree_of(body, signature, types="")).text.count("columns(")
    # of eight and of four rows, and of sixteen where one float32 goes on; twice that where rows may be turned whole
    assert made in [number * tiles for number in (2, 3, 4, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_a_loop_inside_reads_again_and_again(dtype):
    """Short ones are turned once, and long ones piece by piece each time."""
    kernel = loop("cpu:x86-64-v3", "(x: T[n, m], y: T[q, m]) -> (out: T[n], count: int64[n])".replace("T[", f"{dtype}["), """
        for i in grid(n):
            best = x[i, 0]
            hits = 0
            for j in range(q):
                s = x[i, 0]
                for k in range(m):
                    s = s * 0.5 + (x[i, k] - y[j, k])
                if s > 0:
                    hits += 1
                best = max(best, s)
            out[i] = best
            count[i] = hits
    """, EXACT)  # fmt: skip
    changed = loop("cpu:x86-64-v3", "(x: inout T[n, m], q: int64) -> (out: T[n])".replace("T[", f"{dtype}["), """
        for i in grid(n):
            last = x[i, 0]
            for j in range(q):
                s = x[i, 0]
                for k in range(m):
                    s = s * 0.5 + x[i, k]
                x[i, j % m] = s
                last = s - last
            out[i] = last
    """, EXACT)  # fmt: skip
    agree(changed, draw(19, 7, dtype=dtype), 5)
    for m in (1, 3, 4, 9, 127, 128, 129, 150):
        for n, q in ((1, 3), (4, 0), (8, 1), (23, 2), (33, 3)):
            agree(kernel, *(draw(rows, m, dtype=dtype, seed=rows) for rows in (n, q)))


@pytest.mark.parametrize("rows", [4, 8])
@pytest.mark.parametrize("turns", [4, 8, 12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_of_threads(dtype, turns, rows):
    """Which a kernel fills itself, here with rows that are longer than they need be."""
    body = f"""
        for b, c in blocks(n // {rows}, m // {turns}):
            tile = shared(({turns}, 9), T)
            for lane, turn in threads({rows}, {turns}):
                i = {rows} * b + lane
                tile[turn, lane] = x[i, turn + {turns} * c]
            for turn, lane in threads({turns}, {rows}):
                out[{turns} * c + turn, {rows} * b + lane] = tile[turn, lane]
    """.replace("T)", f"{dtype})")
    signature = f"(x: {dtype}[n, m]) -> (out: {dtype}[m, n] = 0)"
    assert "columns(" in lower(tree_of(body, signature, types="")).text
    kernel = loop(TARGET, signature, body)
    for n, m in ((8, 24), (24, 48), (9, 26)):
        agree(kernel, draw(n, m, dtype=dtype))


def fenced(x, at_end):
    """A copy that ends where a page does, or begins so, between pages that nobody may touch."""
    page, libc = mmap.PAGESIZE, ctypes.CDLL(None)
    size = -(-x.nbytes // page) * page
    memory = mmap.mmap(-1, size + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for place in (address, address + page + size):
        assert libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(page), 0) == 0
    copy = np.frombuffer(memory, x.dtype, x.size, page + (size - x.nbytes if at_end else 0)).reshape(x.shape)
    copy[...] = x
    return copy


@pytest.mark.parametrize("name", ["two sizes", "shifted rows", "diagonals", "rows of planes"])
def test_nothing_beside_the_rows_is_read(name):
    kernel = loop(TARGET, *BODIES[name][:2], EXACT)
    for n, m in ((8, 4), (4, 8), (13, 9), (16, 21)):
        inputs = [*given(kernel, n, m)]
        wanted = kernel.call(*inputs)
        for at_end in (True, False):
            got = kernel.call(*(fenced(x, at_end) for x in inputs))
            for a, b in zip(np.atleast_2d(got), np.atleast_2d(wanted), strict=True):
                np.testing.assert_array_equal(a, b)
