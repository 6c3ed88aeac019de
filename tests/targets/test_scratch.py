"""Arrays of a kernel's own whose shapes are known at the call, for every target: its code against the interpreter, and
both against NumPy."""

import textwrap

import numpy as np
import pytest
from tests.targets.built import agree, draw, every_target, loop

from pydotcompute.artifact import abi
from pydotcompute.artifact.dimensions import Operation, data
from pydotcompute.backends import launch
from pydotcompute.errors import AllocationError

LOCAL = """
    def running(t, row, by):
        s = T(0)
        for j in range(len(t)):
            s += row[j] * by
            t[j] = s
    def own(u, j):
        return u[j % len(u), 1]
    for i in grid(n):
        t = local((m,), T)
        u = local((k + 1, 2), int64)
        running(t, x[i], T(2))
        for j in range(len(u)):
            u[j, 0] = j
            u[j, 1] = u[j, 0] * u[k - j, 0] if j > k - j else i
        for j in range(m):
            out[i, j] = t[m - 1 - j] + own(u, j)
"""


@pytest.mark.slow
@every_target
def test_local_arrays(target):
    """Each iteration has its own, of dimensions and of an argument; a helper is given them."""
    built = loop(target, "(x: T[n, m], k: int32) -> (out: T[n, m])", LOCAL, "types: {T: [float64]}", "fastmath: []")
    for n, m, k in ((3, 5, 2), (700, 7, 0), (2, 1000, 40), (0, 4, 1), (4, 0, 1)):
        x = draw(n, m, dtype="f8")
        out = agree(built, x, k, seed=n)
        at = np.arange(m) % (k + 1)
        own = np.where(at > k - at, at * (k - at), np.arange(n)[:, None])
        assert np.allclose(out, np.cumsum(2 * x, 1)[:, ::-1] + own, rtol=1e-12)


@pytest.mark.slow
@every_target
def test_shared_arrays(target):
    """Each block has its own; more than there is shared memory for."""
    body = """
        for b in blocks(n):
            t = shared((m,), float32)
            wide = shared((20000,), int32)
            for c in threads(m):
                t[c] = x[b, c] * 2
            for c in threads(20000):
                wide[c] = c + b
            for c in threads(m):
                out[b, c] = t[m - 1 - c] + wide[19999 - c]
    """
    built = loop(target, "(x: float32[n, m]) -> (out: float32[n, m])", body)
    for n, m in ((3, 5), (40, 300), (2, 15000)):
        x = draw(n, m)
        wanted = x[:, ::-1] * 2 + (19999 - np.arange(m) + np.arange(n)[:, None]).astype("f4")
        assert (agree(built, x, seed=n) == wanted).all()


@pytest.mark.slow
@every_target
def test_loops_of_all_kinds(target):
    """Several counts, a reduction, phases that the host of a device counts, and what happens once."""
    body = """
        best = 0.0
        for i, j in grid(n, m):
            t = local((m + 1,), float64)
            for k in range(m + 1):
                t[k] = x[i, j] * k
            out[i, j] = t[m] - t[j]
            best = max(best, t[j])
        for s in range(3):
            for i in grid(s + 1):
                t = local((n,), float64)
                for k in range(n):
                    t[k] = k + s
                for k in range(n):
                    out[k, 0] += t[n - 1 - k] if i == s else 0.0
        most[()] = best
    """
    body = body.replace("out[k, 0] +=", "out[i, 0] +=")
    built = loop(target, "(x: float64[n, m]) -> (out: float64[n, m], most: float64)", body)
    x = draw(5, 7, dtype="f8")
    out, most = agree(built, x)
    wanted = x * (7 - np.arange(7.0))
    for s in range(3):
        wanted[s, 0] += (np.arange(5) + s).sum()
    assert np.allclose(out, wanted, rtol=1e-13) and most == max((x * np.arange(7)).max(), 0)


@pytest.mark.slow
@every_target
def test_a_sequential_kernel(target):
    """An array of the whole kernel, which swaps it with another."""
    body = """
        a = local((n,), int64)
        b = local((n,), int64)
        for i in range(n):
            a[i] = x[i]
        for t in range(3):
            for i in range(n):
                b[i] = a[n - 1 - i] + t
            a, b = b, a
        for i in range(n):
            out[i] = a[i]
    """
    x = np.arange(40) ** 2
    assert (agree(loop(target, "(x: int64[n]) -> (out: int64[n])", body), x) == x[::-1] + 3).all()


