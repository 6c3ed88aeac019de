"""One case of one artifact: the call, and everything that is looked at after it."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from ..declare.model import Kernel, Specialisation
from ..errors import BackendNotAvailableError
from ..runtime.kernel import Kernel as Callable
from . import draw, measure, memory
from .expected import Expected


def _arguments(target: str, specialisation: Specialisation, case: draw.Case) -> dict[str, Any]:
    """Those of a call on the target's backend, which host arrays are brought to."""
    backend = target.partition(":")[0]
    place = {} if backend == "cpu" else {"backend": backend}
    return {**case.arguments, **case.outputs, **dict(specialisation.params), **place}


def cannot_run(call: Callable, target: str, specialisation: Specialisation, case: draw.Case) -> str:
    try:
        which = call.which(**_arguments(target, specialisation, case))
    except BackendNotAvailableError as error:
        return str(error)
    if which.artifact or which.vendor:
        return ""
    own = [r.reason for r in which.rejected if r.specialization == which.specialization and r.target == target]
    return "; ".join(own) or which.missing


def served_by_vendor(call: Callable, target: str, specialisation: Specialisation, case: draw.Case) -> bool:
    return bool(call.which(**_arguments(target, specialisation, case)).vendor)


def _takes_unaligned(call: Callable, target: str, specialisation: Specialisation, case: draw.Case) -> str:
    """What is wrong with calls one of whose arrays is not even aligned for its type: each must be refused, and nothing
    written."""
    both = {**case.arguments, **case.outputs}
    arrays = {name: value for name, value in both.items() if isinstance(value, np.ndarray)}
    for name, array in arrays.items():
        if array.size == 0 or array.dtype.alignment == 1:
            continue
        given = {**arrays, name: memory.shifted(array, 1)}
        before = {other: value.tobytes() for other, value in given.items()}
        try:
            call(**{**_arguments(target, specialisation, case), **given})
        except ValueError as error:
            if "aligned" not in str(error):
                return f"'{name}' was not aligned for {array.dtype}; the call raised {error}"
        else:
            return f"'{name}' was not aligned for {array.dtype}, and not refused"
        if touched := [other for other, value in given.items() if value.tobytes() != before[other]]:
            return f"'{name}' was not aligned for {array.dtype}, and the refused call wrote '{touched[0]}'"
    return ""


def findings(
    call: Callable, target: str, kernel: Kernel, specialisation: Specialisation, case: draw.Case, kind: str,
    expected: Expected,
) -> Iterator[tuple[str, float]]:
    """(what is wrong or "", error over tolerance) for everything that is looked at in one case."""
    if kind == "misaligned" and (wrong := _takes_unaligned(call, target, specialisation, case)):
        yield wrong, np.inf
    try:
        call(**_arguments(target, specialisation, case))
    except Exception as error:  # whatever a call raises is the finding
        yield f"the call raised {type(error).__name__}: {error}", np.inf
        return
    both = {**case.arguments, **case.outputs}
    written = {p.name: both[p.name] for p in kernel.signature.parameters if p.writable}
    for name, buffer in case.buffers.items():
        if changed := memory.overrun(both[name], buffer):
            yield f"'{name}': {changed} bytes outside its elements were written", np.inf
    for name, array in case.outputs.items():
        # A byte may well be what the poison is; in a bool it is not.
        if (array.dtype.itemsize > 1 or array.dtype == bool) and (missing := memory.unwritten(array)):
            yield f"'{name}': {missing} elements were not written", np.inf
    for order, values in expected.interpreted.items():
        if isinstance(values, str):
            yield f"the interpreter ({order}) raised {values}", np.inf
            continue
        for name, got in written.items():
            yield compared(kernel, name, got, values[name], f"the interpreter ({order})")
    if kind != "special" and expected.reference:
        for (name, got), wanted in zip(written.items(), expected.reference, strict=True):
            if got.dtype.kind not in "biu" or not expected.interpreted:
                yield compared(kernel, name, got, wanted, "the reference")


def compared(kernel: Kernel, name: str, got: np.ndarray, wanted: Any, against: str) -> tuple[str, float]:
    """(what is wrong or "", error over tolerance) for one array that was written."""
    allowed = measure.tolerance(kernel.tolerance, got.dtype)
    worst = measure.difference(got, wanted)
    if worst is None:
        return "", 0.0
    share = worst.error / allowed if allowed else worst.error
    if worst.error <= allowed:
        return "", share
    place = f"{name}[{', '.join(map(str, worst.index))}]"
    told = f"{place} is {worst.got!r}, by {against} {worst.wanted!r}: error {worst.error:.3g}, tolerance {allowed:.3g}"
    return told, share
