"""The listed functions of the kernel language that are more than one instruction, each once, as helpers of the typed
tree over fma, bit casts and selections: any target can print them.

`FUNCTIONS["exp"]["float32"]` is Python over the values of bits.py; `helpers("exp", "float32")` is the tree. There is
no branch and no table but for large arguments of sin, cos and tan. The bits of a result depend on the arguments alone,
where a target's `fmuladd` rounds once. Special values are those of C99, annex F.
"""

from __future__ import annotations

from functools import cache

from ..tree import Helper
from . import circular, exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric
from .bits import narrow, widen
from .helpers import traced

_FILES = (exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric)
FUNCTIONS = {name: by_dtype for file in _FILES for name, by_dtype in file.FUNCTIONS.items()}
_ARGUMENTS = {"atan2": ("y", "x"), "hypot": ("x", "y"), "pow": ("x", "y")}


@cache
def helpers(name: str, dtype: str) -> tuple[Helper, ...]:
    """The helper NAME_DTYPE of a listed function, after those that it calls. Raises KeyError where there is none."""
    parameters = [(parameter, dtype) for parameter in _ARGUMENTS.get(name, ("x",))]
    made = traced(f"{name}_{dtype}", FUNCTIONS[name][dtype], parameters)
    return (*_called_by(name, dtype), made)


def _called_by(name: str, dtype: str) -> tuple[Helper, ...]:
    if name not in ("sin", "cos", "tan"):
        return ()
    compute = circular.large(name)
    wide = traced(f"large_{name}_float64", compute, [("x", "float64")])
    if dtype == "float64":
        return circular.table(), wide
    return circular.table(), traced(f"large_{name}_float32", lambda x: narrow(compute(widen(x))), [("x", "float32")])
