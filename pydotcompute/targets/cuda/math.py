"""The listed functions of the kernel language for NVVM: libdevice's where their errors are within our bound, else those
of ir/math."""

from __future__ import annotations

from numba import types

from ...ir.functions import FUNCTIONS as LISTED
from ...ir.math import bound
from ...ir.math.storage import STORAGE
from ..llvm.dialect import Emit, Table
from ..llvm.mathematics import defined
from ..llvm.values import PARTS, constant, parts
from .dialect import device
from .stored import converted

FUNCTIONS = Table()
operation = FUNCTIONS.operation

# libdevice's largest errors in float32 and float64, in units in the last place: those of the CUDA C++ Programming Guide
# ("Mathematical Functions", "Standard Functions"; counted from the rounded result), but for log10 and cosh of float32,
# which are further from the exact result, as interpreted PTX shows. What is beyond `bound` comes from ir/math instead:
# log10, tan, atan2, sinh, cosh, hypot, pow and erfc of float32 (bound 2), erfc of float64 (bound 4).
LIBDEVICE = {
    "rsqrt": (2, 1), "cbrt": (1, 1), "hypot": (3, 2), "pow": (4, 2),
    "exp": (2, 1), "exp2": (2, 1), "expm1": (1, 1),
    "log": (1, 1), "log2": (1, 1), "log10": (2.01, 1), "log1p": (1, 1),
    "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "asin": (2, 2), "acos": (2, 2), "atan": (2, 2), "atan2": (3, 2),
    "sinh": (3, 2), "cosh": (2.13, 1), "tanh": (2, 1), "erf": (2, 2), "erfc": (4, 5),
}  # fmt: skip


def is_ours(name: str, dtype: str) -> bool:
    """Whether a listed function comes from ir/math."""
    return LIBDEVICE[name][dtype == "float64"] > bound(name, dtype)


def _listed(name: str, dtype: str) -> Emit:
    if is_ours(name, dtype):
        return lambda d, b, t, *values: b.call(defined(d, b.module, name, dtype, fused=True), values)
    return lambda d, b, t, *values: device(b, name, t, *values)


for _name in LIBDEVICE:
    for _dtype in ("float32", "float64"):
        operation(f"{_name}_{_dtype}", len(LISTED[_name].arguments), "float")(_listed(_name, _dtype))


def _fma(d, b, t, x, y, z):
    return device(b, "fma", t, x, y, z)


for _dtype in ("float32", "float64"):
    operation(f"fma_{_dtype}", 3, "float")(_fma)


def _floored(b, t, x, y):
    """NumPy's x // y and x % y: m = fmod(x, y), moved by y where its sign is not y's."""
    zero, one = constant(t, 0.0), constant(t, 1.0)
    rest = device(b, "fmod", t, x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    other_sign = b.xor(b.fcmp_ordered("<", y, zero), b.fcmp_ordered("<", rest, zero))
    moved = b.and_(b.fcmp_unordered("!=", rest, zero), other_sign)
    quotient = b.select(moved, b.fsub(quotient, one), quotient)
    remainder = b.select(moved, b.fadd(rest, y), rest)
    remainder = b.select(b.fcmp_ordered("==", rest, zero), device(b, "copysign", t, zero, y), remainder)
    whole = device(b, "floor", t, quotient)
    whole = b.select(b.fcmp_ordered(">", b.fsub(quotient, whole), constant(t, 0.5)), b.fadd(whole, one), whole)
    nothing = device(b, "copysign", t, zero, b.fdiv(x, y))
    quotient = b.select(b.fcmp_unordered("!=", quotient, zero), whole, nothing)
    return b.select(b.fcmp_ordered("==", y, zero), b.fdiv(x, y), quotient), remainder


for _dtype in ("float32", "float64"):
    operation(f"floordiv_{_dtype}", 2, "float")(lambda d, b, t, x, y: _floored(b, t, x, y)[0])
    operation(f"mod_{_dtype}", 2, "float")(lambda d, b, t, x, y: _floored(b, t, x, y)[1])


for _name, (_dtype, _) in STORAGE.items():
    _gives = types.float32 if _name.startswith(("of", "r")) else types.int32
    operation(f"{_name}_{_dtype}", 1, "int float", lambda t, gives=_gives: gives)(
        lambda d, b, t, x, name=_name: converted(d, b, name, x)
    )


def _modulus(d, b, t, x):
    return FUNCTIONS[f"hypot_{PARTS[t]}"].emit(d, b, PARTS[t], *parts(b, x))


operation("abs_complex64", 1, "complex", lambda t: PARTS[t])(_modulus)
operation("abs_complex128", 1, "complex", lambda t: PARTS[t])(_modulus)
