"""`intrinsic`: numba's decorator of functions that emit LLVM IR, without what it does again at each of their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.extending import _Intrinsic
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

_REGISTRIES: dict[Any, Any] = {}  # by typing context: where implementations for its target are registered


class _Known:
    """A template that looks for its target's registry once. Numba's looks at each call whether other packages have
    added to the target, which took a fifth of the time for CUDA; lowering does so where it misses something."""

    context: Any

    def _get_target_registry(self, reason: str) -> Any:
        if self.context not in _REGISTRIES:
            _REGISTRIES[self.context] = super()._get_target_registry(reason)  # type: ignore[misc]
        return _REGISTRIES[self.context]


def intrinsic(function: Callable) -> _Intrinsic:
    """function: (typing context, a type for each argument) → (signature, what emits the code)."""
    made = _Intrinsic(function.__name__, function)
    theirs = make_intrinsic_template(made, function, function.__name__)
    template = type(theirs)(theirs.__name__, (_Known, theirs), {})
    infer(template)
    infer_global(made, types.Function(template))
    return made
