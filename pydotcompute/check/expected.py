"""What a case should give: by the kernel's reference in float64, and by the interpreter in the kernel's own types."""

from __future__ import annotations

import inspect
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from ..declare.model import Declaration, Kernel, Specialisation
from ..runtime.kernel import Kernel as Callable
from . import draw, faults, sizes

ORDERS = ("forward", "reverse", "random")
INTERPRETED = 1500  # elements at most for which the interpreter is asked
REORDERED = 150  # for which it is asked in every order


class Expected:
    """The expected values of one case, computed when they are first asked for and then kept for every target."""

    def __init__(
        self, declaration: Declaration, kernel: Kernel, specialisation: Specialisation, case: draw.Case, call: Callable,
        quick: bool = False,
    ):  # fmt: skip
        """`quick`: the interpreter, which is slow, is asked only where there is no reference."""
        self.most = -1 if quick and kernel.reference is not None else INTERPRETED
        self.declaration, self.kernel, self.specialisation, self.case, self.call = (
            declaration, kernel, specialisation, case, call,
        )  # fmt: skip
        self.elements = int(np.prod([float(n) for n in case.dims.values()]))

    @cached_property
    def interpreted(self) -> dict[str, dict[str, np.ndarray] | str]:
        """Order → the written arrays by name, or what the interpreter raised. Empty where the case is too large."""
        if self.elements > self.most:
            return {}
        orders = ORDERS if self.elements <= REORDERED else ORDERS[:1]
        return {order: self._interpret(order) for order in orders}

    def _interpret(self, order: str) -> dict[str, np.ndarray] | str:
        arguments = {name: copy(value) for name, value in self.case.arguments.items()}
        outputs = {name: np.zeros_like(value) for name, value in self.case.outputs.items()}
        try:
            self.call.python(**arguments, **outputs, **dict(self.specialisation.params), order=order)
        except Exception as error:  # whatever it raises is the finding
            return f"{type(error).__name__}: {error}"
        both = {**arguments, **outputs}
        return {p.name: both[p.name] for p in self.kernel.signature.parameters if p.writable}

    @cached_property
    def reference(self) -> tuple[Any, ...]:
        """One value for each written argument, in the order of the signature; nothing if none is declared."""
        text = self.kernel.reference
        if text is None:
            return ()
        wide = {name: _widen(value) for name, value in self.case.arguments.items()}
        names = {**dict(self.specialisation.params), **sizes.complete(self.kernel, self.case.dims), **wide}
        with faults.of("its reference", text), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, about means of nothing
            if isinstance(text, str) and ".py:" in text:
                function = draw.from_file(text, self.declaration.root)
                asked = inspect.signature(function).parameters
                result = function(**{name: value for name, value in names.items() if name in asked})
            elif isinstance(text, tuple):
                result = tuple(eval(part, {"np": np, **names}) for part in text)
            else:
                result = eval(text, {"np": np, **names})
            result = result if isinstance(result, tuple) else (result,)
            return self._fitting(result)

    def _fitting(self, result: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same, each of the shape of what it is the reference of."""
        both = {**self.case.arguments, **self.case.outputs}
        written = [p.name for p in self.kernel.signature.parameters if p.writable]
        if len(result) != len(written):
            raise ValueError(f"{len(result)} values; the kernel writes {len(written)}: {', '.join(written)}")
        for name, value in zip(written, result):
            if np.ndim(value) and np.shape(value) != both[name].shape:
                raise ValueError(f"an array of shape {np.shape(value)}; '{name}' has {both[name].shape}")
        return tuple(np.broadcast_to(value, both[name].shape) for name, value in zip(written, result))


def copy(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


def _widen(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return value.astype(np.float64 if value.dtype.kind == "f" else np.complex128)
    return copy(value)
