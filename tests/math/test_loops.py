"""Loops over the functions are vectorised at every level, call nothing outside, and give each element the same bits
wherever it stands."""

import re

import numpy as np
import pytest
from elementwise import BINARY, CASES, LEVELS, RUNNABLE, call, compiled
from samples import any_bits, one_argument

_REGISTER = {"x86-64-v2": "xmm", "x86-64-v3": "ymm", "x86-64-v4": "zmm"}


def body_of(assembly, symbol):
    return assembly[assembly.index(f"\n{symbol}:") :].split(".Lfunc_end", 1)[0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name, dtype", CASES)
def test_a_loop_is_vectorised(level, name, dtype):
    body = body_of(compiled(level)[0], f"loop_{name}_{dtype}")
    packed = rf"\bv?(?:add|sub|mul|div|sqrt|fn?m(?:add|sub)\d+)p[sd]\s.*%{_REGISTER[level]}\d"
    assert len(re.findall(packed, body)) >= (2 if name in ("rsqrt", "hypot") else 8)
    called = {target.split("@")[0] for target in re.findall(r"\bcall\w*\s+(\S+)", body)}
    assert all(re.fullmatch(rf"lanes\.large_{name}_{dtype}(\.\d+)?", target) for target in called), called
    assert not called or any(target[-1].isdigit() and target.count(".") == 2 for target in called), called


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outside_is_needed(level):
    assembly = compiled(level)[0]
    defined = set(re.findall(r"^([\w.$]+):", assembly, re.M))
    called = {target.split("@")[0] for target in re.findall(r"\b(?:call|jmp)q?\s+([A-Za-z_][\w.$]*)", assembly)}
    assert called <= defined


@pytest.mark.parametrize("level", RUNNABLE)
@pytest.mark.parametrize("name, dtype", CASES)
def test_bits_do_not_depend_on_the_place(level, name, dtype):
    """The same 150 arguments in a long loop, and each in loops too short for vectors, at another alignment."""
    x = np.concatenate([one_argument(name, dtype)[-110:], any_bits(dtype, 40, 9)])
    arrays = (x, np.roll(x, 7)) if name in BINARY else (x,)
    together = call(level, name, *arrays)
    alone = np.concatenate([call(level, name, *(array[i : i + 1] for array in arrays)) for i in range(x.size)])
    pieces = [[array[:3] for array in arrays], [array[3:] for array in arrays]]
    shifted = np.concatenate([call(level, name, *piece) for piece in pieces])
    width = np.uint32 if dtype == "float32" else np.uint64
    number = ~np.isnan(together)
    for other in (alone, shifted):
        assert np.array_equal(np.isnan(other), ~number)
        assert np.array_equal(other[number].view(width), together[number].view(width))


@pytest.mark.parametrize("level", RUNNABLE)
def test_a_rare_argument_among_usual_ones(level):
    """One large argument in each place of a vector changes its own result alone."""
    for dtype in ("float32", "float64"):
        for name in ("sin", "cos", "tan"):
            usual = np.linspace(-9, 9, 67).astype(dtype)
            wanted = call(level, name, usual)
            large = call(level, name, np.array([3e30], dtype))[0]
            for place in range(67):
                mixed = usual.copy()
                mixed[place] = 3e30
                got = call(level, name, mixed)
                assert got[place] == large
                assert np.array_equal(np.delete(got, place), np.delete(wanted, place))
