"""Typed expressions as Python in which every operation is a call of a typed intrinsic, or a construct whose type no
compiler can see differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.contraction import multiply_add
from ...ir.dtypes import COMPLEX, FLOATS, INTEGER_BITS
from ...ir.tree import (
    ArrayName,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    Compare,
    Const,
    Convert,
    Expr,
    KernelTree,
    Load,
    Select,
    Unary,
    Var,
    rebuilt,
    walk,
)  # fmt: skip
from ..names import Names
from .words import COMPARE, OPERATORS

INTRINSIC_FUNCTIONS = {
    "min": "minimum", "max": "maximum", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint",
    "sqrt": "sqrt", "copysign": "copysign", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "sign": "sign", "where": "select", "popcount": "popcount", "clz": "clz", "conj": "conj", "real": "real",
    "imag": "imag", "abs": "absolute", "complex_of": "complex_of",
}  # fmt: skip
_SAME_FOR_INTEGERS = ("floor", "ceil", "trunc", "round", "conj", "real")
_CHEAP = (Const, Var, Unary, Binary, Compare, BoolOp, Select, Convert)

Write = Callable[[Expr], str]  # an expression's text


class Expressions:
    """The printer of expressions.

    contract: a product and the sum that uses it are one operation. load, call_helper: how a load and a call of a
    helper are written, given what writes the expressions inside them.
    """

    def __init__(
        self, names: Names, contract: bool, load: Callable[[Load, Write], str],
        call_helper: Callable[[CallHelper, Write], str],
    ):  # fmt: skip
        self.names, self.contract = names, contract
        self.is_certain: Callable[[Load], bool] = lambda e: False  # of a load: every iteration may do it
        self.forms: dict[type, Callable[[Any], str]] = {
            Const: lambda e: constant(e.value, e.type),
            Var: lambda e: names.of(e.name),
            Load: lambda e: load(e, self.text),
            Unary: self._unary,
            Binary: self._binary,
            Compare: self._compare,
            BoolOp: self._bool_op,
            Select: self._select,
            Convert: lambda e: f"to_{e.type}({self.text(e.operand)})",
            Call: self._call,
            CallHelper: lambda e: call_helper(e, self.text),
        }

    def text(self, e: Expr) -> str:
        return self.forms[type(e)](e)

    def _unary(self, e: Unary) -> str:
        return f"{'neg' if e.op == '-' else 'invert'}({self.text(e.operand)})"

    def _binary(self, e: Binary) -> str:
        if self.contract and e.op in ("+", "-") and e.type in FLOATS and (terms := multiply_add(e)):
            return f"fmuladd({', '.join(map(self.text, terms))})"
        if e.op in ("//", "%"):
            name = "floordiv" if e.op == "//" else "mod"
            name += f"_{e.type}" if e.type in FLOATS else "_integer"
        elif e.op == "**":
            name = f"pow_{e.type}" if e.type in FLOATS else "power_integer"
        else:
            name = OPERATORS[e.op]
        return f"{name}({self.text(e.left)}, {self.text(e.right)})"

    def _compare(self, e: Compare) -> str:
        if e.op in ("==", "!=") and isinstance(e.left, Var) and e.left == e.right and e.left.type in FLOATS:
            is_nan = f"isnan({self.text(e.left)})"  # NVVM takes it for False where constants come to NaN
            return is_nan if e.op == "!=" else f"invert({is_nan})"
        return f"{COMPARE[e.op]}({self.text(e.left)}, {self.text(e.right)})"

    def _bool_op(self, e: BoolOp) -> str:
        left, right = self.text(e.left), self.text(e.right)
        if self._is_free(e.right):
            return f"{'band' if e.op == 'and' else 'bor'}({left}, {right})"
        return f"({right} if {left} else False)" if e.op == "and" else f"(True if {left} else {right})"

    def _select(self, e: Select) -> str:
        condition, then, otherwise = map(self.text, (e.condition, e.then, e.otherwise))
        if self._is_free(e.then) and self._is_free(e.otherwise):
            return f"select({condition}, {then}, {otherwise})"
        return f"({then} if {condition} else {otherwise})"

    def _is_free(self, e: Expr) -> bool:
        """Whether it may be evaluated although its value is not wanted: for a branch, a loop may be no vectors."""
        if any(isinstance(n, Load) and not self.is_certain(n) for n in walk(e)):
            return False
        return is_cheap(without_loads(e))

    def _call(self, e: Call) -> str:
        dtype = e.arguments[-1].type
        arguments = [self.text(a) for a in e.arguments]
        name, integer = e.function, dtype in INTEGER_BITS or dtype == "bool"
        if name == "abs" and dtype in COMPLEX:
            return f"abs_{dtype}({arguments[0]})"
        if integer and name in ("isnan", "isinf"):
            return "False"
        if integer and name == "isfinite":
            return "True"
        if name == "imag" and dtype not in COMPLEX:
            return constant(0, dtype)
        if (integer and name in _SAME_FOR_INTEGERS) or (dtype in FLOATS and name in ("conj", "real")):
            return arguments[0]
        if integer and name == "pow":
            return f"power_integer({', '.join(arguments)})"
        if name not in INTRINSIC_FUNCTIONS:
            return f"{name}_{dtype}({', '.join(arguments)})"
        text = f"{INTRINSIC_FUNCTIONS[name]}({', '.join(arguments)})"
        return f"to_{e.type}({text})" if name in ("popcount", "clz") and e.type != dtype else text


def without_loads(e: Any) -> Any:
    """An expression with 0 in the place of what it loads."""
    return Const(0, e.type) if isinstance(e, Load) else rebuilt(e, without_loads)


def constant(value: Any, dtype: str) -> str:
    """A value of a dtype."""
    if dtype == "bool":
        return str(bool(value))
    if dtype in COMPLEX:
        part, value = COMPLEX[dtype], complex(value)
        return f"complex_of({constant(value.real, part)}, {constant(value.imag, part)})"
    if dtype in FLOATS:
        value = float(value)
        if value != value:
            return f"{dtype}(nan)"
        if abs(value) == float("inf"):
            return f"{dtype}({'inf' if value > 0 else '-inf'})"
        return f"{dtype}({value!r})"
    return f"{dtype}({int(value)})"


def contracts(tree: KernelTree) -> bool:
    """Whether the kernel lets products and sums be one operation."""
    return "contract" in tree.fastmath or "fast" in tree.fastmath


def is_cheap(e: Expr) -> bool:
    """Whether e may be evaluated although its value is not wanted: no memory, no loop, no long computation."""
    for node in walk(e):
        if isinstance(node, ArrayName) or not isinstance(node, (*_CHEAP, Call)):
            return False
        if isinstance(node, Call) and (node.function not in INTRINSIC_FUNCTIONS or node.arguments[-1].type in COMPLEX):
            return False
        if isinstance(node, Binary) and (node.op == "**" or (node.op in ("//", "%") and node.type in FLOATS)):
            return False
    return True
