"""The listed functions of the kernel language that are more than one instruction, each once, as helpers of the typed
tree over fma, bit casts and selections: any target can print them.

`FUNCTIONS["exp"]["float32"]` is Python over the values of bits.py; `helpers("exp", "float32")` is the tree. There is
no branch and no table but for large arguments of sin, cos and tan. The bits of a result depend on the arguments alone,
where a target's `fmuladd` rounds once. Special values are those of C99, annex F. Largest errors, in units in the last
place, as tests/math measures them on CPUs:

    below 1     exp, log, cbrt, sin and cos of float64, and tan, hypot and (not `FUSED`) erfc of float32
    below 1.6   exp2, expm1, log2, log10, log1p, sin, cos and tanh of float32, acos, cosh, erf, pow, hypot, rsqrt
    below 2     sinh, tanh of float64, asin of float32, atan, atan2, and, `FUSED`, erfc of float32
    below 2.5   asin and tan of float64
    below 4     erfc of float64

Without float64, sin and cos of float32 stay below 1, tan below 1.6.
"""

from __future__ import annotations

from functools import cache

from ..functions import FUNCTIONS as LISTED
from ..tree import Helper
from . import circular, exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric
from .bits import called, narrow, widen
from .helpers import NEAR_QUOTIENT, traced
from .storage import STORAGE

_FILES = (exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric)
FUNCTIONS = {name: by_dtype for file in _FILES for name, by_dtype in file.FUNCTIONS.items()}
#: of some a faster way, for processors on which `fmuladd` rounds once
FUSED = power.FUSED | special.FUSED
_CIRCULAR = ("sin", "cos", "tan")
_WITHIN_2 = "exp exp2 expm1 log log2 log10 log1p sin cos rsqrt hypot cbrt pow".split()


@cache
def helpers(name: str, dtype: str, has_float64: bool = True, fused: bool = False) -> tuple[Helper, ...]:
    """The helper NAME_DTYPE of a listed function, or of one of STORAGE, after those that it calls. KeyError: there is
    none. has_float64: of the target; without it sin, cos and tan of float32 reduce in integers, as large ones do.
    fused: `fmuladd` rounds once."""
    if name in STORAGE:
        return (traced(f"{name}_{dtype}", STORAGE[name][1], [("x", dtype)]),)
    if name in _CIRCULAR and dtype == "float32" and not has_float64:
        made = traced(f"{name}_{dtype}", circular.NARROW.large(name), [("x", dtype)])
        return (*circular.NARROW.called, made)
    parameters = [(parameter, dtype) for parameter in LISTED[name].arguments]
    by_dtype = FUNCTIONS[name] | (FUSED.get(name, {}) if fused else {})
    made = traced(f"{name}_{dtype}", by_dtype[dtype], parameters)
    return (*_called_by(name, dtype, fused), made)


def bound(name: str, dtype: str) -> int:
    """The largest error of a listed function in units in the last place, on every target."""
    return 2 if dtype == "float32" or name in _WITHIN_2 else 4


def _called_by(name: str, dtype: str, fused: bool) -> tuple[Helper, ...]:
    if fused and dtype in FUSED.get(name, {}):
        return (NEAR_QUOTIENT,)
    if name not in _CIRCULAR:
        return ()
    wide = traced(f"large_{name}_float64", circular.WIDE.large(name), [("x", "float64")])
    if dtype == "float64":
        return *circular.WIDE.called, wide
    narrowed = traced(f"large_{name}_float32", lambda x: narrow(called(wide, widen(x))), [("x", "float32")])
    return *circular.WIDE.called, wide, narrowed
