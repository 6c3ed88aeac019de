"""What the readers of our LLVM IR do not have in common: a value that every emitter gets as its first argument.

A reader is the LLVM of the installed llvmlite, or NVVM with its older LLVM and libdevice's functions. `intrinsics`
makes what lowered Python calls from the table of operations, for one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from numba import types

from .intrinsic import intrinsic
from .values import DTYPES, constant, kind

Emit = Callable[..., Any]  # (dialect, builder, Numba type of the operands, *values) → value


class Dialect(ABC):
    """How one reader of LLVM IR does what differs. `b` is a builder, `t` a Numba type."""

    dtypes: tuple[str, ...] = tuple(DTYPES)  # those that it computes with
    helpers: Mapping[str, Callable[..., Any]] = {}  # of ir/math, those it has itself: (builder, *values) → value
    linkage: str = "internal"  # of the functions of ir/math
    pure: tuple[str, ...] = ("noinline", "nounwind", "readnone")  # attributes of those that are not to be inlined

    def has(self, t) -> bool:
        """Whether there are values of a type."""
        return bool(kind(t)) and t.name in self.dtypes

    @property
    def numba_types(self) -> dict[str, types.Type]:
        """Name of a dtype → its Numba type."""
        return {name: DTYPES[name] for name in self.dtypes}

    # ------------------------------------------------------------------------------------------------ arithmetic

    @abstractmethod
    def function(self, b, name: str, t, *values):
        """fabs, floor, ceil, trunc, rint, sqrt, copysign of a float32 or float64."""

    @abstractmethod
    def negated(self, b, value):
        """A float with the other sign."""

    @abstractmethod
    def remainder(self, b, t, x, y, quotient):
        """x - quotient * y of integers, where the quotient is x / y without its fraction."""

    @abstractmethod
    def contracted(self, b, t, x, y, z):
        """x * y + z, rounded once where the reader's processors have the instruction."""

    @abstractmethod
    def extremum(self, b, op: str, t, x, y):
        """The "min" or "max" of integers or floats: NaN propagates, and -0 is less than +0."""

    def is_nan(self, b, t, x):
        """Whether a float is NaN."""
        return b.fcmp_unordered("uno", x, x)

    @abstractmethod
    def count(self, b, x, y):
        """The product of two counts as int64, neither negative; the largest number where it does not fit."""

    @abstractmethod
    def to_integer(self, b, source, target, x):
        """A float as an integer: truncated, saturated, NaN gives 0."""

    def rare_case(self, b, t, limit: float, name: str, rare: Callable[..., Any], x, usual):
        """`usual` where |x| < limit or x is NaN, else rare(builder, x), which is the helper `name` of ir/math."""
        condition, before = b.fcmp_ordered(">=", self.function(b, "fabs", t, x), constant(t, limit)), b.block
        with b.if_then(condition):
            value, within = rare(b, x), b.block
        result = b.phi(value.type)
        result.add_incoming(usual, before)
        result.add_incoming(value, within)
        return result

    # ---------------------------------------------------------------------------------------------------- memory

    @abstractmethod
    def address(self, b, t, pointer, offset, in_bytes: bool):
        """Where an element lies, so many elements or bytes on."""

    @abstractmethod
    def load(self, b, t, address, align: int):
        """The element there; `align` is what is known of the address."""

    @abstractmethod
    def store(self, b, t, value, address, align: int) -> None:
        """Store an element that no other thread touches meanwhile."""

    @abstractmethod
    def scatter(self, b, t, value, address) -> None:
        """Store an element where others may store too: whole, of complex128 each part."""

    @abstractmethod
    def atomic(self, b, t, op: str, value, address):
        """Update an element ("add", "min", "max") for every thread to see. It gives what a real one held before."""

    @abstractmethod
    def swap(self, b, t, address, combine: Emit):
        """Replace an integer by what `combine` makes of it, for every thread to see. It gives what it was."""

    @abstractmethod
    def has_atomic(self, t, op: str) -> bool:
        """Whether an element of this type can be updated so."""


class Operation(NamedTuple):
    """One operation on operands of one type, as LLVM IR."""

    arity: int
    kinds: frozenset[str]
    compute: Emit
    result: Callable[[Any], Any] | None  # the result's type from the operands'; None: the same

    def takes(self, dialect: Dialect, t) -> bool:
        """Whether the operands may be of this type."""
        return dialect.has(t) and kind(t) in self.kinds

    def emit(self, dialect: Dialect, b, t, *values):
        """The value of the operation."""
        return self.compute(dialect, b, t, *values)


class Table(dict[str, Operation]):
    """Operations by the names that lowered Python calls them by."""

    def operation(self, name: str, arity: int, kinds: str, result: Callable | None = None) -> Callable[[Emit], Emit]:
        """Decorator: enter `emit(dialect, b, t, *values)` as the operation `name`."""

        def enter(compute: Emit) -> Emit:
            self[name] = Operation(arity, frozenset(kinds.split()), compute, result)
            return compute

        return enter


def of_types(arity: int, typed: Callable) -> Callable:
    """The intrinsic of `typed(*operand types)`, which gives a signature and an emitter, or None to refuse."""
    names = ", ".join(f"a{k}" for k in range(arity))
    return intrinsic(eval(f"lambda typing_context, {names}: typed({names})", {"typed": typed}))


def intrinsics(dialect: Dialect, table: Table) -> dict[str, Callable]:
    """What lowered Python calls, by name: each operation as an intrinsic of Numba's."""
    return {name: _intrinsic(dialect, operation) for name, operation in table.items()}


def _intrinsic(dialect: Dialect, operation: Operation) -> Callable:
    def typed(*operands):
        operands = tuple(types.unliteral(t) for t in operands)
        t = operands[0]
        if not operation.takes(dialect, t) or any(other != t for other in operands):
            return None
        signature = (operation.result(t) if operation.result else t)(*operands)
        return signature, lambda context, b, signature, values: operation.emit(dialect, b, t, *values)

    return of_types(operation.arity, typed)
