"""The listed functions as PTX: their errors in units in the last place, ours and libdevice's."""

import os
import sys

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import ROOT, loop

sys.path.append(os.path.join(ROOT, "tests", "math"))
from elementwise import BINARY, RUNNABLE, call as on_processor  # noqa: E402
from references import error_in_ulp, exact  # noqa: E402
from samples import one_argument, two_arguments  # noqa: E402

from pydotcompute.ir.math import FUNCTIONS, FUSED, bound  # noqa: E402
from pydotcompute.targets.cuda.math import LIBDEVICE, is_ours  # noqa: E402

CASES = [(name, dtype) for name in sorted(FUNCTIONS) for dtype in ("float32", "float64")]


def arguments(name, dtype, count=1500):
    drawn = two_arguments(name, dtype, count) if name in BINARY else (one_argument(name, dtype, count),)
    size = drawn[0].size
    picked = np.random.default_rng(4).permutation(size)[:count]
    return [np.ascontiguousarray(part[picked]) for part in drawn]


@pytest.mark.slow
@pytest.mark.parametrize("name, dtype", CASES)
def test_error(name, dtype):
    drawn = arguments(name, dtype)
    letters = "xy"[: len(drawn)]
    inputs = ", ".join(f"{x}: {dtype}[n]" for x in letters)
    call = ", ".join(f"{x}[i]" for x in letters)
    built = loop(f"({inputs}) -> (out: {dtype}[n])", f"for i in grid(n):\n    out[i] = {name}({call})")
    got = built.call(*drawn)
    error = error_in_ulp(got, exact(name, *drawn))
    worst = int(np.argmax(error))
    assert error[worst] <= bound(name, dtype), (error[worst], [x[worst] for x in drawn], got[worst])
    exactly_ours = is_ours(name, dtype) and dtype not in FUSED.get(name, {})  # those take a quotient that is only near
    if exactly_ours and "x86-64-v3" in RUNNABLE:  # where a product and its sum are rounded once, too
        wanted = on_processor("x86-64-v3", name, *drawn)
        number = ~(np.isnan(got) & np.isnan(wanted))
        assert (got[number].view(f"u{got.itemsize}") == wanted[number].view(f"u{got.itemsize}")).all()


def test_the_table_names_every_function():
    assert LIBDEVICE.keys() == FUNCTIONS.keys()
    ours = {name for name in LIBDEVICE if is_ours(name, "float32")}
    assert ours == {"log10", "tan", "atan2", "sinh", "cosh", "hypot", "pow", "erfc"}
    assert {name for name in LIBDEVICE if is_ours(name, "float64")} == {"erfc"}
