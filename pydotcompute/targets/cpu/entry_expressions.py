"""Expressions over dimensions, params and scalars in an entry point: 64-bit integers and doubles that refuse the call
where they would not be Python's numbers (overflow, a zero divisor, an integer that a double does not hold). Everything
is evaluated: a refusal too many only costs the Python path's time.
"""

from __future__ import annotations

from typing import Mapping

from llvmlite import ir

from ...artifact.dimensions import COMPARE, MOST_EXPONENT, WRAPPING, Operation, Tree
from .entry_code import F64, I1, I64, Code, Value, i64

Number = int | float | bool
_CHECKED = {"+": "sadd", "-": "ssub", "*": "smul"}
_EXACT = 2**53  # the integers up to which a double holds, all of them


def kind(tree: Tree, names: Mapping[str, str]) -> str:
    """What `write` makes of an expression, an "int" or a "float" (truths are ints); "" where it cannot write all that
    is there. names: those that have a value, and their kind."""
    if isinstance(tree, str):
        return "float" if names.get(tree) == "float" else "int" if tree in names else ""
    if not isinstance(tree, Operation):
        return "float" if isinstance(tree, float) else "int" if -(2**63) <= tree < 2**63 else ""
    op, operands = tree
    kinds = [kind(operand, names) for operand in operands]
    if not all(kinds) or op in WRAPPING:
        return ""
    if op in COMPARE or op == "not":
        return "int"
    if op == "/":
        return "float"
    if op in _CHECKED:
        return "float" if "float" in kinds else "int"
    if op in ("**", "<<", ">>") and (type(operands[1]) is not int or not 0 <= operands[1] <= MOST_EXPONENT):
        return ""
    if op in ("**", "<<", ">>", "//", "%") and "float" in kinds:
        return ""
    values = kinds[1:] if op == "if" else kinds
    return values[0] if len(set(values)) == 1 else ""  # of two kinds Python's result would be the one or the other


def write(code: Code, tree: Tree, names: Mapping[str, Value | Number]) -> Value:
    """The int64, double or i1 value of an expression that has a `kind`."""
    return _Writer(code, names).value(tree)


def truth(code: Code, value: Value) -> Value:
    if value.type == F64:
        return code.b.fcmp_unordered("!=", value, ir.Constant(F64, 0.0))
    return value if value.type == I1 else code.b.icmp_signed("!=", value, i64(0))


class _Writer:
    def __init__(self, code: Code, names: Mapping[str, Value | Number]):
        self.code, self.b, self.names = code, code.b, names

    def value(self, tree: Tree) -> Value:
        if isinstance(tree, str):
            known = self.names[tree]
            return known if isinstance(known, ir.Value) else self.value(known)
        if not isinstance(tree, Operation):
            if isinstance(tree, float):
                return ir.Constant(F64, tree)
            return ir.Constant(I1, int(tree)) if isinstance(tree, bool) else i64(tree)
        op, operands = tree
        if op == "not":
            return self.b.not_(truth(self.code, self.value(operands[0])))
        if op in ("and", "or"):
            return self._either(op, *map(self.value, operands))
        if op == "if":
            condition = truth(self.code, self.value(operands[0]))
            return self.b.select(condition, self.whole(operands[1]), self.whole(operands[2]))
        if op in ("**", "<<", ">>"):
            assert isinstance(operands[1], int)
            return self._by_number(op, self.whole(operands[0]), operands[1])
        values = [self.whole(operand) for operand in operands]
        if op == "/" or any(value.type == F64 for value in values):
            return self._of_floats(op, [self._double(value) for value in values])
        if op in COMPARE:
            return self.b.icmp_signed(op, *values)
        if op in _CHECKED:
            return self._checked(_CHECKED[op], *values)
        if op == "neg":
            return self._checked("ssub", i64(0), values[0])
        if op == "abs":
            negative = self.b.icmp_signed("<", values[0], i64(0))
            return self.b.select(negative, self._checked("ssub", i64(0), values[0]), values[0])
        if op in ("min", "max"):
            first, *rest = values
            for other in rest:
                keep = self.b.icmp_signed("<=" if op == "min" else ">=", first, other)
                first = self.b.select(keep, first, other)
            return first
        return self._quotient(op, *values)

    def whole(self, tree: Tree) -> Value:
        value = self.value(tree)
        return self.b.zext(value, I64) if value.type == I1 else value

    def _double(self, value: Value) -> Value:
        if value.type == F64:
            return value
        far = self.b.icmp_unsigned(">", self.b.add(value, i64(_EXACT)), i64(2 * _EXACT))
        self.code.require(self.b.not_(far))
        return self.b.sitofp(value, F64)

    def _of_floats(self, op: str, values: list[Value]) -> Value:
        b, zero = self.b, ir.Constant(F64, 0.0)
        if op in COMPARE:
            return (b.fcmp_unordered if op == "!=" else b.fcmp_ordered)(op, *values)
        if op in ("min", "max"):
            first, *rest = values
            for other in rest:  # as Python's: what is not less, or greater, than the first does not replace it
                first = b.select(b.fcmp_ordered("<" if op == "min" else ">", other, first), other, first)
            return first
        if op == "neg":
            return b.fneg(values[0])
        if op == "abs":
            return self.code.call("llvm.fabs.f64", F64, values[0])
        if op == "/":
            self.code.require(b.fcmp_unordered("!=", values[1], zero))
        return {"+": b.fadd, "-": b.fsub, "*": b.fmul, "/": b.fdiv}[op](*values)

    def _either(self, op: str, left: Value, right: Value) -> Value:
        """Python's `and` and `or`: one of their operands."""
        holds = truth(self.code, left)
        if left.type != right.type:
            left, right = (self.b.zext(v, I64) if v.type == I1 else v for v in (left, right))
        return self.b.select(holds, right, left) if op == "and" else self.b.select(holds, left, right)

    def _by_number(self, op: str, left: Value, by: int) -> Value:
        if op == ">>":
            return self.b.ashr(left, i64(by))
        if op == "<<":
            if by == 63:
                self.code.require(self.code.equal(left, i64(0)))
                return left
            return self._checked("smul", left, i64(1 << by))
        result = i64(1)
        for _ in range(by):
            result = self._checked("smul", result, left)
        return result

    def _quotient(self, op: str, left: Value, right: Value) -> Value:
        self.code.require(self.b.icmp_signed("!=", right, i64(0)))
        self.code.require(self.b.icmp_signed("!=", left, i64(-(2**63))))  # by -1 it has no quotient
        # floor: one less than truncation where the remainder is not 0 and has the other sign than the divisor
        remainder = self.b.srem(left, right)
        opposite = self.b.icmp_signed("<", self.b.xor(remainder, right), i64(0))
        below = self.b.and_(opposite, self.b.icmp_signed("!=", remainder, i64(0)))
        if op == "%":
            return self.b.select(below, self.b.add(remainder, right), remainder)
        return self.b.sub(self.b.sdiv(left, right), self.b.zext(below, I64))

    def _checked(self, operation: str, left: Value, right: Value) -> Value:
        name = f"llvm.{operation}.with.overflow.i64"
        pair = self.code.call(name, ir.LiteralStructType([I64, I1]), left, right)
        self.code.require(self.b.not_(self.b.extract_value(pair, 1)))
        return self.b.extract_value(pair, 0)
