"""Errors in units in the last place, over all exponents and on both sides of every threshold."""

import numpy as np
import pytest
from elementwise import BINARY, CASES, RUNNABLE, call
from references import error_in_ulp, exact
from samples import one_argument, two_arguments

from pydotcompute.ir.math import bound

def arguments(name, dtype):
    if name in BINARY:
        return two_arguments(name, dtype)
    if name in ("erf", "erfc"):  # mpmath takes its time
        return (np.concatenate([part[:: max(1, part.size // 1500)] for part in [one_argument(name, dtype)]]),)
    return (one_argument(name, dtype),)


@pytest.fixture(scope="module", params=CASES, ids="_".join)
def case(request):
    name, dtype = request.param
    drawn = arguments(name, dtype)
    return name, dtype, drawn, exact(name, *drawn)


@pytest.mark.parametrize("level", RUNNABLE)
def test_error(level, case):
    name, dtype, drawn, wanted = case
    got = call(level, name, *drawn)
    error = error_in_ulp(got, wanted)
    worst = int(np.argmax(error))
    assert error[worst] <= bound(name, dtype), (error[worst], [x[worst] for x in drawn], got[worst], wanted[worst])


def test_what_is_promised():
    """README.md says so."""
    assert {bound(name, "float32") for name, _ in CASES} == {2}
    assert {bound(name, "float64") for name, _ in CASES} == {2, 4}
