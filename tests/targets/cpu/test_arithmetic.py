"""Vector bodies and remainders of an array round alike."""

import numpy as np
from tests.targets.cpu.compiled import kernel


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
