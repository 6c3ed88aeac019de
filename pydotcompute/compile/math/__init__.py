"""The listed functions of the kernel language that are more than one instruction, as scalar Numba functions.

`FUNCTIONS["exp"]["float32"]` is called from generated Numba code; LLVM inlines it, and vectorises a loop around it at
every x86-64 level: no branch, no call, and no table is in any of them. The bits of a result depend on the argument
and the target alone. Special values are those of C99, annex F.
"""

from . import exponential, hyperbolic, inverse, logarithm, power, roots, special, trigonometric32

FUNCTIONS = {**exponential.FUNCTIONS, **logarithm.FUNCTIONS, **hyperbolic.FUNCTIONS, **special.FUNCTIONS, **inverse.FUNCTIONS, **power.FUNCTIONS, **roots.FUNCTIONS}
for _name, _function in trigonometric32.FUNCTIONS.items():
    FUNCTIONS[_name] = {"float32": _function}
