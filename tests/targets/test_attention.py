"""Attention of more than one tile of queries and keys, and of values that tiles must not mix, where it has tiles."""

import itertools

import numpy as np
import pytest
from tests.budget import EVERYTHING
from tests.targets.built import compiled, marked
from tests.targets.references import PROJECT, named

from pydotcompute import declare
from pydotcompute.check import judge
from pydotcompute.targets import registry
from templates.references import attention

INF, NAN = np.inf, np.nan
# n, keys, d: beside a tile's sides, more queries than keys, parts of the depth.
SIZES = [(65, 70, 64), (70, 33, 61), (5, 130, 20), (6, 0, 4)]
FEW = [(1, 300, 64), (4, 129, 61), (3, 2, 20), (2, 0, 4)]  # queries: blocks share the keys of each
CHOICES = [("float32", 64), ("float32", 128), ("float32", 256), ("float64", 64), ("float64", 128), ("float64", 256)]


def agree(target, dtype, depth, causal, *arguments):
    kernel, specialisation = named("attention", f"T={dtype},CAUSAL={causal},DEPTH={depth}")
    key = (target, dtype, depth, causal)
    if key not in BUILT:
        backend, avx512 = target.partition(":")[0], registry.get(target).has_avx512(target)
        rendered = declare.render(kernel, specialisation, backend, PROJECT, (), avx512)
        BUILT[key] = compiled(target, kernel, specialisation, rendered)
    got = BUILT[key].call(*arguments, CAUSAL=causal, DEPTH=depth)
    with np.errstate(all="ignore"):
        wanted = attention(*(a.astype("f8") for a in arguments[:3]), float(arguments[3]), causal).astype(dtype)
    assert not judge.compared(kernel, "out", got, wanted, "the reference")[0]


BUILT = {}


def drawn(dtype, n, keys, d):
    rng = np.random.default_rng(n * keys + d)
    return [rng.standard_normal((1 + (d < 20), count, d)).astype(dtype) for count in (n, keys, keys)]


@pytest.mark.slow
@pytest.mark.parametrize("target, dtype, depth, causal", [
    *(marked("cuda:compute_80", *choice, causal) for choice, causal in itertools.product(CHOICES, (0, 1))
      if EVERYTHING or choice == CHOICES[0] or causal == CHOICES.index(choice) % 2),
    *(marked("hip:gfx1100", *choice, 1) for choice in CHOICES[2:4]),
    *(marked("webgpu", *choice, causal) for choice, causal in itertools.product(CHOICES[:1], (0, 1))),
])  # fmt: skip
def test_tiles_agree_with_the_reference(target, dtype, depth, causal):
    for n, keys, d in SIZES if dtype == "float32" and (depth == 64 or target != "hip:gfx1100") else SIZES[1:2]:
        q, k, v = drawn(dtype, n, keys, d * depth // 64)
        k -= np.dtype(dtype).type(2)  # where scores are far below 0, a key that is none would weigh most
        agree(target, dtype, depth, causal, abs(q), k, v, np.dtype(dtype).type(12.8 / depth))


@pytest.mark.slow
@pytest.mark.parametrize("target, dtype, depth, causal", [
    *(marked("cuda:compute_80", *choice, causal) for choice, causal in itertools.product(CHOICES, (0, 1))
      if EVERYTHING or choice[1] == 64),
    marked("hip:gfx1100", *CHOICES[2], 1),
])  # fmt: skip
def test_few_queries(target, dtype, depth, causal):
    for n, keys, d in FEW:
        q, k, v = drawn(dtype, n, keys, d * depth // 64)
        agree(target, dtype, depth, causal, q, k, v, np.dtype(dtype).type(0.2))


DEPTHS = [*(marked("cuda:compute_80", depth) for depth in (64, 128, 256)), marked("webgpu", 64)]


@pytest.mark.slow
@pytest.mark.parametrize("target, depth", DEPTHS)
def test_what_a_query_does_not_see_counts_for_nothing(target, depth):
    q, k, v = drawn("f4", 70, 70, 8)
    k[:, 66:] = v[:, 66:] = NAN
    k[:, 40], v[:, 41] = INF, -INF
    agree(target, "float32", depth, 1, q, k, v, np.float32(0.3))
    k[:, 66:69] = v[:, 66:69] = 1
    agree(target, "float32", depth, 1, q[:, :3].copy(), k, v, np.float32(0.3))


@pytest.mark.slow
@pytest.mark.parametrize("target, depth", DEPTHS)
@pytest.mark.parametrize("causal", [0, 1])
def test_scores_of_minus_infinity(target, depth, causal):
    """Of whole tiles before others, of all keys, and of one."""
    q, k, v = drawn("f4", 67, 140, 4)
    q, k = abs(q), abs(k)
    k[0, :64] = k[1] = -INF
    k[0, 100] = -INF
    for n in (67, 3):
        agree(target, "float32", depth, causal, q[:, :n].copy(), k, v, np.float32(0.3))
