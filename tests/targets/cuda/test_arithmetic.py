"""What of arithmetic is CUDA's own: one rounding or two in its PTX, and libdevice's functions."""

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import loop

FUNCTIONS = {
    "exp": (-80, 80), "exp2": (-120, 120), "expm1": (-5, 5), "log": (0, 1e4), "log2": (0, 1e4), "log10": (0, 1e4),
    "log1p": (-0.9, 50), "sin": (-1e5, 1e5), "cos": (-1e5, 1e5), "tan": (-1.5, 1.5), "asin": (-1, 1), "acos": (-1, 1),
    "atan": (-50, 50), "sinh": (-20, 20), "cosh": (-20, 20), "tanh": (-5, 5), "erf": (-4, 4), "erfc": (-4, 4),
    "rsqrt": (0, 1e4), "cbrt": (-1e4, 1e4), "sqrt": (0, 1e4),
}  # fmt: skip


def test_a_product_and_a_sum_are_one_operation_only_where_that_is_allowed():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 4000)).astype("f4")
    signature, body = (
        "(x: float32[n], y: float32[n]) -> (out: float32[n])",
        "for i in grid(n):\n    out[i] = x[i] * y[i] + 1",
    )
    fused, apart = loop(signature, body), loop(signature, body, "fastmath: []")
    exact = x.astype("f8") * y + 1
    assert "fma.rn.f32" in fused.ptx and "fma" not in apart.ptx
    assert (fused.call(x, y) == exact.astype("f4")).all()
    assert (apart.call(x, y) == x * y + np.float32(1)).all() and (apart.call(x, y) != fused.call(x, y)).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementary_functions(dtype):
    """Every listed function is near its value, at ordinary arguments and at special ones."""
    outputs = ", ".join(f"o{name}: {dtype}[n]" for name in [*FUNCTIONS, "hypot", "atan2", "pow"])
    inputs = ", ".join(f"x{name}: {dtype}[n]" for name in FUNCTIONS)
    lines = [f"    o{name}[i] = {name}(x{name}[i])" for name in FUNCTIONS]
    lines += [
        f"    o{name}[i] = {name}({a}, xatan[i])"
        for name, a in (("hypot", "xtanh[i]"), ("atan2", "xtanh[i]"), ("pow", "xrsqrt[i]"))
    ]
    built = loop(f"({inputs}) -> ({outputs})", "for i in grid(n):\n" + "\n".join(lines))
    rng = np.random.default_rng(1)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype)
    arguments = [
        np.r_[rng.uniform(max(low, -6e4), min(high, 6e4), 60).astype(dtype), special]
        for low, high in FUNCTIONS.values()
    ]
    got, wanted = built.call(*arguments), built.python(*arguments)
    eps = float(np.finfo(dtype).eps)
    for name, g, w in zip([*FUNCTIONS, "hypot", "atan2", "pow"], got, wanted):
        kinds = np.isnan(g) == np.isnan(w)
        assert kinds.all() and (np.isinf(g) == np.isinf(w)).all(), name
        finite = np.isfinite(w)
        error = np.abs(g[finite].astype("f8") - w[finite].astype("f8")) / np.maximum(
            np.abs(w[finite].astype("f8")), np.finfo(dtype).tiny
        )
        assert error.max() <= 8 * eps, (name, error.max() / eps)
        zero = w == 0
        assert (np.signbit(g[zero]) == np.signbit(w[zero])).all(), name
