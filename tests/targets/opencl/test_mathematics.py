"""The functions of ir/math as OpenCL C: their errors in units in the last place, and special values, on a device."""

import functools
import os
import re
import sys

import numpy as np
import pyopencl as cl
import pytest
from tests.targets.opencl.opencl_support import backend, loop
from tests.targets.references import PROJECT

sys.path.append(os.path.join(PROJECT, "tests", "math"))
from elementwise import RUNNABLE, call  # noqa: E402
from references import error_in_ulp, exact  # noqa: E402
from samples import one_argument, two_arguments  # noqa: E402

from pydotcompute.backends.opencl.programs import options  # noqa: E402
from pydotcompute.ir.math import FUNCTIONS, bound  # noqa: E402
from pydotcompute.targets.opencl.dialect import OPENCL, OURS, prologue  # noqa: E402
from pydotcompute.targets.text import mathematics  # noqa: E402
from pydotcompute.targets.names import Names  # noqa: E402
from pydotcompute.targets.text.scalars import Scalars  # noqa: E402

BINARY = ("atan2", "hypot", "pow")
CASES = [(name, dtype) for name in sorted(FUNCTIONS) for dtype in ("float32", "float64")]


@functools.cache
def program():
    """All of them in one file, each in a kernel of its own."""
    scalars = Scalars(OPENCL, Names((), OPENCL.is_reserved))
    kernels = []
    for name, dtype in CASES:
        made = scalars.names.fresh(f"{name}_{dtype}")
        scalars.texts.append(mathematics.template(name)(scalars, dtype, made))
        t, inputs = OPENCL.types[dtype], ("a", "b") if name in BINARY else ("a",)
        parameters = ", ".join(f"global const {t} *{x}" for x in inputs)
        call = ", ".join(f"{x}[i]" for x in inputs)
        kernels.append(
            f"kernel void run_{name}_{dtype}({parameters}, global {t} *out)\n"
            f"{{ size_t i = get_global_id(0); out[i] = {made}({call}); }}"
        )
    lines = [*prologue(frozenset({"float64"})), *(line for text in scalars.texts for line in text), *kernels]
    return cl.Program(backend().context, "\n".join(lines)).build(options(backend().device))


def run(name, dtype, arrays):
    queue, flags = backend().queue, cl.mem_flags
    arrays = [np.ascontiguousarray(a) for a in arrays]
    given = [cl.Buffer(backend().context, flags.COPY_HOST_PTR, hostbuf=a) for a in arrays]
    got = np.empty_like(arrays[0])
    out = cl.Buffer(backend().context, flags.READ_WRITE, got.nbytes)
    kernel = cl.Kernel(program(), f"run_{name}_{dtype}")
    kernel.set_args(*given, out)
    cl.enqueue_nd_range_kernel(queue, kernel, got.shape, None)
    cl.enqueue_copy(queue, got, out, is_blocking=True)
    return got


def arguments(name, dtype):
    if name in BINARY:
        return two_arguments(name, dtype, 5_000)
    drawn = one_argument(name, dtype, 10_000)
    if name in ("erf", "erfc"):  # mpmath takes its time
        drawn = np.ascontiguousarray(drawn[:: max(1, drawn.size // 800)])
    return (drawn,)


@pytest.mark.parametrize("name, dtype", CASES)
def test_error(name, dtype):
    drawn = arguments(name, dtype)
    got, wanted = run(name, dtype, drawn), exact(name, *drawn)
    error = error_in_ulp(got, wanted)
    worst = int(np.argmax(error))
    print(f"{name} {dtype} {error[worst]:.3f}")
    assert error[worst] <= bound(name, dtype), (error[worst], [x[worst] for x in drawn], got[worst], wanted[worst])


@pytest.mark.slow
@pytest.mark.skipif("x86-64-v3" not in RUNNABLE, reason="this processor rounds a product and its sum apart")
@pytest.mark.parametrize("name, dtype", CASES)
def test_one_function_gives_the_same_bits_in_c_and_in_llvm(name, dtype):
    drawn = arguments(name, dtype)
    got, wanted = run(name, dtype, drawn), call("x86-64-v3", name, *drawn, fused=False)
    number = ~(np.isnan(got) & np.isnan(wanted))
    bits = f"u{wanted.itemsize}"
    assert (got[number].view(bits) == wanted[number].view(bits)).all()


@pytest.mark.parametrize("name, dtype", CASES)
def test_what_kernels_use(name, dtype):
    """The device's own function, or ours where the dialect says so: within the bound, too."""
    arity = "x, y" if name in BINARY else "x"
    inputs = ", ".join(f"{x}: {dtype}[n]" for x in arity.split(", "))
    body = f"for i in grid(n):\n    out[i] = {name}({arity.replace(',', '[i],')}[i])"
    built = loop(f"({inputs}) -> (out: {dtype}[n])", body)
    source = built.data.decode()
    used = "double" in source
    assert used == ("float64" in built.meta["features"]) == ("cl_khr_fp64" in source)
    assert bool(re.search(rf"\b{name}\(", source)) != (name in OURS and dtype == "float32")
    drawn = arguments(name, dtype)
    got = np.empty_like(drawn[0])
    built.call(*drawn, got)
    error = error_in_ulp(got, exact(name, *drawn))
    assert error.max() <= bound(name, dtype)
