"""The listed functions of the kernel language that are more than one instruction, as scalar Numba functions.

`FUNCTIONS["exp"]["float32"]` is called from generated Numba code; LLVM inlines it, and vectorises a loop around it at
every x86-64 level: there is no branch and no table in any of them, and no call but that of lanes.py. The bits of a
result depend on the arguments and the target alone. Special values are those of C99, annex F. Largest errors, in
units in the last place, as the tests measure them:

    below 1     exp, cbrt, hypot (float32: 0.5), pow and erfc of float32
    below 1.2   exp2, log, log2, log10, cosh, erf, acos, hypot
    below 1.6   expm1, log1p, rsqrt, sin, cos, pow
    below 2.2   sinh, tanh, asin, atan, atan2, tan
    below 4     erfc of float64
"""

from . import exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric

_FILES = (exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric)
FUNCTIONS = {name: by_dtype for file in _FILES for name, by_dtype in file.FUNCTIONS.items()}