@pytest.mark.slow
@every_target
def test_more_iterations_than_arrays(target):
    """Threads and blocks that are under way have one each, for one iteration after the other."""
    body = """
        for i in grid(n):
            t = local((m,), int32)
            for k in range(m):
                t[k] = i + k
            out[i] = sum(t[k] for k in range(m))
    """
    built = loop(target, "(x: int32[m], n: int64) -> (out: int32[n])", body)
    if not target.startswith("cpu"):
        dims = {"n": 10**7, "m": 1000}
        assert sum(launch.scratch_sizes(built.meta, dims)) <= 4 * 1000 * (1 << 16) + 4 * 1000 * 1024
    n = 300 if target.startswith("cuda") else 200_000
    out = agree(built, np.zeros(4, "i4"), n) if n < 1000 else built.call(np.zeros(4, "i4"), n, seed=1)
    assert (out == 4 * np.arange(n) + 6).all()


@pytest.mark.slow
def test_indices_and_memory_on_a_cpu():
    """An index outside is told as ever; so is an array that there is no memory for."""
    from tests.targets.cpu.compiled import kernel

    body = """
    for i in grid(n):
        t = local((m, k), int64)
        t[i, at] = 1
        out[i] = t[i, at]
    """
    signature = "(n: int64, m: int64, k: int64, at: int64) -> (out: int64[n])"
    built, out = kernel(body, signature, types=""), np.zeros(3, "i8")

    def fault(m, k, at):
        given = {"n": 3, "m": m, "k": k, "at": at}
        return built.fault({"n": 3}, out=out, **given)

    assert fault(3, 4, 3) is None and (out == 1).all()
    assert fault(3, 4, 4)[2:] == ("t", 1, 4, 4) and fault(2, 4, 0)[2:] == ("t", 0, 2, 2)
    assert fault(3, -4, 0)[2:] == ("t", 1, 0, 0)
    for m, k in ((1 << 40, 1 << 10), (1 << 62, 4), (1 << 62, 1 << 62)):
        assert fault(m, k, 0)[2:4] == ("t", abi.NO_MEMORY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "extent, beyond",
    [
        ("m * k", [(1 << 33, 1 << 31), (-(1 << 32), -(1 << 32)), (-1, -(1 << 63))]),
        ("m * k // 2**61 + 4", [(1 << 32, 1 << 32), (-(1 << 33), -(1 << 33))]),
        ("m + k", [(1 << 62, 1 << 62), (2**63 - 1, 1)]),
        ("m - k + 4", [(1 << 62, -(1 << 62)), (0, -(1 << 63)), (2**63 - 4, 0)]),
        ("m // k + 4", [(-(1 << 63), -1)]),
        ("-m + 4", [(-(1 << 63), 0)]),
    ],
)
def test_extents_beyond_64_bits(extent, beyond):
    """What is proved of indices holds for numbers without end: no array may have the extent that is left of one."""
    body = f"""
    for i in grid(n):
        t = local(({extent},), int64)
        s = 0
        for j in range(min({extent}, 5)):
            t[j] = j
        for j in range(min({extent}, 5)):
            s += t[j]
        out[i] = s
    """
    signature = "(m: int64, k: int64, n: int64) -> (out: int64[n])"
    built = loop("cpu:x86-64-v3", signature, body)
    for m, k in ((3, 2), (40, 3), (0, 1)):
        out = agree(built, m, k, 2)
        assert (out == sum(range(max(0, min(5, eval(extent)))))).all()
    for m, k in beyond:
        with pytest.raises(IndexError) as told:
            built.call(m, k, 2)
        assert told.value.args[:2] == ("t", abi.NO_MEMORY)


def test_sizes_beyond_64_bits_on_a_device():
    """The host works out how much the scratch of a launch takes."""
    for size in (Operation("*", ("m", "m")), Operation("+", ("m", 1))):
        meta = {"scratch": [8, data(size)]}
        assert launch.scratch_sizes(meta, {"m": 3})[0] == 8
        with pytest.raises(AllocationError, match=r"more bytes than an address reaches, for m = 92\d+"):
            launch.scratch_sizes(meta, {"m": 2**63 - 1})


TURNED = """
for b in blocks(m):
    t = shared(({size},), float32)
    for i in threads({size}):
        t[i] = out[b, i] + x[b]
    for i in threads({size}):
        out[b, i] = t[{size} - 1 - i]
"""


@every_target
def test_shared_arrays_of_each_loop_have_all_there_is(target):
    """Of loops at top level, of one in a helper and of one in a sequential loop. Only what is too much for one loop lies
    in scratch."""
    lines, large = TURNED.format(size=4000), TURNED.format(size=12289)
    helper = f"def turned(x, out):{textwrap.indent(lines, '    ')}"
    often = f"for k in range(2):{textwrap.indent(lines, '    ')}"
    body = f"{helper}for b, i in grid(m, 13000):\n    out[b, i] = i{lines}turned(x, out)\n{often}turned(x, out){large}"
    built = loop(target, "(x: float32[m]) -> (out: float32[m, 13000])", body)
    arrays = [a for a in built.tree.arrays.values() if a.kind == "shared"]
    assert [a.fixed for a in arrays if a.scratch] == [(12289,)] and len(arrays) == 5
    agree(built, draw(3))
