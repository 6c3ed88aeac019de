"""Outputs that no cache could keep are stored past the caches: the same bits, wherever the arrays lie."""

import ctypes

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, agree, tree_of

from pydotcompute.backends.cpu.levels import unfit
from pydotcompute.targets.cpu import compiler, line_stores, streaming
from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
ADD = "for i in grid(size):\n    out[i] = x[i] + y[i]"
TWO = "(x: T[...], y: T[...]) -> (out: T[...])"
FENCE = "call void @llvm.x86.sse.sfence()"


@pytest.fixture
def streams(monkeypatch):
    """How often a slice was streamed: () -> the number since it was asked last."""
    count = ctypes.c_int64(0)
    place = f"ptr inttoptr (i64 {ctypes.addressof(count)} to ptr)"
    counting = line_stores.streaming_ir(True).replace(FENCE, f"%_ = atomicrmw add {place}, i64 1 monotonic\n  {FENCE}")
    monkeypatch.setattr(compiler, "streaming_ir", lambda wins: counting)

    def since():
        seen, count.value = count.value, 0
        return seen

    return since


@pytest.fixture
def always(monkeypatch, streams):
    """The same; however small, calls are streamed that may be."""
    monkeypatch.setattr(streaming, "LEAST", 0)
    return streams


def assembly(tree, target="cpu:x86-64-v3", bounds=False):
    module, machine = optimised(kernel_ir(lower(tree, bounds), "f.py"), target, "f")
    return machine.emit_assembly(module)


def numbers(n, dtype, seed=0):
    drawn = np.random.default_rng(seed).integers(0, 100, n)
    return drawn.astype(dtype) / 7 if np.dtype(dtype).kind == "f" else drawn.astype(dtype)


def within(n, dtype, before):
    """An array in a larger one, so many elements behind the beginning of a line; and the larger one."""
    size = np.dtype(dtype).itemsize
    memory = np.full(n * size + 1024, 0x5A, "u1")
    start = -memory.ctypes.data % 64 + 256 + before * size
    return memory[start : start + n * size].view(dtype), memory


def unharmed(memory, part):
    start = part.ctypes.data - memory.ctypes.data
    return (memory[:start] == 0x5A).all() and (memory[start + part.nbytes :] == 0x5A).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int32", "int64"])
