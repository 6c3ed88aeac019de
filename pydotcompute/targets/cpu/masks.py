"""The question whether a processor loads and stores under a mask, so that what is left of a loop after its last vector
can be one more, of which some lanes do nothing.

A kernel's code, which names no processor, calls what is declared here, and each target links its own.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import types

from ..llvm.intrinsic import intrinsic
from ..llvm.values import I64, call

PREFIX = "masks."


@intrinsic
def under_mask(typing_context, rest):
    """So many iterations where the processor has masks, else none of them."""

    def emit(context, b, signature, values):
        return call(b, f"{PREFIX}rest", I64, *values)

    return types.int64(types.int64), emit


FUNCTIONS: dict[str, Callable] = {"under_mask": under_mask}


def masks_ir(there_are: bool) -> str:
    """LLVM IR that defines what such code calls; without masks nothing is left of it."""
    return f"""
define i64 @{PREFIX}rest(i64 %rest) alwaysinline {{
  ret i64 {"%rest" if there_are else "0"}
}}
"""
