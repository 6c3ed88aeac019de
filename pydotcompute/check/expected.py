"""What a case should give: by the kernel's reference in float64, and by the interpreter in the kernel's own types."""

from __future__ import annotations

import warnings
from functools import cached_property
from types import FunctionType
from typing import Any, Callable

import numpy as np

from ..artifact.dtypes import STORED, kind
from ..declare.model import Declaration, Kernel, Specialisation
from ..interpreter.runtime import poison
from ..runtime import reference
from ..runtime.interpreted import execute
from ..runtime.kernel import Kernel as Built
from . import comparable, draw, faults, measure, sizes
from .pace import Pace
from .scattered import Met, nearest, stayed

ORDERS = ("forward", "reverse", "random")
INTERPRETED = 1500  # elements at most for which the interpreter is asked
REORDERED = 150  # for which it is asked in every order


class Expected:
    """The expected values of one case, computed when they are first asked for and then kept for every target."""

    def __init__(
        self, declaration: Declaration, kernel: Kernel, specialisation: Specialisation, case: draw.Case, call: Built,
        pace: Pace | None = None, loose: frozenset[str] = frozenset(), quick: bool = False, residues: bool = False,
    ):  # fmt: skip
        """`pace`: the interpreter's. `loose`: the arrays that are scattered into. `quick`: the interpreter, which is
        slow, is asked only where no reference says all. `residues`: what is finite beside NaN may be what rounding,
        which the language leaves open, left of terms that cancelled."""
        self.most = -1 if quick and kernel.reference is not None and not loose else INTERPRETED
        self.declaration, self.kernel, self.specialisation, self.case, self.call, self.loose = (
            declaration, kernel, specialisation, case, call, loose,
        )  # fmt: skip
        self.pace, self.size = pace or Pace(np.inf), sizes.work(kernel, specialisation, case.dims)
        self.residues = residues
        self.met: dict[str, Met] = {}  # order → what the interpreter scattered
        self.elements = int(np.prod([float(max(n, 1)) for n in case.dims.values()]))

    @property
    def is_known(self) -> bool:
        """Whether there is any value to compare with."""
        if self.is_interpreted:
            return True
        return self.kernel.reference is not None and not self._written.keys() <= self.loose

    @cached_property
    def is_interpreted(self) -> bool:
        """Whether the interpreter is asked: of small cases, as long as it takes no longer than is left to it."""
        return self.elements <= self.most and self.pace.allows(self.size)

    @property
    def is_refused(self) -> bool:
        """Whether the interpreter raises something."""
        return any(isinstance(given, str) for given in self.interpreted.values())

    @cached_property
    def scale(self) -> float:
        """What errors are measured by at least in an output that is not all finite: what rounding leaves is small
        beside the terms that cancelled, which nothing but the inputs tells. 0: beside what is finite of the output."""
        if not self.residues:
            return 0.0
        inputs = [np.abs(np.asarray(v)) for v in self.case.arguments.values() if kind(np.asarray(v).dtype) in "fc"]
        return max((float(v[np.isfinite(v)].max(initial=0)) for v in inputs), default=0.0)

    @cached_property
    def interpreted(self) -> dict[str, dict[str, np.ndarray] | str]:
        """Order → the written arrays by name, or what the interpreter raised. Empty where the case is too large."""
        if not self.is_interpreted:
            return {}
        since = self.pace.clock()
        orders = ORDERS if self.elements <= REORDERED else ORDERS[:1]
        try:
            return {order: self._interpret(order) for order in orders}
        finally:
            self.pace.note(self.size * all(self.case.dims.values()), self.pace.clock() - since)

    def _interpret(self, order: str) -> dict[str, np.ndarray] | str:
        arguments = {name: copy(value) for name, value in self.case.arguments.items()}
        outputs = {name: np.empty_like(value) for name, value in self.case.outputs.items()}
        for output in outputs.values():
            poison(output, order == "reverse")
        try:
            given = {**arguments, **outputs, **dict(self.specialisation.params)}
            met = self.met.setdefault(order, {}) if self.loose else None
            execute(self.call._record, self.call._origin.root, (), given, order, met=met)
        except MemoryError:  # which says nothing of the kernel
            raise
        except Exception as error:  # whatever it raises is the finding
            return f"{type(error).__name__}: {error}"
        both = {**arguments, **outputs}
        return comparable.seen(self.kernel, {p.name: both[p.name] for p in self.kernel.signature.written})

    def of_order(self, order: str, name: str, got: np.ndarray) -> np.ndarray:
        """What the interpreter gives in an order; of values that met by `scatter`, the nearest to what was got."""
        given = self.interpreted[order]
        assert not isinstance(given, str)  # of what it raised, nobody asks for values
        return nearest(given[name], self.met.get(order, {}).get(name, {}), got)

    def for_reference(self, name: str, got: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
        """What was got, as a reference that says `wanted` is to see it; None of an array that is scattered into, where
        the interpreter, which knows the values that met, is not asked."""
        if name not in self.loose:
            return got
        return stayed(got, self.met[ORDERS[0]].get(name, {}), wanted) if self.interpreted else None

    @cached_property
    def reference(self) -> tuple[np.ndarray, ...]:
        """One value for each written argument, in the order of the signature, computed in float64; nothing if none is
        declared. Raises FaultyDeclaration, of a value that no element of the argument can be too."""
        found, _ = self._evaluated(reference.widened)
        for value, (name, array) in zip(found, self._written.items()):
            if (wrong := measure.beyond(value, array.dtype)).any():
                first = value[wrong].flat[0].item()
                why = f"gives {first!r} for '{name}', which {array.dtype} cannot hold"
                raise faults.fault("reference", self.kernel.reference, why)
        return found

    @cached_property
    def special(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """The same where inputs are NaN, infinities or -0.0, and which elements it is right to hold to it.

        Whether a number is finite, is what it is in the kernel's own type. Of integers those count that NumPy defines:
        none of a reference that converts NaN or an infinity.
        """
        (wide, cut), (own, _) = self._evaluated(reference.widened), self._evaluated(_own)
        result = []
        for v, u, array in zip(wide, own, self._written.values()):
            if array.dtype.kind in "iu":
                held = ~measure.beyond(v, array.dtype) & np.array(not cut)
            else:
                with np.errstate(all="ignore"):
                    v, u = measure.rounded(v, array.dtype), measure.rounded(u, array.dtype)
                v, held = np.where(measure.kinds(v) == measure.kinds(u), v, u), np.ones(v.shape, bool)
            result.append((v, held))
        return tuple(result)

    def _evaluated(self, seen: Callable[[Any], Any]) -> tuple[tuple[np.ndarray, ...], bool]:
        """What the reference gives for the arguments as `seen`, and whether it made integers of NaN or infinities."""
        text = self.kernel.reference
        if text is None:
            return (), False
        arguments = {name: seen(value) for name, value in self.case.arguments.items()}
        with faults.of("reference", text), np.errstate(all="warn"), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            evaluate = evaluation(self.kernel, self.specialisation, self.case.dims, arguments, self.declaration.root)
            assert evaluate is not None
            result = evaluate()
            result = result if isinstance(result, tuple) else (result,)
            return self._fitting(result), any("in cast" in str(warning.message) for warning in said)

    @property
    def _written(self) -> dict[str, np.ndarray]:
        both = {**self.case.arguments, **self.case.outputs}
        return {p.name: both[p.name] for p in self.kernel.signature.written}

    def _fitting(self, result: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
        """As arrays of numbers, each of the shape of what it is the reference of. Raises FaultyDeclaration."""
        written = self._written
        if len(result) == len(written) and not comparable.is_plain(self.kernel):
            result = tuple(comparable.fitted(self.kernel, dict(zip(written, result)), written).values())
        wrong = [_misfit(value, name, array) for value, (name, array) in zip(result, written.items())]
        if len(result) != len(written):
            wrong = [f"gives {len(result)} values; the kernel writes {len(written)}: {', '.join(written)}"]
        if any(wrong):
            raise faults.fault("reference", self.kernel.reference, next(filter(None, wrong)))
        found = {name: np.asarray(value) for name, value in zip(written, result)}
        return tuple(comparable.seen(self.kernel, found).values())


def evaluation(
    kernel: Kernel, specialisation: Specialisation, dims: dict[str, int], arguments: dict[str, Any], root: str,
    numpy: Any = np,
) -> Callable[[], Any] | None:  # fmt: skip
    """What evaluates the reference for these arguments; None where there is none. It raises what the reference does.
    numpy: a package with NumPy's names, which takes its place."""
    if (declared := kernel.reference) is None:
        return None
    names = {**dict(specialisation.params), **sizes.complete(kernel, dims), **arguments, "np": numpy}
    texts = (declared,) if isinstance(declared, str) else declared

    def function(file: str, name: str) -> Callable[..., Any]:
        found = draw.from_file(f"{file}:{name}", root)
        return found if numpy is np else _with(numpy, found)

    return reference.evaluation(texts, names, function)


def _with(numpy: Any, function: Any) -> Callable[..., Any]:
    """The function of a file, with another package in NumPy's place, for what it calls in its file too."""
    known = {name: numpy if value is np else value for name, value in function.__globals__.items()}
    for name, value in known.items():
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            known[name] = FunctionType(value.__code__, known, name, value.__defaults__, value.__closure__)
    return known[function.__name__]


def _misfit(value: Any, name: str, array: np.ndarray) -> str:
    """Why `value` cannot be the reference of this array; empty if it can."""
    given = np.asarray(value)
    if kind(given.dtype) not in "biufc":
        return f"gives no numbers for '{name}', but {given.dtype} ({type(value).__name__})"
    if given.dtype.kind == "c" and array.dtype.kind != "c":
        return f"gives {given.dtype} for '{name}', which is {array.dtype}"
    if given.shape != array.shape:
        return f"gives an array of shape {given.shape} for '{name}', which has {array.shape}"
    return ""


def copy(value: Any) -> Any:
    return np.array(value, order="C") if isinstance(value, np.ndarray) else value


def _own(value: Any) -> Any:
    """In the type that kernels compute in."""
    if isinstance(value, np.ndarray) and value.dtype.name in STORED:
        return value.astype(np.float32, order="C")
    return copy(value)
