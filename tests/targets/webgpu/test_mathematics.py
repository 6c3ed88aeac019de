"""The listed functions of float32 in WGSL, on a device: their errors in units in the last place, where arguments and
results are finite and no denormals, of which nothing is promised there."""

import os
import sys

import numpy as np
import pytest
from tests.targets.built import loop, marked
from tests.targets.references import PROJECT

sys.path.append(os.path.join(PROJECT, "tests", "math"))
from references import error_in_ulp, exact  # noqa: E402
from samples import one_argument, two_arguments  # noqa: E402

from pydotcompute.ir.math import FUNCTIONS, bound  # noqa: E402

BINARY = ("atan2", "hypot", "pow")
NAMES = sorted(FUNCTIONS)
MOST = 3000


def arguments(name):
    drawn = two_arguments(name, "float32", MOST) if name in BINARY else (one_argument(name, "float32", MOST),)
    most = 600 if name in ("erf", "erfc") else 20 * MOST  # mpmath takes its time
    step = max(1, drawn[0].size // most)
    return [np.ascontiguousarray(x[::step]) for x in drawn]


@pytest.mark.parametrize("target, name", [marked("webgpu", name) for name in NAMES])
def test_error(target, name):
    arity = "x, y" if name in BINARY else "x"
    inputs = ", ".join(f"{x}: float32[n]" for x in arity.split(", "))
    body = f"for i in grid(n):\n    out[i] = {name}({arity.replace(',', '[i],')}[i])"
    built = loop(target, f"({inputs}) -> (out: float32[n])", body)
    drawn = arguments(name)
    got, wanted = built.call(*drawn), exact(name, *drawn)
    limits = np.finfo("f4")
    usual = np.logical_and.reduce([np.abs(v) >= limits.tiny for v in (*drawn, wanted)])
    usual &= np.logical_and.reduce([np.abs(v) <= limits.max for v in (*drawn, wanted)])
    assert usual.sum() > 300
    error = error_in_ulp(got[usual], wanted[usual])
    worst = int(np.argmax(error))
    print(f"{name} {error[worst]:.3f}")
    at = [x[usual][worst] for x in drawn]
    assert error[worst] <= bound(name, "float32"), (error[worst], at, got[usual][worst], wanted[usual][worst])
