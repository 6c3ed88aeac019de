"""Fills and copies without a compiler: against NumPy, over layouts, types and values. Where CuPy would compile a kernel
the emulated one raises AssertionError, so that all other cases look for that too."""

import cupy
import numpy as np
import pytest
from cupy import _machine

from pydotcompute.backends.cuda import arrays as cuda_arrays, copies as cuda_copies
from pydotcompute.backends.cuda.backend import CUDABackend

DTYPES = ["bool", "i1", "u2", "f2", "i4", "f4", "i8", "f8", "c8", "c16"]


def bits(values):
    return np.ascontiguousarray(values).view(np.uint8)


def views(array):
    """Of an array of (6, 8, 4): contiguous, of steps, reversed, turned, broadcast, of one element, of none."""
    return [
        array, array[2], array[:, 1:3], array[::2, ::-1, 1:2], array[..., ::3], array.T, array[5:], array[1, 2, 3, ...],
        array[:0], array[:, :, 1], array[::-1, ::2, ::-2],
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_fills(dtype):
    rng, backend = np.random.default_rng(0), CUDABackend()
    values = [0, 1, -0.0, 3.7, -1, np.nan, np.inf] if np.dtype(dtype).kind in "fc" else [0, 1, -1, 77]
    values = [v for v in values if v != -1 or np.dtype(dtype).kind != "u"]
    for value in values:
        value = np.asarray(value).astype(dtype)[()]
        for k in range(len(views(np.empty((6, 8, 4))))):
            host = rng.integers(0, 2, (6, 8, 4)).astype(dtype)
            there = backend.to_device(host)
            views(host)[k][...] = value
            cuda_arrays.fill(views(there)[k], value)
            backend.synchronize()
            np.testing.assert_array_equal(bits(there._elements()), bits(host), f"{value!r} {k}")
    assert not _machine.devices[0].fault


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(dtype):
    rng, backend = np.random.default_rng(1), CUDABackend()
    for k in range(len(views(np.empty((6, 8, 4))))):
        source, target = (rng.integers(0, 2, (6, 8, 4)).astype(dtype) for _ in range(2))
        a, b = backend.to_device(source), backend.to_device(target)
        np.testing.assert_array_equal(backend.to_host(views(a)[k]), views(source)[k])
        cuda_copies.copy(views(b)[k], views(a)[k])
        views(target)[k][...] = views(source)[k]
        np.testing.assert_array_equal(backend.to_host(b), target)
        dense = cuda_copies.contiguous(views(a)[k])
        np.testing.assert_array_equal(backend.to_host(dense), views(source)[k])
    wide = cupy.broadcast_to(a[0], (3, 8, 4))
    np.testing.assert_array_equal(backend.to_host(wide), np.broadcast_to(source[0], (3, 8, 4)))


def test_bytes_around_an_unaligned_view_stay(backend):
    for offset in range(4):
        host = np.zeros(64, "u1")
        there = backend.to_device(host)
        part = cupy.ndarray((5, 4), "u1", there.data + offset, (8, 1))
        cuda_arrays.fill(part, 9)
        host[offset : offset + 40].reshape(5, 8)[:, :4] = 9
        np.testing.assert_array_equal(backend.to_host(there), host)
    complexes = cupy.empty(5, "c16")  # aligned to 8 bytes, of 16
    odd = cupy.ndarray((4,), "c16", complexes.data + 8)
    cuda_arrays.fill(odd, 1 + 2j)
    backend.synchronize()
    assert odd._elements().tolist() == [1 + 2j] * 4
    ones = cupy.ndarray((3,), "c16", complexes.data + 8, (24,))
    cuda_arrays.fill(ones, 3 - 4j)
    backend.synchronize()
    assert ones._elements().tolist() == [3 - 4j] * 3


def test_as_many_dimensions_as_there_are(backend):
    host = np.arange(3**10, dtype="i2").reshape((3,) * 10)[(slice(None, None, 2),) * 10]
    there = backend.to_device(np.arange(3**10, dtype="i2").reshape((3,) * 10))[(slice(None, None, 2),) * 10]
    np.testing.assert_array_equal(backend.to_host(there), host)


def test_kernels_with_views_that_have_to_be_copied(library, backend, draw):
    """Ten dimensions that cannot be merged are more than a launch takes."""
    x = draw(*(3,) * 10)
    there = backend.to_device(x)[(slice(None, None, 2),) * 10]
    x = x[(slice(None, None, 2),) * 10]
    np.testing.assert_allclose(backend.to_host(library.sub(there, there)), 0 * x)
    other = backend.to_device(draw(2))
    np.testing.assert_array_equal(backend.to_host(library.sub(there, other)), x - draw(2) * 0 - backend.to_host(other))


def test_what_comes_from_the_host_and_from_another_device(backend, draw):
    for value in (np.float32(3), np.int64(-7), 2.5 + 1j, True, 0.0):
        assert backend.to_host(backend.to_device(value)) == value
    x = draw(6, 8)
    there = CUDABackend(device_id=1).to_device(x)
    for view, wanted in ((there, x), (there[::2, ::-1], x[::2, ::-1]), (there.T, x.T), (there[:0], x[:0])):
        moved = backend.to_device(view)
        assert moved.device.id == 0 and moved.flags.c_contiguous
        np.testing.assert_array_equal(backend.to_host(moved), wanted)
        np.testing.assert_array_equal(backend.to_host(view), wanted)


def test_fills_other_than_zero_of_outputs(tmp_path, backend):
    (tmp_path / "kernels.yaml").write_text(
        'version: 1\ntargets: ["cuda:compute_80"]\nkernels:\n  counted:\n'
        '    signature: "(x: float32[n, m]) -> (out: float32[n, m] = -1e30, k: int64 = 3)"\n'
        "    body: |\n      for i, j in grid(n, m):\n          out[i, j] = max(out[i, j], x[i, j])\n"
    )
    import pydotcompute
    from pydotcompute.cli import main

    assert main(["build", "-C", str(tmp_path)]) == 0
    counted, x = pydotcompute.load(tmp_path).counted, np.arange(12, dtype="f4").reshape(3, 4)
    for _ in range(4):
        out, k = counted(backend.to_device(x))
        assert (backend.to_host(out) == x).all() and k.get() == 3
