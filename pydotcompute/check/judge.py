"""One case of one artifact: the call, and everything that is looked at after it."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np

from ..artifact.targets import backend_of
from ..declare.model import Kernel, Specialisation
from ..errors import BackendNotAvailableError
from ..interpreter.runtime import poisoned
from ..runtime.kernel import Kernel as Callable
from ..targets.registry import get
from . import comparable, draw, measure, memory
from .cases import is_for_reference
from .expected import Expected
from .verdict import BEFORE, DIFFERS, ORDER, OUTSIDE, RAISED, UNWRITTEN, WRONG, counted


def _arguments(target: str, specialisation: Specialisation, case: draw.Case) -> dict[str, Any]:
    """Those of a call on the target's backend, which host arrays are brought to."""
    backend = backend_of(target)
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


class Found(NamedTuple):
    """What is wrong in one case of one artifact ("": nothing), and how far it is from what is allowed."""

    what: str
    share: float = np.inf  # error over tolerance
    cause: str = ""  # what cases have in common in which this is wrong, with `about`
    about: str = ""  # an output, or the key of the declaration that is at fault
    agree: bool | None = None  # whether the interpreter gives what the machine code gives


def findings(
    call: Callable, target: str, kernel: Kernel, specialisation: Specialisation, case: draw.Case, kind: str,
    expected: Expected,
) -> Iterator[Found]:  # fmt: skip
    """Everything that is looked at in one case. What explains the rest ends it: a call that raises, an interpreter
    that does."""
    if kind == "misaligned" and (wrong := _takes_unaligned(call, target, specialisation, case)):
        yield Found(wrong, cause="alignment")
    both = {**case.arguments, **case.outputs}
    written = {p.name: both[p.name] for p in kernel.signature.written}
    before = {name: np.array(both[name]) for name in written if name not in case.outputs}
    runs: list[dict[str, np.ndarray]] = []
    poisons = {name: np.ones(array.shape, bool) for name, array in case.outputs.items()}
    for second in (False, True) if case.outputs or kernel.signature.scratch else (False,):
        for name, array in written.items():
            if name in case.outputs:
                memory.poison(array, second)
            else:
                array[...] = before[name]
        try:
            _run(call, kernel, second, _arguments(target, specialisation, case))
        except MemoryError:  # which says nothing of the kernel
            raise
        except Exception as error:  # whatever a call raises is the finding
            text = f"{type(error).__name__}: {error}"
            known = [_raised(value) if isinstance(value, str) else "" for value in expected.interpreted.values()]
            agree = _raised(text) in known if known and _raised(text) else None
            yield Found(f"the call raised {text}", cause=_raised(text), about="signature", agree=agree)
            return
        for name, array in case.outputs.items():
            poisons[name] &= memory.unwritten(array, second)
        for name, length in comparable.lengths(kernel, written).items():
            poisons[name][length:] = False
        runs.append(comparable.seen(kernel, {name: np.array(array) for name, array in written.items()}))
    failed = ((order, given) for order, given in expected.interpreted.items() if isinstance(given, str))
    raised = next((f"the interpreter ({order}) raised {error}" for order, error in failed), "")
    cause = _raised(raised.partition(" raised ")[2])
    for name, buffer in case.buffers.items():
        if changed := memory.overrun(both[name], buffer):
            told = f"'{name}': {counted(changed, 'byte')} outside its elements {_were(changed)} written"
            if raised:
                yield Found(f"{told}; {raised}", cause=cause, about="signature", agree=False)
                return
            yield Found(told, cause=OUTSIDE, about=name)
    if raised:
        yield Found(raised, cause=cause, about="signature", agree=False)
        return
    for name in written:
        if missing := int(np.count_nonzero(poisons.get(name, ()))):
            told = f"'{name}': {counted(missing, 'element')} {_were(missing)} not written, or only added to"
            agree, _ = _agreement(kernel, name, runs[0][name], expected)
            yield Found(told, cause=UNWRITTEN, about=name, agree=agree)
        elif kind not in get(target).loses:
            yield from _values(kernel, name, [run[name] for run in runs], kind, expected, list(written).index(name))


def _run(call: Callable, kernel: Kernel, second: bool, arguments: dict[str, Any]) -> None:
    """The call; its scratch holds poison, in a second run another."""
    if not kernel.signature.scratch:
        with np.errstate(all="ignore"):  # a vendor's function may warn of special values, which are drawn on purpose
            call(**arguments)
        return
    dispatcher = call._dispatcher
    dispatcher.poison = lambda dtype: poisoned(second, (1,), dtype)[0]
    try:
        dispatcher.call(**arguments)
    finally:
        dispatcher.poison = None


