"""A rare case of a vectorised function, computed lane by lane without a branch in the loop.

Where a function is cheap for all but a few arguments, one call follows the cheap computation: it returns its second
argument, unless the first is one of the few. LLVM's loop vectoriser replaces a call by that of a vector variant when
the callee names one ("vector-function-abi-variant", LLVM Language Reference); the variants here test all lanes at
once, return at once when none is rare, and else go through them.
"""

from typing import Callable

from llvmlite import ir
from numba.extending import intrinsic

from .bits import FLOATS, llvm_call

PREFIX = "lanes."  # of every function defined here; the names are part of the mapping and must stay as they are
_KEPT = "llvm.compiler.used"  # nothing refers to the variants until loops are vectorised
_I64 = ir.IntType(64)
_PURE = ("noinline", "nounwind", "willreturn", "speculatable", "memory(none)")


def define_pure(module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    """A function without effects that is not inlined; the linker keeps one of several equal ones."""
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "linkonce_odr"
    for attribute in _PURE:
        set.add(function.attributes, attribute)  # its own `add` knows none of these but the first two
    return function


def rare_case(name: str, limit: float, emit: Callable) -> Callable:
    """An intrinsic rare(x, usual): `usual` where |x| < limit or x is NaN, else what emit(builder, x) computes."""

    @intrinsic
    def rare(typing_context, x, usual):
        if x not in FLOATS or usual != x:
            return None
        type_ = FLOATS[x]

        def codegen(context, builder, signature, arguments):
            symbol = f"{PREFIX}{name}.{x}"
            function = builder.module.globals.get(symbol) or _define(builder.module, symbol, type_, limit, emit)
            return builder.call(function, arguments)

        return x(x, x), codegen

    return rare


def _define(module: ir.Module, symbol: str, type_: ir.Type, limit: float, emit: Callable) -> ir.Function:
    counts = (2, 4, 8, 16) if type_ == ir.FloatType() else (2, 4, 8)
    names = [f"{symbol}.{count}" for count in counts]
    mapping = ",".join(f"_ZGV_LLVM_N{n}vv_{symbol}({name})" for n, name in zip(counts, names, strict=True))
    scalar = _scalar(module, symbol, type_, limit, emit)
    set.add(scalar.attributes, f'"vector-function-abi-variant"="{mapping}"')
    # the variants must not call what is mapped to them: that too would be vectorised
    lane = _scalar(module, f"{symbol}.1", type_, limit, emit)
    _keep(module, [_variant(lane, name, count, limit) for name, count in zip(names, counts, strict=True)])
    return scalar


def _scalar(module: ir.Module, name: str, type_: ir.Type, limit: float, emit: Callable) -> ir.Function:
    function = define_pure(module, name, type_, [type_, type_])
    builder, x, usual = _entry(function)
    rare = builder.fcmp_ordered(">=", llvm_call(builder, "fabs", type_, [x]), ir.Constant(type_, limit))
    with builder.if_then(rare, likely=False):
        builder.ret(emit(builder, x))
    builder.ret(usual)
    return function


def _entry(function: ir.Function):
    return ir.IRBuilder(function.append_basic_block()), *function.args


def _variant(scalar: ir.Function, name: str, count: int, limit: float) -> ir.Function:
    module, type_ = scalar.module, scalar.args[0].type
    vector = ir.VectorType(type_, count)
    function = define_pure(module, name, vector, [vector, vector])
    builder, x, usual = _entry(function)
    suffix = f"v{count}{'f32' if type_ == ir.FloatType() else 'f64'}"
    fabs = module.globals.get(f"llvm.fabs.{suffix}")
    fabs = fabs or ir.Function(module, ir.FunctionType(vector, [vector]), f"llvm.fabs.{suffix}")
    rare = builder.fcmp_ordered(">=", builder.call(fabs, [x]), ir.Constant(vector, [limit] * count))
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