def test_every_size_from_every_place(always, level, dtype):
    if unfit(level):
        pytest.skip(unfit(level))
    made = Kernel(tree_of(ADD, TWO, types=f"{{T: [{dtype}]}}"), f"cpu:{level}")
    for n in (0, 1, 15, 16, 17, 31, 64, 100, 333):
        for before in (0, 1, 3, 7, 63):
            out, memory = within(n, dtype, before)
            x, y = within(n, dtype, 5)[0], numbers(n, dtype, 1)
            x[:] = numbers(n, dtype)
            assert made({"size": n}, x=x, y=y, out=out) == 0
            assert out.tobytes() == (x + y).tobytes() and unharmed(memory, out), (n, before)
            assert always() == (n > 0)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_slices_of_threads(always, threads):
    made = Kernel(tree_of(ADD, TWO))
    for n in (1_300_001, 2_000_000):
        x, y = numbers(n, "f4"), numbers(n, "f4", 1)
        out, memory = within(n, "f4", 9)
        assert made({"size": n}, threads, x=x, y=y, out=out) == 0
        assert out.tobytes() == (x + y).tobytes() and unharmed(memory, out)
        assert (always() > 1) == (threads > 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_of_few_bytes_are_not_streamed(streams, threads):
    made, least = Kernel(tree_of(ADD, TWO)), -(-streaming.LEAST // 12)
    for n in (1000, least - 1, least, least + 1):
        x, y = np.arange(n, dtype="f4"), np.full(n, 0.5, "f4")
        out, memory = within(n, "f4", 3)
        assert made({"size": n}, threads, x=x, y=y, out=out) == 0
        assert np.array_equal(out, x + y) and unharmed(memory, out)
        assert (streams() > 0) == (n >= least)


def test_views(always):
    """Those that are contiguous are streamed."""
    made = Kernel(tree_of(ADD, "(x: broadcast T[...], y: strided T[...]) -> (out: T[...])"))
    block = numbers(6 * 50 * 40, "f4").reshape(6, 50, 40)
    dense = [block, block[:1], block[2:], block.reshape(-1), block.reshape(1, -1)]
    other = [block[::2], block[:, ::2], block[:, :, ::2], block[::-1], block.transpose(0, 2, 1), block[:, :2]]
    other += [np.broadcast_to(part, block.shape) for part in (block[:1, :1], block[:1, :1, :1], block[0], block[:, :1])]
    for x in (*dense, *other):
        y = numbers(x.size, "f4", 1).reshape(x.shape)
        for one in (y, np.asfortranarray(y)):
            out = np.empty(x.shape, "f4")
            assert made({"size": x.size}, x=x, y=one, out=out) == 0
            assert np.array_equal(out, x + y)
            assert always() == (any(x is d for d in dense) and one.flags.c_contiguous)


def test_rows_with_strides(always):
    made = Kernel(tree_of("for i in grid(n):\n    out[i] = x[i] * 2 + w[n - 1 - i]", "(x: strided T[n], w: T[n]) -> (out: T[n])"))
    for step in (1, 2, -1):
        x = numbers(2000, "f4")[::step][:1000]
        w, out = numbers(1000, "f4", 2), np.empty(1000, "f4")
        assert made({"n": 1000}, x=x, w=w, out=out) == 0
        assert np.array_equal(out, x * 2 + w[::-1])
        assert always() == (step == 1)


def test_in_place(always):
    """The lines of the output are in the cache already."""
    made = Kernel(tree_of(ADD, TWO))
    for other in (False, True):
        x, y = numbers(1000, "f4"), numbers(1000, "f4", 1)
        wanted = x + y
        assert made({"size": 1000}, x=x, y=y, out=y if other else x) == 0
        assert np.array_equal(y if other else x, wanted) and not always()


def test_branches_and_several_outputs(always):
    """Outputs that do not begin lines together are left to the plain function."""
    body = """
    for i in grid(n):
        v = x[i]
        if v > 5:
            v = 10 - v
            small[i] = v
        else:
            small[i] = v * a
        flag[i] = v < 3
        wide[i] = v
    """
    signature = "(a: float32, x: float32[n]) -> (small: float32[n], flag: bool[n], wide: float64[n])"
    made = Kernel(tree_of(body, signature, types=""))
    x = numbers(1000, "f4")
    for before, together in (((0, 0, 0), True), ((3, 51, 3), True), ((3, 4, 3), False), ((0, 0, 1), False)):
        outputs = {name: within(1000, t, k)[0] for name, t, k in zip(("small", "flag", "wide"), ("f4", "?", "f8"), before)}
        for threads in (1, 2):
            assert made({"n": 1000}, threads, a=0.5, x=x, **outputs) == 0
            assert always() == together
        wanted = agree(made, {"n": 1000}, 1, None, a=0.5, x=x, **outputs)
        assert all(np.array_equal(outputs[name], wanted[name]) for name in outputs)
        always()  # copies that `agree` made may begin lines together, too


MORE = {
    "checked": ("(x: T[n], k: int64) -> (out: T[n])", "for i in grid(n):\n    out[i] = x[i] + x[k]"),
    "elsewhere": ("(x: T[n], k: int64) -> (out: T[n + 1])", "for i in grid(n):\n    out[i + 1] = x[i]"),
    "not from 0": ("(x: T[n]) -> (out: T[n] = 0)", "for i in grid((1, n)):\n    out[i] = x[i]"),
    "here and there": ("(x: T[n]) -> (out: T[n] = 0)", "for i in grid(n):\n    if x[i] > 0:\n        out[i] = x[i]"),
    "read later": ("(x: T[n]) -> (out: T[n], s: T)", "t = T(0)\nfor i in grid(n):\n    out[i] = x[i]\nfor i in grid(n):\n    t += out[i]\ns[()] = t"),
    "updated": ("(x: T[n], out: inout T[n]) -> ()", "for i in grid(n):\n    out[i] += x[i]"),
    "strided": ("(x: T[n]) -> (out: strided T[n])", "for i in grid(n):\n    out[i] = x[i]"),
    "of nothing": ("(n: int64) -> (out: T[n])", "for i in grid(n):\n    out[i] = 1"),
    "by place": ("(x: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[i] = x[i] - x[i - 1] if i > 0 else x[i]"),
    "long": ("(x: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[i] = exp(x[i])"),
}  # fmt: skip


@pytest.mark.parametrize("why", MORE)
def test_what_is_not_streamed(why):
    signature, body = MORE[why]
    assert "movnt" not in assembly(tree_of(body, signature))


def test_only_where_it_wins():
    tree = tree_of(ADD, TWO)
    for level in LEVELS:
        text = assembly(tree, f"cpu:{level}")
        assert "movnt" in text and text.count("sfence") == 1
    assert "movnt" not in assembly(tree, bounds=True)
    arm = assembly(tree, "cpu:aarch64")
    assert "stnp" not in arm and "dmb" not in arm and "compute_streamed" not in arm
