"""The reference that a kernel declares, evaluated; and where that serves a call, as no machine code of a bundle runs on
this machine: in NumPy.

Only where the package that the bundle is part of asked for it when it was built (`fallback = "reference"`). A warning
says so once a library, and `which()` for every call.
"""

from __future__ import annotations

import builtins
import warnings
from functools import cache
from inspect import signature
from sys import platform
from types import FunctionType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

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
        inputs = {p.name: widened(values[p.name]) for p in call.specialisation.parameters if p.role in ("in", "inout")}
        dims = {"size": call.dims["rows"], **call.dims} if "rows" in call.dims else call.dims
        names = {**call.specialisation.params, **dims, **inputs}
        written = [p for p in call.specialisation.parameters if p.writable and p.role != "temp"]
        with np.errstate(all="ignore"):
            result = evaluation(self.record.reference, names, self._function)()
            results = result if isinstance(result, tuple) else (result,)
            for p, result in zip(written, results, strict=True):
                given, array = np.asarray(result), values[p.name]
                part = array[: len(given)] if p.length else array  # what lies behind a trimmed output does not count
                part[...] = given.astype(array.dtype, copy=False)
        return finish()

    def _function(self, file: str, name: str) -> Callable[..., Any]:
        return _executed_once(f"{self.folder}/{file}", name)


def evaluation(
    declared: Sequence[str], names: Mapping[str, Any], function: Callable[[str, str], Callable[..., Any]]
) -> Callable[[], Any]:
    """What evaluates a declared reference, expressions or one `file.py:function`, and raises what that raises. names:
    the values of arguments, dimensions and params; function: finds one by its file and name."""
    if ".py:" in declared[0]:
        file, _, name = declared[0].strip().partition(":")
        called = function(file, name)
        asked = signature(called).parameters
        given = {name: value for name, value in names.items() if name in asked}
        return lambda: called(**given)
    known = {"__builtins__": builtins, "np": np, **names}
    made = [FunctionType(compile(text.strip(), "reference", "eval"), known) for text in declared]
    return made[0] if len(made) == 1 else lambda: tuple(one() for one in made)


def tell(which: Which, folder: str) -> None:
    """Warn, once a library, that references serve in the place of machine code."""
    if folder not in _told:
        _told.add(folder)
        warnings.warn(f"{folder}: {reason(which)}", ReferenceFallbackWarning, stacklevel=6)


def reason(which: Which) -> str:
    """Why no machine code serves the call."""
    own = [r for r in which.rejected if r.specialization == which.specialization]
    why = "; ".join(f"{r.target}: {r.reason}" for r in own) or "nothing is built"
    return (
        f"no machine code of {which.kernel} runs here, on {platform} {machine()} ({why}); "
        "its declared reference serves in its place, in NumPy"
    )


def function_of(path: str, name: str) -> Callable[..., Any]:
    """Of a file of Python, which is executed."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("pydotcompute_reference", path)
    assert spec is not None and spec.loader is not None  # a name in .py has both
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


_executed_once = cache(function_of)


def widened(value: Any) -> Any:
    """An array in float64, where it is of floats, that the reference may write to; a scalar as Python's, so that
    integers do not wrap. Contiguous: along other axes than the last in memory NumPy adds one by one."""
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    letter = kind(value.dtype)
    if letter in "fc":
        return value.astype(np.float64 if letter == "f" else np.complex128, order="C")
    return np.array(value, order="C")
