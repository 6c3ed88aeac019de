"""Vector bodies and remainders of an array round alike; what is known of dimensions spares instructions."""

import numpy as np
from tests.targets.cpu.compiled import kernel, tree_of

from pydotcompute.targets.cpu.compiler import kernel_ir, optimised
from pydotcompute.targets.cpu.lowering import lower


def test_contraction_is_the_same_everywhere_in_an_array():
    """Vector body and remainder round alike, and only where fastmath allows it is there one rounding."""
    x, y = (np.random.default_rng(s).normal(size=67).astype("f4") for s in (0, 1))
    sums = ["p[i] = x[i] * y[i] + y[i]", "q[i] = y[i] - x[i] * y[i]", "s[i] = x[i] * y[i] - x[i] * x[i]"]
    body = "\n    ".join(["for i in grid(n):", *sums])
    signature = "(x: float32[n], y: float32[n]) -> (p: float32[n], q: float32[n], s: float32[n])"
    fused, apart = (kernel(body, signature, types="", extra=f"fastmath: [{flags}]") for flags in ("contract", ""))
    wide = x.astype("f8") * y
    once = {"p": (wide + y).astype("f4"), "q": (y - wide).astype("f4"), "s": (wide - np.float64(x * x)).astype("f4")}
    twice = {"p": x * y + y, "q": y - x * y, "s": x * y - x * x}
    for k, wanted in ((fused, once), (apart, twice)):
        for n in range(1, 68):
            got = {name: np.zeros(n, "f4") for name in "pqs"}
            k({"n": n}, x=x, y=y, **got)
            for name in "pqs":
                assert (got[name] == wanted[name][:n]).all()


def test_dimensions_and_counts_are_known_to_be_no_less_than_zero():
    """The remainder of what is not negative by what is not needs no look at signs."""
    body = "for i, j in grid(n, m):\n    out[i, j] = x[i, j // 2 % m]"
    signature = "(x: int64[n, m]) -> (out: int64[n, m])"
    text = kernel_ir(lower(tree_of(body, signature, types="")), "f.py")
    assert "!range" in text
    made = str(optimised(text, "cpu:x86-64-v3", "f")[0])
    assert "urem" in made and "srem" not in made
    x = np.arange(35).reshape(5, 7)
    out = np.zeros_like(x)
    kernel(body, signature, types="")({"n": 5, "m": 7}, x=x, out=out)
    assert (out == x[:, np.arange(7) // 2 % 7]).all()
