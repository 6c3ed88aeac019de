"""What serves a call where no machine code of a bundle runs on this machine: the kernel's declared reference, in NumPy.

Only where the package that the bundle is part of asked for it when it was built (`fallback = "reference"`). A warning
says so once a library, and `which()` for every call.
"""

from __future__ import annotations

import warnings
from functools import cache
from inspect import signature
from sys import platform
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ..artifact.cpu_levels import machine
from ..artifact.dtypes import kind
from ..errors import ReferenceFallbackWarning

if TYPE_CHECKING:
    from ..cache.manifest import KernelRecord
    from ..calls.arguments import Call
    from .choice import Which

_told: set[str] = set()  # folders of bundles


class Reference:
    """Runs checked calls of one specialisation, as `check` asks the reference: in float64, rounded to each output's
    own type. folder: of the bundle. Raises whatever the reference raises."""

    def __init__(self, record: KernelRecord, folder: str):
        self.record, self.folder = record, folder

    def __call__(self, call: Call) -> Any:
        values, finish = call.complete()
        inputs = {p.name: _widened(values[p.name]) for p in call.specialisation.parameters if p.role in ("in", "inout")}
        dims = {"size": call.dims["rows"], **call.dims} if "rows" in call.dims else call.dims
        names = {**call.specialisation.params, **dims, **inputs}
        written = [p for p in call.specialisation.parameters if p.writable and p.role != "temp"]
        with np.errstate(all="ignore"):
            results = self._evaluated(names)
            for p, result in zip(written, results, strict=True):
                given, array = np.asarray(result), values[p.name]
                part = array[: len(given)] if p.length else array  # what lies behind a trimmed output does not count
                part[...] = given.astype(array.dtype, copy=False)
        return finish()

    def _evaluated(self, names: dict[str, Any]) -> tuple[Any, ...]:
        declared = self.record.reference
        if ".py:" in declared[0]:
            file, _, name = declared[0].partition(":")
            function = _function(f"{self.folder}/{file}", name)
            asked = signature(function).parameters
            result = function(**{name: value for name, value in names.items() if name in asked})
        else:
            found = tuple(eval(text, {"np": np, **names}) for text in declared)
            result = found if len(found) > 1 else found[0]
        return result if isinstance(result, tuple) else (result,)


def tell(which: Which, folder: str) -> None:
    """Warn, once a library, that references serve in the place of machine code."""
    if folder not in _told:
        _told.add(folder)
        warnings.warn(f"{folder}: {reason(which)}", ReferenceFallbackWarning, stacklevel=5)


def reason(which: Which) -> str:
    """Why no machine code serves the call."""
    own = [r for r in which.rejected if r.specialization == which.specialization]
    why = "; ".join(f"{r.target}: {r.reason}" for r in own) or "nothing is built"
    return (
        f"no machine code of {which.kernel} runs here, on {platform} {machine()} ({why}); "
        "its declared reference serves in its place, in NumPy"
    )


@cache
def _function(path: str, name: str) -> Callable[..., Any]:
    """Of a file of references, which is executed once."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("pydotcompute_reference", path)
    assert spec is not None and spec.loader is not None  # a name in .py has both
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


def _widened(value: Any) -> Any:
    """An array in float64, where it is of floats, that the reference may write to; a scalar as Python's, so that
    integers do not wrap: as `check` gives them."""
    if not isinstance(value, np.ndarray):
        return value.item()
    letter = kind(value.dtype)
    if letter in "fc":
        return value.astype(np.float64 if letter == "f" else np.complex128, order="C")
    return np.array(value, order="C")
