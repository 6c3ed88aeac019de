"""Elementary functions from ir/math as LLVM IR, each an LLVM function that is inlined where it is called: a loop around
it is vectorised, for there is no branch in it, and no call but that of a rare case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from ...ir import math
from ...ir.tree import (
    ArrayName,
    Assign,
    Binary,
    Call,
    CallHelper,
    Compare,
    Const,
    Convert,
    Expr,
    Helper,
    If,
    Return,
    Select,
    Stmt,
    Unary,
    Var,
)  # fmt: skip
from .conversions import convert
from .dialect import Dialect, of_types
from .expressions import INTRINSIC_FUNCTIONS
from .operations import OPERATIONS
from .values import DTYPES, constant, llvm_type, select
from .words import COMPARE, OPERATORS

PREFIX = "math$"  # of every function defined here; NVVM wants no dot in names that several modules have


def defined(d: Dialect, module: ir.Module, name: str, dtype: str, fused: bool = False) -> ir.Function:
    """The function of ir/math in a module, with what it calls; each is there once. It may be defined in several modules
    that are linked: they are equal, and one stays. fused: `fmuladd` rounds once for whatever the module is for."""
    helpers = {helper.name: helper for helper in math.helpers(name, dtype, fused=fused)}
    return _define(d, module, helpers, f"{name}_{dtype}", ("alwaysinline",))


def listed(name: str, dtype: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The intrinsic of a function of ir/math: `call(context, builder, *values)` gives its value."""
    helper = math.helpers(name, dtype)[-1]
    result, operands = DTYPES[helper.types[0]], tuple(DTYPES[p.type] for p in helper.parameters)

    def typed(*given):
        if given != operands:
            return None
        return result(*operands), lambda context, b, signature, values: call(context, b, *values)

    return of_types(len(operands), typed)


def _define(
    d: Dialect, module: ir.Module, helpers: Mapping[str, Helper], name: str, attributes: tuple[str, ...]
) -> ir.Function:
    symbol = f"{PREFIX}{name}"
    if symbol in module.globals:
        return module.globals[symbol]
    helper = helpers[name]
    (result,), parameters = helper.types, helper.parameters
    type_ = ir.FunctionType(llvm_type(DTYPES[result]), [llvm_type(DTYPES[p.type]) for p in parameters])
    function = ir.Function(module, type_, symbol)
    function.linkage = d.linkage
    for attribute in attributes:
        set.add(function.attributes, attribute)  # its own `add` does not know them all
    body = _Body(d, ir.IRBuilder(function.append_basic_block()), helpers)
    body.locals |= {p.name: value for p, value in zip(parameters, function.args, strict=True)}
    body.write(helper.body)
    return function


class _Body:
    """The printer of a helper's statements and expressions; `helpers` are those that it may call."""

    def __init__(self, d: Dialect, b: ir.IRBuilder, helpers: Mapping[str, Helper]):
        self.d, self.b, self.helpers = d, b, helpers
        self.locals: dict[str, Any] = {}

    def write(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            match s:
                case Assign(name, value):
                    self.locals[name] = self.value(value)
                case Return((value,)):
                    self.b.ret(self.value(value))
                case If(condition, then, otherwise):  # each of which returns
                    with self.b.if_else(self.value(condition)) as (holds, fails):
                        with holds:
                            self.write(then)
                        with fails:
                            self.write(otherwise)
                    self.b.unreachable()
                case _:
                    raise TypeError(f"no helper of ir/math has a {type(s).__name__}")

    def value(self, e: Expr | ArrayName) -> Any:
        match e:
            case Const(value, dtype):
                return constant(DTYPES[dtype], value)
            case Var(name):
                return self.locals[name]
            case Unary(op, operand, dtype):
                return self._operation("neg" if op == "-" else "invert", dtype, operand)
            case Binary(op, left, right, dtype):
                return self._operation(OPERATORS[op], dtype, left, right)
            case Compare(op, left, right):
                return self._operation(COMPARE[op], left.type, left, right)
            case Convert(operand, dtype):
                return convert(self.d, self.b, DTYPES[operand.type], DTYPES[dtype], self.value(operand))
            case Call(("bits" | "of_bits"), (operand,), dtype):
                return self.b.bitcast(self.value(operand), llvm_type(DTYPES[dtype]))
            case Call("where", arguments, dtype):
                return select(self.b, DTYPES[dtype], *map(self.value, arguments))
            case Call(name, arguments, _):
                return self._operation(INTRINSIC_FUNCTIONS.get(name, name), arguments[-1].type, *arguments)
            case CallHelper(name, arguments, _):
                return self._called(name)(self.b, *map(self.value, arguments))
            case Select(Compare(">=", Call("abs", (x,)), Const(float(limit))), CallHelper(name, (_,)), usual, dtype):
                x, usual, t = self.value(x), self.value(usual), DTYPES[dtype]
                return self.d.rare_case(self.b, t, limit, name, self._called(name), x, usual)
            case _:
                raise TypeError(f"no helper of ir/math has a {type(e).__name__}")

    def _operation(self, name: str, dtype: str, *operands: Expr) -> Any:
        return OPERATIONS[name].emit(self.d, self.b, DTYPES[dtype], *map(self.value, operands))

    def _called(self, name: str) -> Callable[..., Any]:
        """(builder, *values) → value of another helper."""
        if name in self.d.helpers:
            return self.d.helpers[name]
        function = _define(self.d, self.b.module, self.helpers, name, self.d.pure)
        return lambda b, *values: b.call(function, values)
