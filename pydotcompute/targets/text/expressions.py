"""Typed expressions as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...ir.contraction import multiply_add
from ...ir.dtypes import INTEGER_BITS
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
)  # fmt: skip
from ..names import Names
from .arrays import Array
from .faults import Faults
from .scalars import FLOATS, Scalars
from .writer import Writer

CallOf = Callable[[CallHelper, "Expressions"], str]


class Expressions:
    """Prints expressions in which these arrays are known. `helper` prints calls of helpers; `contract`: a product and
    the sum that uses it are one operation; `slot` is the place of a thread's own element of a `private` array;
    `faults`: how indices are checked, None where there are no arrays; `in_helper`: whether calls stand around it."""

    def __init__(
        self, scalars: Scalars, names: Names, arrays: Mapping[str, Array], helper: CallOf, contract: bool,
        writer: Writer, faults: Faults | None = None, in_helper: bool = False,
    ) -> None:  # fmt: skip
        self.scalars, self.names, self.arrays = scalars, names, arrays
        self.helper, self.contract = helper, contract
        self.writer, self.faults, self.in_helper = writer, faults, in_helper
        self.slot = ""

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
                return self.binary(e)
            case Compare():
                return s.compare(e.op, e.left.type, self.text(e.left), self.text(e.right))
            case BoolOp():
                return f"({self.text(e.left)} {'&&' if e.op == 'and' else '||'} {self.text(e.right)})"
            case Select():
                return s.dialect.choose(*map(self.text, (e.condition, e.then, e.otherwise)))
            case Convert():
                return s.convert(self.text(e.operand), e.operand.type, e.type)
            case Call():
                return s.function(e.function, e.arguments[-1].type, e.type, [self.text(a) for a in e.arguments])
            case CallHelper():
                return self.helper(e, self)
        raise TypeError(f"not an expression of the typed tree: {e!r}")

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
                return f"(-{self.modular(e.operand, e.type)})"
            case Const(value=int() as value) if value >= 0 and not isinstance(value, bool):
                return s.constant(value, e.type if e.type in s.dialect.wrapping else s.wide(e.type))
        text = self.text(e)
        return text if e.type in s.dialect.wrapping else s.unsigned(e.type, text)

    # -------------------------------------------------------------------------------------------------- memory

    def place(self, array: Array, indices: Sequence[str]) -> str:
        return self.slot if array.slots else array.offset(self.scalars, indices)

    def load(self, e: Load) -> str:
        array, indices = self.arrays[e.array], [self.text(i) for i in e.indices]
        if self.faults and self.faults.checks(e):
            slot = self.slot if array.slots else ""
            return self.faults.load(e, array, indices, slot, self.writer, self.in_helper)
        return self.scalars.dialect.load(array.dtype, array.space, array.pointer, self.place(array, indices))

    @contextmanager
    def reached(self, node: Access) -> Iterator[list[str]]:
        """The indices of an access that writes, which stands inside: only where they are in range."""
        w, indices = self.writer, [self.text(i) for i in node.indices]
        if not self.faults or not self.faults.checks(node):
            yield indices
            return
        with w.scope():
            held = [
                text if isinstance(index, (Var, Const)) else w.hold("_index", "int64", text)
                for index, text in zip(node.indices, indices, strict=True)
            ]
            with w.when(self.faults.condition(node, self.arrays[node.array], held, w, self.in_helper)):
                yield held

    def store(self, name: str, indices: Sequence[str], text: str) -> str:
        array = self.arrays[name]
        place = self.place(array, indices)
        return self.scalars.dialect.store(array.dtype, array.space, array.pointer, place, text)

    def scatter(self, name: str, indices: Sequence[str], text: str) -> str:
        """A store at which threads may meet: of the values one stays, whole up to 8 bytes."""
        array = self.arrays[name]
        if array.dtype != "complex64":  # which alone is stored in parts
            return self.store(name, indices, text)
        function = self.scalars.define(f"scatter_{array.space}", array.dtype)
        return f"{function}({array.pointer} + {self.place(array, indices)}, {text})"

    def atomic(self, op: str, name: str, indices: Sequence[str], text: str) -> str:
        """The update of an element for all threads to see."""
        array = self.arrays[name]
        function = self.scalars.define(f"update_{op}_{array.space}", array.dtype)
        return f"{function}({array.pointer} + {self.place(array, indices)}, {text})"

    def array(self, name: ArrayName) -> Array:
        return self.arrays[name.name]