def _raised(error: str) -> str:
    """The cause of an index that is outside, as the interpreter and checked code report it, whose number differs from
    case to case; of another error none."""
    place, outside, _ = error.partition(": index ")
    return RAISED + place.partition(": ")[2] if outside else ""


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _agreement(kernel: Kernel, name: str, got: np.ndarray, expected: Expected) -> tuple[bool | None, Any]:
    """Whether the interpreter, whose outputs held the same before, leaves an output as the first run of the machine
    code left it, and as what; (None, None) where it is not asked."""
    if not expected.interpreted:
        return None, None
    first = expected.of_order("forward", name, got)
    return not compared(kernel, name, got, first, "", zeros=True, scale=expected.scale)[0], first


def _values(
    kernel: Kernel, name: str, runs: list[np.ndarray], kind: str, expected: Expected, number: int
) -> Iterator[Found]:
    """One output, as each run left it, against the reference and the interpreter: the first that it is held to in vain
    is what is found."""
    interpreted = expected.interpreted
    agree, first = _agreement(kernel, name, runs[0], expected)
    tried: list[tuple[int, np.ndarray, str, np.ndarray, Any]] = []
    for again, got in enumerate(runs):
        for against, wanted, held in _references(kernel, kind, expected, number):
            if (seen := expected.for_reference(name, got, wanted)) is not None:
                tried.append((again, seen, against, wanted, held))
        if interpreted:
            tried.append((again, got, "the interpreter (forward)", expected.of_order("forward", name, got), None))
    tried += [(0, runs[0], f"the interpreter ({o})", expected.of_order(o, name, runs[0]), None) for o in interpreted]
    share, varies = 0.0, False
    if len(runs) > 1 and name not in expected.loose:
        varies = bool(compared(kernel, name, runs[1], runs[0], "", zeros=True, scale=expected.scale)[0])
    for again, got, against, wanted, held in tried:
        outer = against == "the reference"
        what, far = compared(kernel, name, got, wanted, against, held, not outer, expected.scale)
        share = max(share, far)
        if not what:
            continue
        cause = DIFFERS if agree is False else WRONG if outer else ORDER
        if again:
            what, cause = f"{what}; it is right where the output held something else before the call", BEFORE
        elif outer and agree is False:
            assert first is not None
            what += f", by the interpreter {_at(first, got, wanted, held)!r}"
        if varies and not again:
            what, cause = f"{what}; it depends on what the output held before the call", BEFORE
        if kind == "special" and outer:
            what += " (a kernel that is not meant for NaN, infinities and -0.0 says special: false)"
        yield Found(what, share, cause, name, agree)
        return
    yield Found("", share)


def _references(kernel: Kernel, kind: str, expected: Expected, number: int) -> list[tuple[str, np.ndarray, Any]]:
    """What the reference gives for an output, and which elements it is right to hold to that; none of extreme values,
    nor of special ones that it is not meant for."""
    if not is_for_reference(kernel, kind):
        return []
    if kind == "special":
        return [("the reference", *expected.special[number])]
    return [("the reference", expected.reference[number], None)]


def _at(other: np.ndarray, got: np.ndarray, wanted: Any, held: np.ndarray | None) -> Any:
    """What another array has where two others differ most."""
    worst = measure.difference(got, wanted, held)
    assert worst is not None  # they differ
    return other[worst.place].item()


def compared(
    kernel: Kernel, name: str, got: np.ndarray, wanted: Any, against: str, held: np.ndarray | None = None,
    zeros: bool = False, scale: float = 0.0,
) -> tuple[str, float]:  # fmt: skip
    """(what is wrong or "", error over tolerance) for one array that was written. `held`, `zeros`, `scale`: as
    `difference`."""
    allowed = measure.tolerance(kernel.tolerance, got.dtype)
    worst = measure.difference(got, wanted, held, zeros, scale)
    if worst is None:
        return "", 0.0
    share = worst.error / allowed if allowed else worst.error
    if worst.error <= allowed:
        return "", share
    place = f"{name}[{', '.join(map(str, worst.place))}]" if got.ndim else name
    told = f"{place} is {worst.got!r}, by {against} {worst.wanted!r}"
    if got.dtype.kind in "biu" or worst.error == np.inf:
        return told, share
    return f"{told}: error {worst.error:.3g}, tolerance {allowed:.3g}", share
