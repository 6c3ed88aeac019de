"""compile_kernel and launch_kernel of the OpenCL backend."""

import numpy as np
import pyopencl as cl
import pytest
from numba import cuda
from tests.targets.opencl.opencl_support import backend

from pydotcompute.errors import CompilationError

VECTORS = ("float32[::1]",) * 3


def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < len(c):
        c[i] = a[i] + b[i]


def scale_columns(x, w, factor):
    """Two sizes, a loop, a thread that is done early."""
    i, j = cuda.grid(2)
    if i >= x.shape[1] or j >= x.shape[0]:
        return
    total = 0.0
    for k in range(w.size):
        if k > 2:
            break
        total += w[k]
    x[j, i] *= total * factor


def neighbours(x):
    i = cuda.grid(1)
    if i + 1 < x.size:
        x[i] = x[i + 1]


def with_barrier(x):
    i = cuda.grid(1)
    cuda.syncthreads()
    x[i] = 0


def without_grid(x):
    x[0] = 1


def test_the_published_example():
    a, b = np.random.default_rng(0).normal(size=(2, 1000)).astype("f4")
    kernel = backend().compile_kernel(vector_add, VECTORS)
    a_there, b_there, c_there = backend().to_device(a), backend().to_device(b), backend().allocate(a.shape)
    blocks = (len(a) + 255) // 256
    backend().launch_kernel(kernel, (blocks,), (256,), a_there, b_there, c_there)
    backend().synchronize()
    assert (backend().to_host(c_there) == a + b).all()
    assert backend().compile_kernel(vector_add, VECTORS) is kernel
    assert backend().compile_kernel(cuda.jit(vector_add), VECTORS) is kernel


def test_fewer_threads_than_elements_do_as_many():
    kernel = backend().compile_kernel(vector_add, VECTORS)
    ones, c = backend().to_device(np.ones(100, "f4")), backend().allocate(100)
    backend().launch_kernel(kernel, (2,), (8,), ones, ones, c)
    assert (backend().to_host(c) == ([2] * 16 + [0] * 84)).all()


def test_two_sizes():
    x = np.arange(35, dtype="f8").reshape(5, 7)
    w = np.array([1.0, 2, 3, 4])
    kernel = backend().compile_kernel(scale_columns, ("float64[:, ::1]", "float64[::1]", np.float64))
    there = backend().to_device(x)
    backend().launch_kernel(kernel, (2, 3), (4, 2), there, backend().to_device(w), 0.5)
    assert (backend().to_host(there) == x * 3).all()


def test_strided_arrays_where_the_signature_says_so():
    kernel = backend().compile_kernel(vector_add, ("float32[:]", "float32[::1]", "float32[::1]"))
    x = backend().to_device(np.arange(20, dtype="f4"))
    c = backend().allocate(10)
    backend().launch_kernel(kernel, 1, 16, x[::2], x[:10], c)
    assert (backend().to_host(c) == np.arange(0, 20, 2) + np.arange(10)).all()


@pytest.mark.parametrize(
    "function, signature, told",
    [
        (neighbours, ("float32[::1]",), "neighbours cannot be compiled for OpenCL: .*x"),
        (with_barrier, ("float32[::1]",), "with_barrier uses cuda.syncthreads"),
        (without_grid, ("float32[::1]",), "does not say what each thread does; begin it with `i = cuda.grid"),
        (lambda x: x, ("float32",), "is a lambda"),
    ],
)
def test_what_is_not_compiled(function, signature, told):
    with pytest.raises(CompilationError, match=told):
        backend().compile_kernel(function, signature)


def test_arguments_that_do_not_fit():
    with pytest.raises(TypeError, match="takes 3 arguments .*the signature has 2"):
        backend().compile_kernel(vector_add, VECTORS[:2])
    kernel = backend().compile_kernel(vector_add, VECTORS)
    x = backend().to_device(np.ones(10, "f4"))
    with pytest.raises(TypeError, match="compiled for 3 arguments, got 2"):
        backend().launch_kernel(kernel, 1, 10, x, x)
    with pytest.raises(TypeError, match="'b' must be float32, got float64"):
        backend().launch_kernel(kernel, 1, 10, x, backend().to_device(np.ones(10)), backend().allocate(10))
    with pytest.raises(ValueError, match="share memory"):
        backend().launch_kernel(kernel, 1, 10, x, x, x[:5])
    with pytest.raises(ValueError, match="counts 1 of the sizes of a launch"):
        backend().launch_kernel(kernel, (1, 2), 10, x, x, backend().allocate(10))
    with pytest.raises(ValueError, match="grid must be"):
        backend().launch_kernel(kernel, 0, 10, x, x, backend().allocate(10))
    with pytest.raises(TypeError, match="is not an OpenCL kernel"):
        backend().launch_kernel(vector_add, 1, 10, x, x, x)
    with pytest.raises(TypeError, match="launch it by"):
        kernel(x, x, x)


def test_a_pyopencl_kernel_is_launched_too():
    text = "kernel void f(global float *x, float a) { x[get_global_id(0)] *= a; }"
    kernel = cl.Kernel(cl.Program(backend().context, text).build(), "f")
    x = backend().to_device(np.arange(32, dtype="f4"))
    backend().launch_kernel(kernel, (4,), (8,), x, np.float32(3))
    assert (backend().to_host(x) == 3 * np.arange(32)).all()
