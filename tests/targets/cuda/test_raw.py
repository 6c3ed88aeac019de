"""Raw kernels: numba.cuda's own Python, launched as declared."""

import numpy as np
import pytest

from tests.targets.cuda.cuda_support import raw, same

from pydotcompute.targets.cuda import toolchain as cuda_toolchain
from pydotcompute.errors import CompilationError, DeclarationError


def test_arrays_shared_memory_and_barriers():
    body = """
        row = cuda.shared.array(128, float32)
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        row[t] = x[i] if i < x.shape[0] else 0
        cuda.syncthreads()
        if i < x.shape[0]:
            out[i] = a * row[127 - t] + x.size + x[-1]
    """
    built = raw(
        "(a: T, x: T[n]) -> (out: T[n])",
        body,
        "types: {T: [float32]}",
        'launch: {block: 128, grid: "(n + 127) // 128"}',
    )
    for n in (1, 128, 500):
        x = np.random.default_rng(n).integers(-9, 9, n).astype("f4")
        padded = np.r_[x, np.zeros(-n % 128, "f4")].reshape(-1, 128)[:, ::-1].reshape(-1)[:n]
        for seed in range(3):
            same(built.call(np.float32(2), x, seed=seed), np.float32(2) * padded + np.float32(n) + x[-1], "out")
    assert built.call(np.float32(2), np.zeros(0, "f4")).size == 0


def test_blocks_and_grids_of_two_dimensions_and_params():
    body = """
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            out[j, i] = x[i, j] * {{ SCALE }}
    """
    built = raw(
        "(x: strided T[m, n]) -> (out: T[n, m])", body, "types: {T: [int32]}", "params: {SCALE: 3}",
        'launch: {block: [8, 4], grid: ["(m + 7) // 8", "(n + SCALE) // 4"]}',
    )  # fmt: skip
    x = np.arange(300, dtype="i4").reshape(15, 20)
    assert (built.call(x) == 3 * x.T).all() and (built.call(x[::2, ::-1]) == 3 * x[::2, ::-1].T).all()


def test_helpers_atomics_and_output_scalars():
    template = """
        def double(v):
            return v + v

        def k(x, total):
            i = cuda.grid(1)
            if i < x.shape[0]:
                cuda.atomic.add(total, 0, double(x[i, 0]))
    """
    built = raw(
        "(x: float64[..., n]) -> (total: float64 = 0)",
        "",
        'launch: {block: 64, grid: "(rows + 63) // 64"}',
        template=template,
    )
    x = np.arange(210, dtype="f8").reshape(2, 35, 3)
    assert built.call(x) == 2 * x[..., 0].sum()


def test_refusals():
    with pytest.raises(DeclarationError, match="raw kernel k does not say how many blocks"):
        raw("(x: float32[n]) -> ()", "i = cuda.grid(1)", "launch: {block: 64}")
    with pytest.raises(DeclarationError, match="raw kernel k: 'x' has no shape of its own"):
        raw("(x: broadcast float32[...]) -> (out: float32[...])", "i = cuda.grid(1)", "launch: {block: 64, grid: 1}")
    with pytest.raises(DeclarationError, match=r"kernels.yaml:\d+:\d+: unknown name 'cudo'\n.*\n.*\n  did you mean 'cuda'"):
        raw("(x: float32[n]) -> ()", "i = cuda.grid(1)\nx[i] = cudo.blockDim.x", "launch: {block: 64, grid: 1}")
    with pytest.raises(CompilationError, match=r"kernels.yaml:\d+:\d+: numba-cuda refused"):
        raw("(x: float32[n]) -> ()", "i = cuda.grid(1)\nx[i] = x.nothing", "launch: {block: 64, grid: 1}")


def test_float16(monkeypatch):
    """Loads, stores and conversions work everywhere; arithmetic is refused where the toolchain cannot link it."""
    launch = 'launch: {block: 64, grid: "(n + 63) // 64"}'
    built = raw("(x: float16[n]) -> (out: float16[n])", "",
                launch, template="""
        def n_of(x):
            return x.shape[0]

        def k(x, out):
            i = cuda.grid(1)
            if i < n_of(x):
                out[i] = float16(float32(x[i]) * float32(3))
    """)  # fmt: skip
    x = np.linspace(-9, 9, 100).astype("f2")
    same(built.call(x), (x.astype("f4") * np.float32(3)).astype("f2"), "out")
    arithmetic = (
        "(x: float16[n]) -> (out: float16[n])",
        "i = cuda.grid(1)\nif i < x.shape[0]:\n    out[i] = x[i] * x[i] - x[i]",
        launch,
    )
    built = raw(*arithmetic)
    assert "mul.f16" in built.ptx and ".extern" not in built.ptx
    same(built.call(x), x * x - x, "out")
    monkeypatch.setattr(cuda_toolchain, "has_linker", lambda: False)
    with pytest.raises(CompilationError, match="which this toolchain cannot link"):
        raw(*arithmetic)
