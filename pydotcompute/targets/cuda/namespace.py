"""Every name that lowered Python for CUDA finds in its module."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ..llvm.conversions import conversions
from ..llvm.dialect import intrinsics
from ..llvm.memory import accesses, atomics
from ..llvm.operations import OPERATIONS, mixed
from .block_reduction import reductions
from .dialect import GENERATIONS, Capability, NvvmDialect
from .faults import faults
from .loop_intrinsics import loops
from .math import FUNCTIONS
from .memory import arrays
from .stored import converted
from .threads import threads
from .view_intrinsics import views


@cache
def _intrinsics(capability: Capability) -> dict[str, Any]:
    d = NvvmDialect(capability)
    made = {**intrinsics(d, OPERATIONS), **mixed(d), **conversions(d), **intrinsics(d, FUNCTIONS)}
    made |= {**accesses(d), **atomics(d, converted), **arrays(d)}
    return {**made, **threads(), **loops(d), **reductions(d), **faults(), **views()}


def namespace(capability: Capability) -> dict[str, Any]:
    """A fresh dictionary of globals for a generated module, for one generation of compute capabilities."""
    dtypes = {name: t for name, t in NvvmDialect(capability).numba_types.items() if name != "bool"}
    return {**dtypes, **_intrinsics(capability), "inf": math.inf, "nan": math.nan}


NAMES = frozenset(namespace(GENERATIONS[0]))
