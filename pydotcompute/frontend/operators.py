"""Operators, comparisons and listed functions on typed values: which type each is done in, as NumPy 2 has it."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import reduce
from typing import Any, Callable

from ..artifact.dtypes import STORED
from ..ir import tree
from ..ir.dtypes import COMPLEX, KINDS, kind_of
from ..ir.functions import FUNCTIONS
from ..ir.operations import BINARY, COMPARISONS, REDUCTIONS, SWAPPED, UNARY
from .promotion import WEAK, Fault, Type, Value, bounds, common, convert, fits, held, literal, may_fault, rank, truth

_FOLD: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "**": operator.pow, "<<": operator.lshift,
    ">>": lambda a, b: a >> min(b, _MOST_BITS),
}  # fmt: skip
_MOST_BITS = 1000  # of integers of the text, which float64 holds then
_FOLD_FLOAT = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_COMPLEX_HAS = "complex numbers have + - * / ** == != abs conj real imag exp log sqrt sin cos sinh cosh"
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def binary(op: str, left: Value, right: Value, fault: Fault, at=None) -> Value:
    """`left op right`."""
    if left.literal and right.literal and (folded := _fold(op, left, right, fault, at)) is not None:
        return folded
    done = common(left.type, right.type)
    if done.weak and done.rank == 0 and op not in "&|^":
        done = Type("int64", True)  # Python adds True and True to 2
    accepted = BINARY[op].accepts
    if done.rank > 1 and "f" not in accepted:
        fault(*_no_bits(op, left, right, done))
        done = Type("int64")
    elif done.rank == 3 and "c" not in accepted:
        fault(f"`{op}` has no meaning for {done}", _COMPLEX_HAS)
        op = "*"
    elif done.dtype == "bool":
        if "b" not in accepted:
            fault(f"`{op}` of two bools has no meaning, as in NumPy", "write `!=` or `^`")
        done, op = (done, {"+": "|", "-": "^", "*": "&"}.get(op, op)) if op in "+-*&|^" else (Type("int8"), op)
    if op == "/" and done.rank <= 1:
        done = Type("float64", done.weak)
    if op == "**" and done.rank == 1 and right.literal and right.constant.real < 0:
        fault(
            f"{left.type if not left.weak else 'an integer'} to the power {right.constant.value} is no integer",
            "make the base a float: float64(x) ** -1, or write 1 / x",
        )
    return Value(
        tree.Binary(op, convert(left, done.dtype, fault), convert(right, done.dtype, fault), done.dtype, at=at),
        done.weak,
    )


def _fold(op: str, left: Value, right: Value, fault: Fault, at) -> Value | None:
    """Arithmetic of literals, as Python does it: TILE + 1 is a number, pi / 180 a float64 that is rounded once. None
    where it has another meaning, or none."""
    if left.rank > 2 or right.rank > 2:
        return None
    a, b = left.constant.real, right.constant.real
    if op == "/" or left.rank == 2 or right.rank == 2:
        if op not in _FOLD_FLOAT or op == "/" and b == 0 or max(abs(a), abs(b)) > 1e300:
            return None
        return literal(_FOLD_FLOAT[op](float(a), float(b)), at)
    a, b = left.constant.whole, right.constant.whole
    if op in ("//", "%") and b == 0 or op in ("**", "<<", ">>") and b < 0:
        return None
    if (bits := _bits(op, a, b)) > _MOST_BITS:
        fault(
            f"`{op}` makes a number of up to {bits} bits, and those of the text have {_MOST_BITS} at most",
            "make one of them a float, as in 2.0 ** 1000",
        )
        return literal(0, at)
    return literal(_FOLD[op](a, b), at)


def _bits(op: str, a: int, b: int) -> int:
    """How many the result has at most."""
    of_a, of_b = a.bit_length(), b.bit_length()
    if op == "**":
        return of_a * b if of_a > 1 else 1
    return {"<<": of_a + b, "*": of_a + of_b}.get(op, max(of_a, of_b))


def _no_bits(op: str, left: Value, right: Value, done: Type) -> tuple[str, str]:
    if left.rank <= 1 and right.rank <= 1:
        return (
            f"`{op}` of {left.type} and {right.type}: their common type is {done}, which has no bits",
            "convert one of them: int64(…) or uint64(…)",
        )
    culprit = left if left.rank > 1 else right
    return f"`{op}` takes integers or bools, not {culprit.type}", whole_of(culprit.type)


def whole_of(type_: Type) -> str:
    """What to write where an integer is wanted and a value is of another type."""
    return "convert a part of it: int64(real(z))" if type_.rank == 3 else "convert it first: int64(…)"


def unary(op: str, value: Value, fault: Fault, at=None) -> Value:
    """`-value`, `+value`, `~value`."""
    if value.literal and op != "~" or value.literal and value.rank == 1:
        number = value.constant.value
        return literal(_UNARY[op](number), at)
    if op == "~":
        if kind_of(value.expr.type) not in UNARY[op].accepts:
            fault(f"`~` takes integers or bools, not {value.type}", whole_of(value.type))
        elif value.rank == 0 and value.weak:
            fault("`~` of a Python bool is an integer that is never 0", "write `not`")
        op = "not" if value.expr.type == "bool" else "~"
        return Value(tree.Unary(op, value.expr, value.expr.type, at=at), value.weak)
    if value.rank == 0:
        if not value.weak:
            fault(f"`{op}` of a bool has no meaning, as in NumPy", "write `not`, or convert it: int64(…)")
        value = Value(convert(value, "int64", fault), value.weak)
    if op == "+":
        return value
    return Value(tree.Unary("-", held(value, fault), value.expr.type, at=at), value.weak)


def compare(op: str, left: Value, right: Value, fault: Fault, at=None) -> Value:
    """`left op right`, exact between integers of any types, as NumPy 2 is."""
    weak = left.weak and right.weak
    if left.literal and right.literal and max(left.rank, right.rank) <= 2:
        return literal(_COMPARE[op](left.constant.value, right.constant.value), at)
    if KINDS[max(left.rank, right.rank)] not in COMPARISONS[op].accepts:
        fault(f"`{op}` has no meaning for complex numbers", "compare their abs, real or imag")
        op = "=="
    if left.literal and left.rank == 1 and right.rank == 1:
        op, left, right = SWAPPED[op], right, left
    if left.rank == 1 and right.literal and right.rank == 1 and not fits(right.constant.whole, left.expr.type):
        low, _ = bounds(left.expr.type)
        known = _COMPARE[op](low, right.constant.whole)
        if not may_fault(left.expr):
            return Value(tree.Const(known, "bool", at=at), weak)
        # against the least number it is as known, and the indices are looked at all the same
        least = tree.Const(low, left.expr.type, at=at)
        return Value(tree.Compare(">=" if known else "<", left.expr, least, at=at), weak)
    if left.rank == right.rank == 1 and not right.literal:
        mixed = {left.expr.type, right.expr.type}
        if "uint64" in mixed and any(t.startswith("int") for t in mixed):
            if left.expr.type == "uint64":
                op, left, right = SWAPPED[op], right, left
            return Value(_signed_unsigned(op, left.expr, right.expr, at), weak)
        # a dimension or index keeps its value: what it meets is widened
        done = Type(str(common(Type(left.expr.type), Type(right.expr.type)).dtype))
    else:
        done = common(left.type, right.type)
    operands = convert(left, done.dtype, fault), convert(right, done.dtype, fault)
    return Value(tree.Compare(op, *operands, at=at), weak)


def _signed_unsigned(op: str, signed: tree.Expr, unsigned: tree.Expr, at) -> tree.Expr:
    """A signed integer against a uint64: by the sign first, then as unsigned numbers."""
    zero = tree.Const(0, signed.type, at=at)
    same = tree.Compare(op, tree.Convert(signed, "uint64", at=at), unsigned, at=at)
    if op in ("<", "<=", "!="):
        return tree.BoolOp("or", tree.Compare("<", signed, zero, at=at), same, at=at)
    return tree.BoolOp("and", tree.Compare(">=", signed, zero, at=at), same, at=at)


def select(condition: tree.Expr, then: Value, otherwise: Value, fault: Fault, at=None) -> Value:
    """`then if condition else otherwise`, in the common type of both."""
    done = common(then.type, otherwise.type)
    sides = convert(then, done.dtype, fault), convert(otherwise, done.dtype, fault)
    return Value(tree.Select(condition, *sides, done.dtype, at=at), done.weak)


def call(name: str, values: list[Value], fault: Fault, at=None) -> Value:
    """A listed function; how many values there are has been checked."""
    function = FUNCTIONS[name]
    if name == "pow":
        return binary("**", values[0], values[1], fault, at)
    chosen = values[1:] if name == "where" else values
    done = chosen[0].type
    for value in chosen[1:]:
        done = common(done, value.type)
    if done.weak and done.rank == 0 and name not in ("min", "max", "where"):
        done = Type("int64", True)
    if KINDS[done.rank] not in function.accepts:
        fault(*_not_accepted(name, done))
        done = Type(WEAK[1] if "i" in function.accepts else WEAK[2])
        chosen = [Value(tree.Const(1, "int64"), True) for _ in chosen]
    if function.computed == "float" and done.rank < 2:
        done = Type("float64", done.weak)
    arguments = tuple(convert(value, done.dtype, fault) for value in chosen)
    if name in ("conj", "real", "imag") and done.rank < 3:
        if name != "imag":
            return Value(arguments[0], done.weak)
        zero = convert(Value(tree.Const(0, "int64", at=at), True), done.dtype, fault)
        if may_fault(arguments[0]):  # its indices are looked at all the same
            itself = tree.Compare("==", arguments[0], arguments[0], at=at)
            zero = tree.Select(itself, zero, zero, done.dtype, at=at)
        return Value(zero, done.weak)
    if name in ("floor", "ceil", "trunc", "round") and done.rank < 2 or name == "abs" and done.dtype == "bool":
        return Value(arguments[0], done.weak)  # whole already
    if name in ("min", "max") and done.rank == 0:
        both = REDUCTIONS[REDUCTIONS[name].bools].combine
        return Value(reduce(lambda a, b: tree.Binary(both, a, b, "bool", at=at), arguments), done.weak)
    if name == "where":
        arguments = (truth(values[0]), *arguments)
    if function.gives == "bool":
        return Value(tree.Call(name, arguments, "bool", at=at), done.weak)
    dtype = real_of(done.dtype) if function.gives == "real" else done.dtype
    result = tree.Call(name, arguments[: len(function.arguments)], dtype, at=at)
    for argument in arguments[len(function.arguments) :]:
        result = tree.Call(name, (result, argument), dtype, at=at)
    return Value(result, done.weak)


def _not_accepted(name: str, done: Type) -> tuple[str, str]:
    names = {"b": "bools", "i": "integers", "f": "floats", "c": "complex numbers"}
    *most, last = (names[letter] for letter in FUNCTIONS[name].accepts)
    accepted = f"{', '.join(most)} and {last}" if most else last
    hint = {
        0: "convert it first: int64(…)",
        2: "convert it first: int64(…)",
        3: _COMPLEX_HAS,
    }
    return f"`{name}` takes {accepted}, not {done}", hint.get(done.rank, "")


def real_of(dtype: str) -> str:
    return COMPLEX.get(dtype, dtype)


def cast(dtype: str, value: Value, fault: Fault, at=None) -> Value:
    """`float32(value)`: a strong value; of a dtype that is stored in 16 bits rounded to it, and float32."""
    if rank(dtype) == 1 and value.literal and value.rank == 1 and not fits(value.constant.whole, dtype):
        low, high = bounds(dtype)
        fault(f"{value.constant.value} does not fit {dtype}", f"{dtype} holds {low} … {high}", value.expr.at)
        return Value(tree.Const(low, dtype, at=at))
    if dtype in STORED:
        kept = convert(value, dtype, fault)
        assert isinstance(kept, tree.Convert)
        literal_ = isinstance(kept.operand, tree.Const)  # which has been rounded
        return Value(kept.operand if literal_ else tree.Convert(kept, "float32", at=at))
    made = convert(value, dtype, fault)
    return Value(replace(made, at=at) if isinstance(made, tree.Convert) else made)
