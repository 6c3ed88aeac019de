"""Typed expressions as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...artifact.dimensions import Tree
from ...artifact.launch import MOST_INDEX
from ...errors import DeclarationError
from ...ir.contraction import multiply_add
from ...ir.dtypes import FLOATS, INTEGER_BITS, integer_range
from ...ir.tree import (
    Access,
    ArrayName,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    Compare,
    Const,
    Convert,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    walk,
)  # fmt: skip
from ..intervals import Intervals
from ..names import Names
from .arrays import Array
from .faults import Faults
from .scalars import Scalars
from .writer import Writer

CallOf = Callable[[CallHelper, "Expressions"], str]


class Expressions:
    """Prints expressions in which these arrays are known. `helper` prints calls of helpers; `contract`: a product and
    the sum that uses it are one operation; `slot` is the place of a thread's own element of a `private` array;
    `faults`: how indices are checked, None where there are no arrays; `in_helper`: whether calls stand around it;
    `intervals`: of its names, where they are of use."""

    def __init__(
        self, scalars: Scalars, names: Names, arrays: Mapping[str, Array], helper: CallOf, contract: bool,
        writer: Writer, faults: Faults | None = None, in_helper: bool = False, intervals: Intervals | None = None,
    ) -> None:  # fmt: skip
        self.scalars, self.names, self.arrays = scalars, names, arrays
        self.helper, self.contract = helper, contract
        self.writer, self.faults, self.in_helper = writer, faults, in_helper
        self.intervals = intervals
        self.slot = ""
        self.exact: Mapping[str, str] = {}  # by dtype, the function around operations that have to be what they say

    def text(self, e: Expr) -> str:
        s = self.scalars
        match e:
            case Const():
                return s.constant(e.value, e.type)
            case Var():
                return self.names.of(e.name)
            case Load():
                return self.load(e)
            case Unary():
                if e.type in INTEGER_BITS and e.op == "-":
                    return self.wrapped(e)
                return s.unary(e.op, e.operand.type if e.op == "not" else e.type, self.text(e.operand))
            case Binary():
                return self.exactly(e.type, self.binary(e))
            case Compare():
                return s.compare(e.op, e.left.type, self.text(e.left), self.text(e.right))
            case BoolOp():
                if self.branches(e.right):
                    return self.branch(e)
                return f"({self.text(e.left)} {'&&' if e.op == 'and' else '||'} {self.text(e.right)})"
            case Select():
                if self.branches(e):
                    return self.branch(e)
                return s.dialect.choose(e.type, *map(self.text, (e.condition, e.then, e.otherwise)))
            case Convert():
                return s.convert(self.text(e.operand), e.operand.type, e.type)
            case Call():
                text = s.function(e.function, e.arguments[-1].type, e.type, [self.text(a) for a in e.arguments])
                return self.exactly(e.type, text) if e.function == "fmuladd" else text
            case CallHelper():
                return self.helper(e, self)
        raise TypeError(f"not an expression of the typed tree: {e!r}")

    def exactly(self, dtype: str, text: str) -> str:
        return f"{self.exact[dtype]}({text})" if dtype in self.exact else text

    # ------------------------------------------------------------------------------------------------- choices

    def branches(self, e: Expr) -> bool:
        """Whether a choice in an expression needs statements of its own, before that in which the expression stands:
        where the language would evaluate both values, and one may be wrong to evaluate."""
        if self.scalars.dialect.is_lazy:
            return False
        return any(
            isinstance(n, Select) and any(self.acts(m) for part in (n.then, n.otherwise) for m in walk(part))
            for n in walk(e)
        )

    def acts(self, n: object) -> bool:
        """Whether to evaluate a node may do more than give a value."""
        return isinstance(n, CallHelper) or isinstance(n, Load) and bool(self.faults and self.faults.checks(n))

    def branch(self, e: Select | BoolOp) -> str:
        """The name of a variable with the value of a choice, made by statements."""
        w, name = self.writer, self.writer.names.fresh("_chosen")
        if isinstance(e, BoolOp):
            w.variable(name, "bool", self.text(e.left))
            with w.when(name if e.op == "and" else f"(!{name})"):
                w.assign(name, self.text(e.right))
            return name
        w.declare(name, e.type)
        with w.when(self.text(e.condition)):
            w.assign(name, self.text(e.then))
        with w.otherwise():
            w.assign(name, self.text(e.otherwise))
        return name

    def binary(self, e: Binary) -> str:
        if self.contract and e.op in ("+", "-") and e.type in FLOATS and (terms := multiply_add(e)):
            return self.scalars.fused(e.type, *map(self.text, terms))
        if e.type in INTEGER_BITS and e.op in ("+", "-", "*"):
            return self.wrapped(e)
        right = e.right.operand if isinstance(e.right, Convert) else e.right
        count = right.value if isinstance(right, Const) and isinstance(right.value, int) else None
        return self.scalars.binary(e.op, e.type, self.text(e.left), self.text(e.right), count)

    def wrapped(self, e: Binary | Unary) -> str:
        """Integer sums and products, which wrap: all of an expression in one unsigned type."""
        s = self.scalars
        if e.type in s.dialect.emulated:
            if isinstance(e, Unary):
                return s.unary("-", e.type, self.text(e.operand))
            return s.binary(e.op, e.type, self.text(e.left), self.text(e.right))
        if e.type in s.dialect.wrapping:
            return self.modular(e)
        return s.wrapped(e.type, self.modular(e))

    def modular(self, e: Expr, dtype: str = "") -> str:
        """An integer modulo the range of the unsigned type in which its arithmetic is done."""
        s = self.scalars
        match e:
            case Binary(op="+" | "-" | "*" as op) if not dtype or e.type == dtype:
                return f"({self.modular(e.left, e.type)} {op} {self.modular(e.right, e.type)})"
            case Unary(op="-") if not dtype or e.type == dtype:
                wide = e.type if e.type in s.dialect.wrapping else s.wide(e.type)
                return s.dialect.negated(wide, self.modular(e.operand, e.type))
            case Const(value=int() as value) if value >= 0 and not isinstance(value, bool):
                return s.constant(value, e.type if e.type in s.dialect.wrapping else s.wide(e.type))
        text = self.text(e)
        return text if e.type in s.dialect.wrapping else s.unsigned(e.type, text)

    def index(self, e: Expr) -> str:
        """An integer of which it is known that the printer's own integers can hold it: its low bits, of which sums and
        products need no more than those of their operands."""
        s = self.scalars
        if e.type == s.index:
            return self.text(e)
        match e:
            case Const(value=int() as value):
                low, high = integer_range(s.index)
                return s.constant((value - low) % (high - low + 1) + low, s.index)
            case Binary(op="+" | "-" | "*" as op):
                return f"({self.index(e.left)} {op} {self.index(e.right)})"
            case Unary(op="-"):
                return s.dialect.negated(s.index, self.index(e.operand))
            case Convert(operand=operand) if operand.type in INTEGER_BITS:
                return s.convert(self.text(operand), operand.type, s.index)
        return s.convert(self.text(e), e.type, s.index)

    def count(self, e: Expr, known: Mapping[str, Tree | None]) -> str:
        """How often a parallel loop goes round, as the printer counts; what follows from `known` the launch looks at.
        Raises DeclarationError where it may be more than that."""
        if e.type == self.scalars.index:
            return self.text(e)
        if self.intervals is not None and self.intervals.fits(e, known=known):
            return self.index(e)
        if self.faults is None or not self.faults.any:
            language = self.scalars.dialect.name
            raise DeclarationError(
                f"how often this loop goes round may be more than {language} counts to, {MOST_INDEX:,}",
                e.at or self.writer.at,
                "write `min(…, N)` with a bound of that size around it",
            )  # fmt: skip
        return self.faults.counted(e, self.text(e), self.writer, self.in_helper)

    def counter(self, *bounds: Expr) -> str:
        """The dtype in which a sequential loop with these bounds is counted: the printer's own where that is enough."""
        dtype = bounds[0].type
        if dtype != "int64" or self.scalars.index == "int64" or self.intervals is None:
            return dtype
        return self.scalars.index if self.intervals.fits(*bounds) else dtype

    # -------------------------------------------------------------------------------------------------- memory

    def place(self, array: Array, indices: Sequence[str]) -> str:
        return self.slot if array.slots else array.offset(self.scalars, indices)

    def load(self, e: Load) -> str:
        array = self.arrays[e.array]
        if self.faults and self.faults.checks(e):
            slot = self.slot if array.slots else ""
            indices = [self.text(i) for i in e.indices]
            return self.faults.load(e, array, indices, slot, self.writer, self.in_helper)
        place = self.place(array, [self.index(i) for i in e.indices])
        return self.scalars.dialect.load(array.dtype, array.memory, array.pointer, place)

    @contextmanager
    def reached(self, node: Access) -> Iterator[list[str]]:
        """The indices of an access that writes, which stands inside: only where they are in range."""
        w = self.writer
        if not self.faults or not self.faults.checks(node):
            yield [self.index(i) for i in node.indices]
            return
        indices = [self.text(i) for i in node.indices]
        with w.scope():
            held = [
                text if isinstance(index, (Var, Const)) else w.hold("_index", "int64", text)
                for index, text in zip(node.indices, indices, strict=True)
            ]
            with w.when(self.faults.condition(node, self.arrays[node.array], held, w, self.in_helper)):
                yield [self.scalars.convert(text, "int64", self.scalars.index) for text in held]

    def store(self, name: str, indices: Sequence[str], text: str) -> str:
        array = self.arrays[name]
        place = self.place(array, indices)
        return self.scalars.dialect.store(array.dtype, array.memory, array.pointer, place, text)

    def scatter(self, name: str, indices: Sequence[str], text: str) -> str:
        """A store at which threads may meet: of the values one stays, whole up to 8 bytes."""
        array = self.arrays[name]
        if own := self.scalars.dialect.atomics:
            return own.scatter(self.scalars, array, self.place(array, indices), text)
        if array.dtype != "complex64":  # which alone is stored in parts
            return self.store(name, indices, text)
        function = self.scalars.define(f"scatter_{array.space}", array.dtype)
        return f"{function}({array.pointer} + {self.place(array, indices)}, {text})"

    def atomic(self, op: str, name: str, indices: Sequence[str], text: str) -> str:
        """The update of an element for all threads to see."""
        array = self.arrays[name]
        if own := self.scalars.dialect.atomics:
            return own.update(self.scalars, op, array, self.place(array, indices), text)
        function = self.scalars.define(f"update_{op}_{array.space}", array.dtype)
        return f"{function}({array.pointer} + {self.place(array, indices)}, {text})"

    def array(self, name: ArrayName) -> Array:
        return self.arrays[name.name]
