"""Iterations that go round a loop of their own until they are done, several together as lanes: the bits are those of one
after the other, whoever is done first; and loops of which there are no vectors stay as they are."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pydotcompute.ir.from_zero import from_zero
from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lanes import in_lanes
from pydotcompute.targets.cpu.lowering import lower
from pydotcompute.targets.cpu.while_lanes import LANES
from tests.targets.built import agree, draw, loop, marked

TARGET = "cpu:x86-64-v3"
COUNTS = (0, 1, 3, 4, 7, 8, 9, 12, 16, 20, 29, 41)  # fewer than lanes, half of them, as many, and some more
EXACT = "fastmath: []"  # what the interpreter computes, to the bit

TOGETHER = {
    "a count that is read afterwards": ("(x: float64[n], m: int64) -> (out: float64[n], last: int64[n])", """
        for i in grid(n):
            s = x[i]
            k = -1
            for k in range(m + 4):
                s = s * 0.5 + 0.3
                if s > 0.5:
                    break
            out[i] = s
            last[i] = k
    """),
    "how far a series goes": ("(x: float64[n], y: float64[n]) -> (out: float64[n], turns: int64[n])", """
        for i in grid(n):
            s = x[i]
            k = 0
            while k < 30 and s * s <= 4.0:
                s = s * s - y[i]
                k += 1
            out[i] = s
            turns[i] = k
    """),
    "of two indices": ("(x: float32[3, n], y: float32[n]) -> (out: int32[3, n])", """
        for h, i in grid(3, n):
            a = float32(0)
            b = float32(0)
            k = int32(0)
            while a * a + b * b < 4 and k < 40:
                a, b = a * a - b * b + x[h, i], 2 * a * b + y[i]
                k += 1
            out[h, i] = k
    """),
    "a choice of the kernel's own": ("(x: float64[n]) -> (out: float64[n])", """
        for i in grid(n):
            s = x[i]
            t = 0.0
            while t < 4.0:
                s = where(t > 2.0, s * 0.5, s)
                t = t + abs(s) + 0.1
            out[i] = t
    """),
    "a for loop that is left": ("(x: float64[n], y: float64[n]) -> (out: float64[n], turns: int32[n])", """
        for i in grid(n):
            s = abs(x[i]) + 0.5
            c = 0
            for k in range(12):
                t = s
                s = 0.5 * (s + abs(y[i]) / s)
                if abs(s - t) < 1e-3:
                    break
                c += 1
            out[i] = s
            turns[i] = c
    """),
    "one after the other": ("(x: inout float64[n], m: int64) -> (turns: int64[n])", """
        for i in range(n):
            s = x[i]
            c = 0
            for k in range(m):
                s = s * 0.75 + k * 0.125
                if s > 0.5:
                    break
                c += 1
            x[i] = s
            turns[i] = c
    """),
    "left at three places, with ways between them": ("(x: float64[n]) -> (out: float64[n])", """
        for i in grid(n):
            s = x[i]
            t = 1.0
            while True:
                if s < -0.5:
                    t = t + 1.0
                    if t > 4.0:
                        break
                    s = s + 0.25
                elif s > 0.5:
                    s = s - 0.375
                    t = t * 1.25
                    if t > 3.0:
                        s = s * 2.0
                        break
                else:
                    s = s * 2.0 + 0.0625
                t = t + 0.125
                if t > 5.0:
                    break
            out[i] = s * t
    """),
    "what it does as it leaves": ("(x: float32[n], y: float32[n]) -> (out: float32[n], turns: int64[n])", """
        def off(a, b):
            c = a * 0.5 + b
            return sqrt(abs(c)) - 0.25

        for i in grid(n):
            u = float32(-1)
            t = float32(0)
            k = 0
            while k < 20:
                a = x[i] * t
                d = abs(a - y[i])
                if d < 0.25:
                    u = off(a, d) + k
                    break
                t += d * 0.5
                k += 1
                if t > 4:
                    u = off(t, a)
                    k = -k
                    break
            out[i] = u
            turns[i] = k
    """),
    "what it does as it leaves, by the count": ("(x: float64[n], y: float64[n]) -> (out: float64[n])", """
        for i in grid(n):
            u = -1.0
            t = 0.0
            for k in range(12):
                d = abs(x[i] * t - y[i])
                if d < 0.25:
                    u = sqrt(d) + k
                    break
                t += d * 0.5
            out[i] = u
    """),
    "what only some set": ("(x: float64[n], y: float64[n]) -> (out: float64[n], more: float64[n])", """
        for i in grid(n):
            s = x[i]
            found = 7.0
            k = 0
            while k < 9:
                half = s * 0.5
                if half > y[i]:
                    found = half + k
                s = half + 0.3
                k += 1
                if s != s:
                    break
            out[i] = found
            more[i] = s
    """),
    "elements of 16 bits, and flags": ("(x: float16[n], b: bool[n]) -> (out: float32[n])", """
        for i in grid(n):
            s = float32(0.5)
            k = 0
            while k < 9 and s < 3:
                s = s * float32(0.75) + x[i]
                if b[i]:
                    s += float32(0.5)
                k += 1
            out[i] = s
    """),
    "what only some set, and all read": ("(x: float64[n], y: float64[n]) -> (out: float64[n], more: float64[n])", """
        for i in grid(n):
            s = x[i]
            t = y[i]
            for k in range(12):
                if t > 0.1:
                    s = s * 0.75 + 0.05
                t = t * 0.5 + s
                if t > 0.9:
                    break
            out[i] = s
            more[i] = t
    """),
    "memory that none may read": ("(x: float64[n], m: int64) -> (out: float64[n])", """
        far = m * 1099511627776
        for i in grid(n):
            s = 0.5
            while 0 <= far and far < n and s < 4.0:
                s = s * 1.5 + abs(x[far])
            out[i] = s + x[i]
    """),
    "no turn at all": ("(x: float64[n], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = 2.5
            for k in range(m, 3):
                s = s * x[i]
                if s > 1e6:
                    break
            out[i] = s
    """),
}  # fmt: skip

