"""`scatter` on CUDA: the PTX stores each element whole, and one of the values that meet stays."""

import re

import numpy as np
import pytest

from tests.targets.cuda.cuda_support import loop, same

BODY = """
    for i in grid(n):
        scatter(out, k[i], v[i])
"""


def draw(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def copied(array):
    """Of a transposed array, too, with an array of rows behind it."""
    return array.copy() if array.flags.c_contiguous else array.T.copy().T


def agree(built, *args):
    """The call by PTX and by the interpreter, on copies: equal to the bit."""
    mine, other = ([copied(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    got, wanted = built.call(*mine), built.python(*other)
    for k, (g, w) in enumerate(zip(*(v if isinstance(v, tuple) else (v,) for v in (got, wanted)))):
        same(np.asarray(g), np.asarray(w), f"output {k}")
    for g, w in zip(mine, other):
        same(np.asarray(g), np.asarray(w), "an argument")


DTYPES = (
    "bool int8 uint16 int32 uint64 float16 float32 float64 complex64 complex128"
).split()  # fmt: skip


def values(dtype, n):
    v = draw(n, dtype="f4") * 40
    return (v + 1j * v[::-1]).astype(dtype) if dtype.startswith("complex") else v.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_of_the_values_that_meet_stays(dtype):
    built = loop(f"(k: int64[n], v: {dtype}[n], b: int64) -> (out: {dtype}[b] = 0)", BODY)
    v, at = values(dtype, 500), np.random.default_rng(3).integers(0, 6, 500)
    for seed in range(3):
        out = built.call(at, v, 7, seed=seed)
        assert all(out[j] in v[at == j] for j in range(6)) and out[6] == 0
    agree(built, np.random.default_rng(4).permutation(500), v, 500)


def test_a_complex64_is_stored_at_once():
    """By one instruction of 8 bytes; in two where its array is aligned to the parts alone."""
    built = loop("(k: int64[n], v: complex64[n], b: int64) -> (out: complex64[b] = 0)", BODY, "unchecked: true")
    stores = re.findall(r"st\.global[.\w]*", built.ptx)
    assert set(stores) == {"st.global.f32", "st.global.u64"}
    assert stores.count("st.global.f32") == 2 * stores.count("st.global.u64")
