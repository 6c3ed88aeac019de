"""`while` loops of which the text alone says how they turn: written out they do the same, to the bit, and look at no index;
others stay as they are."""

from __future__ import annotations

import random

import pytest

from pydotcompute.errors import DeclarationError
from pydotcompute.targets.cpu.written_out import written_out
from tests.targets.built import agree, draw, loop

TARGET = "cpu:x86-64-v3"
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

OUT = {
    "bits of a matrix, turned": ("(a: inout uint32[n, 32], m: int64) -> (out: int64)", """
        for s in grid(n):
            j = 16
            m_ = uint32(0x0000FFFF)
            while j != 0:
                k = 0
                while k < 32:
                    t = (a[s, k] ^ (a[s, k + j] >> j)) & m_
                    a[s, k] ^= t
                    a[s, k + j] ^= (t << j) & 0xFFFFFFFF
                    k = (k + j + 1) & ~j
                j >>= 1
                m_ ^= (m_ << j) & 0xFFFFFFFF
        out[()] = m
    """),
    "a network that sorts": ("(x: inout float32[n, 8], m: int64) -> (out: int64)", """
        for r in grid(n):
            k = 2
            while k <= 8:
                j = k // 2
                while j > 0:
                    for i in range(8):
                        p = i ^ j
                        if p > i:
                            low = min(x[r, i], x[r, p])
                            high = max(x[r, i], x[r, p])
                            x[r, i] = low if i & k == 0 else high
                            x[r, p] = high if i & k == 0 else low
                    j //= 2
                k *= 2
        out[()] = m
    """),
    "what data decide between, and what is left of it": ("(x: float64[n, 9], m: int64) -> (out: float64[n], c: int64[n])", """
        for i in grid(n):
            s = 0.25
            found = 3
            w = int8(100)
            j = 1
            while j < 9:
                if x[i, j] > s:
                    found = j
                    s = x[i, j]
                elif m > 1:
                    w = int8(-2)
                s = s * 0.5 + j
                j = j * 2 if j % 3 != 2 else j + 1
                w += int8(j + 90)
            out[i] = s + found
            c[i] = found * 100 + w + j
    """),
    "numbers of the text, then others": ("(x: float64[n, 9], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            j = 0
            while j < 9:
                t = j
                if x[i, j] > 0.25:
                    t = 100
                s += t
                u = j * 2
                u = u + int64(abs(x[i, j]) * 8)
                s = s * 0.5 + u
                j += 2
            out[i] = s
    """),
    "no turn": ("(x: float64[n], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            k = 5
            while k < 5:
                k += 1
            out[i] = x[i] * k
    """),
}  # fmt: skip

LEFT = {
    "an argument decides": ("(x: float64[n, 9], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            k = m
            while k < 9:
                s = s * 0.5 + x[i, k]
                k += 1
            out[i] = s
    """),
    "data decide": ("(x: float64[n, 9], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            k = 0
            while k < 9:
                s = s * 0.5 + x[i, k]
                k += 1 if s > 0.25 else 2
            out[i] = s
    """),
    "a break": ("(x: float64[n, 9], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            k = 0
            while k < 9:
                s = s * 0.5 + x[i, k]
                if s > 0.5:
                    break
                k += 1
            out[i] = s + k
    """),
    "too many turns of loops in loops, which do nothing else": ("(x: float64[n, 9], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            k = 0
            while k < 900:
                for a in range(90):
                    for b in range(90):
                        m_ = a + b
                k += 900
            out[i] = x[i, 0] + k
    """),
    "too many turns": ("(x: float64[n, 9], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = 0.0
            k = 0
            while k < 2000:
                s = s * 0.5 + x[i, k % 9]
                k += 1
            out[i] = s
    """),
}  # fmt: skip


def _agree(kernel):
    for n in (0, 1, 5, 17):
        for m in (0, 3):
            given = [p for p in kernel.specialisation.parameters if p.role != "out"]
            arrays = [draw(*(n if d == "n" else d for d in p.dims), dtype=p.dtype, seed=3) if p.dims else m for p in given]
            agree(kernel, *arrays)


@pytest.mark.parametrize("name", [*OUT, *LEFT])
def test_the_same_is_done(name):
    kernel = loop(TARGET, *(OUT | LEFT)[name], EXACT)
    changed = written_out(kernel.tree)
    assert (changed.body != kernel.tree.body) == (name in OUT)
    assert name in LEFT or "faults" not in kernel.meta, "an index is looked at"
    _agree(kernel)


def _drawn(number):
    """Control by two integers of some type, and what is done by it."""
    draws = random.Random(number)
    dtype = draws.choice(("int64", "int32", "uint8", "int16"))
    step = lambda: draws.choice((
        "j += 3", "j -= 2", "j *= 2", "j >>= 1", "j ^= k", "k += 1", "k = k + j", "k = (k + j + 1) & 7", "j = min(j, k)", "j = max(j, k) - 1",
        "k = -k", "j = j // 2", "j = j % 5", "k = j if k > 3 else k + 1", "j = ~j & 15", "s = s * 0.5 + j",
        "s += x[i, (j & 7)]", "s -= x[i, int64(k) & 7] * 0.5", "y[i, j & 7] = s", "if s > 0.5:\n            s = s - 1.0\n            t = 4",
        "if j > 2:\n            k += 1\n        else:\n            s = s + 0.25", "for q in range(3):\n            k += j\n            s = s + x[i, q]",
    ))
    lines = [
        "for i in grid(n):", "    s = x[i, 0]", "    t = 1", f"    j = {dtype}({draws.randrange(6)})", f"    k = {dtype}({draws.randrange(6)})",
        "    c = 0", f"    while c < {draws.randrange(1, 9)} and {draws.choice(('j != 7', 'k < 40', '(j >= 0 or k > 1)', 'True'))}:",
    ]
    lines += [f"        {step()}" for _ in range(draws.randrange(2, 7))] + ["        c += 1"]
    return "\n".join([*lines, "    out[i] = s + t + j * 3 + k"]) + "\n"


@pytest.mark.slow
def test_whatever_the_text_says():
    done = 0
    for number in range(24):
        body = _drawn(number)
        try:
            kernel = loop(TARGET, "(x: float64[n, 8], m: int64) -> (out: float64[n], y: float64[n, 8] = 0)", body, EXACT)
        except DeclarationError:
            continue
        done += written_out(kernel.tree).body != kernel.tree.body
        _agree(kernel)
    assert done >= 12