ALONE = {
    "counts of their own": ("(x: float64[n], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = x[i]
            for k in range(i % 3, m + 4):
                s = s * 0.5 + k * 0.125
                if s > 0.75:
                    break
            out[i] = s
    """),
    "elements that lie who knows where": ("(x: float64[n], y: float64[n]) -> (out: float64[n])", """
        for i in grid(n):
            s = x[i]
            k = i
            while k < n and s < 1.0:
                s = s * 0.5 + y[k]
                k += 1
            out[i] = s
    """),
    "stores in each turn": ("(x: inout float64[n], m: int64) -> (turns: int64)", """
        for i in grid(n):
            k = 0
            while k < m and x[i] < 1.0:
                x[i] = x[i] * 1.5 + 0.01
                k += 1
        turns[()] = m
    """),
    "divisions of integers": ("(x: float64[n], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = x[i]
            k = m + i + 1
            while k > 1 and s < 1.0:
                s = s * 0.5 + 0.25
                k = k // 2
            out[i] = s
    """),
    "nothing of floats that goes on": ("(x: float64[n], m: int64) -> (out: int64[n])", """
        for i in grid(n):
            k = 0
            while k < m and x[i] * k < 1.0:
                k += 1
            out[i] = k
    """),
    "a turn that is cut short": ("(x: float64[n], m: int64) -> (out: float64[n])", """
        for i in grid(n):
            s = x[i]
            for k in range(m):
                if s > 0.25:
                    s -= 0.5
                    continue
                s = s * 0.5 + 0.3
                if s > 0.9:
                    break
            out[i] = s
    """),
    "what the turn before found": ("(x: float64[n], m: int64) -> (out: float64[n] = 0)", """
        for i in range(1, n):
            s = out[i - 1]
            for k in range(m):
                s = s * 0.5 + x[i]
                if s > 1.0:
                    break
            out[i] = s
    """),
}  # fmt: skip


def _given(kernel, n: int, m: int, special: bool):
    for k, p in enumerate(kernel.specialisation.parameters):
        if p.role in ("in", "inout"):
            x = draw(*({"n": n}.get(d, d) for d in p.dims), dtype=p.dtype, seed=k) if p.dims else m
            if special and p.dims and n > 6 and x.dtype.kind == "f":
                x[..., 2], x[..., 5], x[..., 6] = np.nan, np.inf, -0.0
            yield x


def _loop_with(instruction: str, assembly: str) -> str:
    """The shortest loop of an assembly that has an instruction."""
    loops = re.findall(r"(?ms)^(\.L\w+):(?=(.*?^\s+j\w+\s+\1$))", assembly)
    return min((body for _, body in loops if instruction in body), key=len)


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked(f"cpu:x86-64{level}") for level in ("-v2", "-v3", "-v4")])
@pytest.mark.parametrize("name", [*TOGETHER, *ALONE])
def test_whoever_is_done_first(name, target):
    kernel = loop(target, *(TOGETHER | ALONE)[name], EXACT)
    tree = from_zero(kernel.tree)
    assert (in_lanes(tree).body != tree.body) == (name in TOGETHER), "in lanes"
    for n in COUNTS:
        for m in (0, 2, 5):
            agree(kernel, *_given(kernel, n, m, special=m == 2))


@pytest.mark.parametrize("name", TOGETHER)
def test_turns_are_vectors(name):
    """No store is left to a condition, which would leave lanes to jumps."""
    kernel = loop(TARGET, *TOGETHER[name], EXACT)
    module, machine = optimised(kernel_ir(lower(kernel.tree, False), "f.py"), TARGET, "f")
    text = machine.emit_assembly(module)
    assert re.search(r"\bvcmp\w*p[sd]\s", text) and not re.search(r"\bvmaskmov\w+\s+%", text), text


def test_flags_are_as_wide_as_what_turns_compute():
    """What an iteration computes once, as it leaves, does not halve the lanes of its turns."""
    body = """
        for i in grid(n):
            s = x[i]
            for k in range(9):
                s = s * 0.5 + float32(0.25)
                if s < 0.75:
                    e = exp(float64(s))
                    s = float32(e)
                    break
            out[i] = s
    """
    tree = in_lanes(from_zero(loop(TARGET, "(x: float32[n]) -> (out: float32[n])", body, EXACT).tree))
    (flags,) = (array for name, array in tree.arrays.items() if "_going" in name)
    assert (flags.dtype, flags.shape) == ("int32", (LANES[False],))


def test_flags_wait_for_no_more_masks_than_they_need():
    """With AVX-512 comparisons give masks: who goes on is kept as a vector, which waits for one of them."""
    target = "cpu:x86-64-v4"
    kernel = loop(target, *TOGETHER["how far a series goes"], EXACT)
    module, machine = optimised(kernel_ir(lower(kernel.tree, False), "f.py"), target, "f")
    turns = _loop_with("vcmple", machine.emit_assembly(module))
    assert "vpmovm2" not in turns, turns
