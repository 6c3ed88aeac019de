"""A rare case of a vectorised function, computed lane by lane without a branch in the loop.

Where a function is cheap for all but a few arguments, one call follows the cheap computation: it returns its second
argument, unless the first is one of the few. LLVM's loop vectoriser replaces a call by that of a vector variant when
the callee names one ("vector-function-abi-variant", LLVM Language Reference); the variants here test all lanes at
once, return at once when none is rare, and else go through them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .values import call

PREFIX = "lanes."  # of every function defined here; the names are part of the mapping and must stay as they are
# Nothing refers to the variants until loops are vectorised; the function that names them has to keep its parameters.
_KEPT = "llvm.compiler.used"
_I64 = ir.IntType(64)
#: of a function without effects that is not inlined
PURE = ("noinline", "nounwind", "willreturn", "memory(none)")


def rare_case(b: ir.IRBuilder, limit: float, name: str, rare: Callable[..., Any], x: Any, usual: Any) -> Any:
    """`usual` where |x| < limit or x is NaN, else rare(builder, x); `name` stands for what that gives."""
    symbol = f"{PREFIX}{name}"
    return b.call(b.module.globals.get(symbol) or _define(b.module, symbol, x.type, limit, rare), [x, usual])


def _define(
    module: ir.Module, symbol: str, type_: ir.Type, limit: float, rare: Callable[..., Any]
) -> ir.Function:
    counts = (2, 4, 8, 16) if type_ == ir.FloatType() else (2, 4, 8)
    names = [f"{symbol}.{count}" for count in counts]
    mapping = ",".join(f"_ZGV_LLVM_N{n}vv_{symbol}({name})" for n, name in zip(counts, names, strict=True))
    scalar = _scalar(module, symbol, type_, limit, rare)
    set.add(scalar.attributes, f'"vector-function-abi-variant"="{mapping}"')
    # the variants must not call what is mapped to them: that too would be vectorised
    lane = _scalar(module, f"{symbol}.1", type_, limit, rare)
    variants = [_variant(lane, name, count, limit) for name, count in zip(names, counts, strict=True)]
    _keep(module, [scalar, *variants])
    return scalar


def _scalar(module: ir.Module, name: str, type_: ir.Type, limit: float, rare: Callable[..., Any]) -> ir.Function:
    function, b, x, usual = _begin(module, name, type_)
    with b.if_then(b.fcmp_ordered(">=", _size(b, x), ir.Constant(type_, limit)), likely=False):
        b.ret(rare(b, x))
    b.ret(usual)
    return function


def _begin(module: ir.Module, name: str, type_: ir.Type) -> tuple[ir.Function, ir.IRBuilder, Any, Any]:
    """A function of (x, usual); the linker keeps one of several equal ones."""
    function = ir.Function(module, ir.FunctionType(type_, [type_, type_]), name)
    function.linkage = "linkonce_odr"
    for attribute in (*PURE, "speculatable"):
        set.add(function.attributes, attribute)  # its own `add` does not know them all
    return function, ir.IRBuilder(function.append_basic_block()), *function.args


def _size(b: ir.IRBuilder, x: Any) -> Any:
    count, element = (f"v{x.type.count}", x.type.element) if isinstance(x.type, ir.VectorType) else ("", x.type)
    return call(b, f"llvm.fabs.{count}{'f32' if element == ir.FloatType() else 'f64'}", x.type, x)


def _variant(scalar: ir.Function, name: str, count: int, limit: float) -> ir.Function:
    vector = ir.VectorType(scalar.return_value.type, count)
    function, builder, x, usual = _begin(scalar.module, name, vector)
    rare = builder.fcmp_ordered(">=", _size(builder, x), ir.Constant(vector, [limit] * count))
    some = builder.icmp_unsigned("!=", builder.bitcast(rare, ir.IntType(count)), ir.Constant(ir.IntType(count), 0))
    with builder.if_then(some, likely=False):
        before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        lane, result = builder.phi(_I64), builder.phi(vector)
        value = builder.call(scalar, [builder.extract_element(x, lane), builder.extract_element(usual, lane)])
        replaced, following = builder.insert_element(result, value, lane), builder.add(lane, ir.Constant(_I64, 1))
        for phi, first, then in ((lane, ir.Constant(_I64, 0), following), (result, usual, replaced)):
            phi.add_incoming(first, before)
            phi.add_incoming(then, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, ir.Constant(_I64, count)), loop, after)
        builder.position_at_end(after)
        builder.ret(replaced)
    builder.ret(usual)
    return function


def _keep(module: ir.Module, functions: list[ir.Function]) -> None:
    kept = module.globals.get(_KEPT)
    functions = [*(kept.initializer.constant if kept else ()), *functions]
    type_ = ir.ArrayType(ir.PointerType(), len(functions))
    kept = kept or ir.GlobalVariable(module, type_, _KEPT)
    kept.value_type, kept.initializer = type_, ir.Constant(type_, functions)
    kept.linkage, kept.section = "appending", "llvm.metadata"
