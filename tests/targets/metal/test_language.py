"""The language as texts for Metal, executed: tests of other targets, for all that Metal writes in its own way."""

import numpy as np
import pytest
from tests.metal import missing
from tests.targets import test_arithmetic as arithmetic
from tests.targets import test_index_checks as checks
from tests.targets import test_language as language
from tests.targets import test_programs as programs
from tests.targets import test_reductions as reductions
from tests.targets import test_scans as scans
from tests.targets import test_scatter as scatter
from tests.targets.built import loop
from tests.targets.storage import test_kernels as storage
from tests.targets.webgpu import test_mathematics as mathematics

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

TARGET = "metal:2.4"
CHOSEN = [
    *((arithmetic.test_integers, (dtype,)) for dtype in ("int8", "uint16", "uint32", "int64")),
    (arithmetic.test_floats, ("float32",)),
    *((arithmetic.test_conversions, (dtype,)) for dtype in ("bool", "uint64", "float32")),
    (arithmetic.test_complex, ("complex64",)),
    (arithmetic.test_remainders_of_any_floats, ("float32",)),
    *((language.test_atomics, (dtype,)) for dtype in ("int8", "int16", "int32", "float32")),
    (language.test_atomics_of_shared_memory, ()),
    (language.test_private_arrays_and_values_of_the_block, (100,)),
    (language.test_helpers_take_arrays_and_return_tuples, ()),
    (language.test_a_declared_grid_of_any_size_does_everything, ()),
    (language.test_layouts, ()),
    (language.test_names_that_generated_code_uses_itself, ()),
    (programs.test_scratch_in_a_parallel_loop, ()),
    (programs.test_reductions_that_steer, ()),
    (reductions.test_the_error_of_a_sum, ("float32", "threads")),
    (reductions.test_min_and_max_propagate_nan_and_know_signed_zeros, ()),
    (scans.test_in_a_block, ()),
    (scatter.test_views_and_places_of_two_dimensions, ()),
    (storage.test_atomics, ("float16",)),
    (storage.test_views_and_fills, ("bfloat16",)),
    *((mathematics.test_error, (name,)) for name in ("exp", "erfc", "hypot", "pow", "sin")),  # all but exp in its own way
    (checks.test_a_gather_by_any_index, ()),
    (checks.test_stores_and_atomics_outside_are_skipped, ()),
    (checks.test_nothing_hangs_after_a_fault, (checks.ENDLESS[-1],)),
    (checks.test_what_others_have_left_out_keeps_nobody_waiting, (checks.LEFT_OUT[1],)),
    (checks.test_threads_of_a_block_decide_alike_after_a_fault_of_one, (checks.ASKED[0],)),
]


@pytest.mark.parametrize("test, arguments", CHOSEN, ids=lambda x: x.__name__ if callable(x) else "-".join(map(str, x))[:20])
def test_as_on_other_targets(test, arguments):
    test(TARGET, *arguments)


def test_names_that_mean_something_in_metal():
    words = "device threadgroup thread constant metal packed_float2 as_type precise mem_flags atomic_int uint3 kernel vec".split()
    body = "for i in grid(n):\n    {}\n    out[i] = {}".format("\n    ".join(f"{w} = {w}_[i]" for w in words), " + ".join(words))
    built = loop(TARGET, f"({', '.join(f'{w}_: float32[n]' for w in words)}) -> (out: float32[n])", body)
    x = np.arange(5, dtype="f4")
    assert (built.call(*[x + k for k in range(13)]) == 13 * x + 78).all()
    other = loop(TARGET, "(device: float32[half], _given: float32) -> (threadgroup: float32[half])",
                 "for thread in grid(half):\n    threadgroup[thread] = device[thread] * _given")  # fmt: skip
    assert (other.call(x, 2) == 2 * x).all()


SPECIAL = np.array([0.0, -0.0, 1, -1.5, 2, 1e-45, 3e-39, -1e30, 3e38, np.inf, -np.inf, np.nan], "f4")


def test_functions_that_compute_in_more_than_float32_at_the_ends_of_their_range():
    """Zeros, denormals, what overflows, infinities and NaN: by the interpreter, which has float64."""
    body = "for i in grid(n):\n    p[i] = pow(x[i], y[i])\n    h[i] = hypot(x[i], y[i])\n    s[i] = sin(x[i])\n    e[i] = erfc(x[i])"
    outputs = ", ".join(f"{name}: float32[n]" for name in "phse")
    built = loop(TARGET, f"(x: float32[n], y: float32[n]) -> ({outputs})", body)
    x, y = (np.ascontiguousarray(a.reshape(-1)) for a in np.meshgrid(SPECIAL, SPECIAL))
    for got, wanted in zip(built.call(x, y), built.python(x, y)):
        assert np.array_equal(np.isnan(got), np.isnan(wanted)) and np.allclose(got, wanted, 3e-7, 3e-45, equal_nan=True)
        assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(wanted)].all()
