"""Expressions over dimensions and params in an entry point: 64-bit integers that refuse the call where they would not
be Python's (overflow, a zero divisor). Everything is evaluated: a refusal too many only costs the Python path's time.
"""

from __future__ import annotations

from typing import Collection, Mapping

from llvmlite import ir

from ...artifact.dimensions import COMPARE, MOST_EXPONENT, WRAPPING, Operation, Tree
from .entry_code import I1, I64, Code, Value, i64

Number = int | bool
_CHECKED = {"+": "sadd", "-": "ssub", "*": "smul"}


def can_write(tree: Tree, names: Collection[str]) -> bool:
    """Whether `write` knows everything in the expression: integers, these names, and the operators on them."""
    if isinstance(tree, str):
        return tree in names
    if not isinstance(tree, Operation):
        return isinstance(tree, int) and -(2**63) <= tree < 2**63
    if tree.op == "/" or tree.op in WRAPPING:
        return False
    if tree.op in ("**", "<<", ">>"):
        by = tree.operands[1]
        if type(by) is not int or not 0 <= by <= MOST_EXPONENT:
            return False
    return all(can_write(operand, names) for operand in tree.operands)


def write(code: Code, tree: Tree, names: Mapping[str, Value | Number]) -> Value:
    """The int64 (or i1) value of an expression that `can_write` accepts."""
    return _Writer(code, names).value(tree)


def truth(code: Code, value: Value) -> Value:
    return value if value.type == I1 else code.b.icmp_signed("!=", value, i64(0))


class _Writer:
    def __init__(self, code: Code, names: Mapping[str, Value | Number]):
        self.code, self.b, self.names = code, code.b, names

    def value(self, tree: Tree) -> Value:
        if isinstance(tree, str):
            known = self.names[tree]
            return known if isinstance(known, ir.Value) else i64(int(known))
        if not isinstance(tree, Operation):
            assert isinstance(tree, int)  # dimensions are whole numbers
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
