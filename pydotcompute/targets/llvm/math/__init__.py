"""The listed functions of the kernel language that are more than one instruction, as scalar Numba functions.

`FUNCTIONS["exp"]["float32"]` is called from generated Numba code; LLVM inlines it, and vectorises a loop around it at
every x86-64 level: there is no branch and no table in any of them, and no call but that of lanes.py. The bits of a
result depend on the arguments and the target alone. Special values are those of C99, annex F. Largest errors, in
units in the last place, as the tests measure them:

    below 1     exp, log, cbrt, sin and cos of float64, and tan, erfc, pow and hypot of float32
    below 1.6   exp2, expm1, log2, log10, log1p, sin and cos of float32, acos, cosh, erf, pow, hypot, rsqrt
    below 2     sinh, tanh, asin of float32, atan, atan2
    below 2.5   asin and tan of float64
    below 4     erfc of float64
"""

from . import exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric

_FILES = (exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric)
FUNCTIONS = {name: by_dtype for file in _FILES for name, by_dtype in file.FUNCTIONS.items()}
