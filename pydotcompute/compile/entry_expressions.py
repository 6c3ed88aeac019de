"""Expressions over dimensions and params in an entry point: 64-bit integers that refuse the call where they would not
be Python's (overflow, a zero divisor). Everything is evaluated: a refusal too many only costs the Python path's time.
"""

from __future__ import annotations

import ast
from typing import Callable, Mapping

from llvmlite import ir

from .entry_code import I1, I64, Code, Value, i64

Number = int | bool
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_CHECKED = {ast.Add: "sadd", ast.Sub: "ssub", ast.Mult: "smul"}


def can_write(text: str, names: set[str]) -> bool:
    """Whether `write` knows everything in the expression: integers, these names, and the operators on them."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return False
    known = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant)
    for node in ast.walk(tree):
        if isinstance(node, (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)):
            continue
        if not isinstance(node, known) or isinstance(node, ast.Name) and node.id not in names | {"min", "max", "abs"}:
            return False
        if isinstance(node, ast.Constant) and (type(node.value) not in (int, bool) or node.value >= 2**63):
            return False
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Pow, ast.LShift, ast.RShift)):
                if not isinstance(node.right, ast.Constant) or type(node.right.value) is not int:
                    return False
                if not 0 <= node.right.value < 64:
                    return False
            elif not isinstance(node.op, (*_CHECKED, ast.FloorDiv, ast.Mod)):
                return False
    return True


def write(code: Code, text: str, names: Mapping[str, Value | Number]) -> Value:
    """The int64 (or i1) value of an expression that `can_write` accepts."""
    return _Writer(code, names).value(ast.parse(text.strip(), mode="eval").body)


def truth(code: Code, value: Value) -> Value:
    return value if value.type == I1 else code.b.icmp_signed("!=", value, i64(0))


class _Writer:
    def __init__(self, code: Code, names: Mapping[str, Value | Number]):
        self.code, self.b, self.names = code, code.b, names

    def value(self, node: ast.expr) -> Value:
        writer: Callable[[ast.expr], Value] = getattr(self, f"_{type(node).__name__}")
        return writer(node)

    def whole(self, node: ast.expr) -> Value:
        value = self.value(node)
        return self.b.zext(value, I64) if value.type == I1 else value

    def _Constant(self, node: ast.Constant) -> Value:
        return ir.Constant(I1, int(node.value)) if isinstance(node.value, bool) else i64(node.value)

    def _Name(self, node: ast.Name) -> Value:
        value = self.names[node.id]
        return value if isinstance(value, ir.Value) else i64(int(value))

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.b.not_(truth(self.code, self.value(node.operand)))
        value = self.whole(node.operand)
        return self._checked("ssub", i64(0), value) if isinstance(node.op, ast.USub) else value

    def _BinOp(self, node: ast.BinOp) -> Value:
        left = self.whole(node.left)
        if isinstance(node.op, ast.Pow):
            result = i64(1)
            for _ in range(node.right.value):
                result = self._checked("smul", result, left)
            return result
        if isinstance(node.op, ast.LShift):
            if node.right.value == 63:
                self.code.require(self.code.equal(left, i64(0)))
                return left
            return self._checked("smul", left, i64(1 << node.right.value))
        right = self.whole(node.right)
        if isinstance(node.op, ast.RShift):
            return self.b.ashr(left, right)
        if type(node.op) in _CHECKED:
            return self._checked(_CHECKED[type(node.op)], left, right)
        self.code.require(self.b.icmp_signed("!=", right, i64(0)))
        self.code.require(self.b.icmp_signed("!=", left, i64(-(2**63))))  # by -1 it has no quotient
        # floor: one less than truncation where the remainder is not 0 and has the other sign than the divisor
        remainder = self.b.srem(left, right)
        opposite = self.b.icmp_signed("<", self.b.xor(remainder, right), i64(0))
        below = self.b.and_(opposite, self.b.icmp_signed("!=", remainder, i64(0)))
        if isinstance(node.op, ast.Mod):
            return self.b.select(below, self.b.add(remainder, right), remainder)
        return self.b.sub(self.b.sdiv(left, right), self.b.zext(below, I64))

    def _checked(self, operation: str, left: Value, right: Value) -> Value:
        name = f"llvm.{operation}.with.overflow.i64"
        pair = self.code.call(name, ir.LiteralStructType([I64, I1]), left, right)
        self.code.require(self.b.not_(self.b.extract_value(pair, 1)))
        return self.b.extract_value(pair, 0)

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        values = [self.value(v) for v in node.values]
        if any(v.type != I1 for v in values):  # Python's `and` and `or` give one of their operands
            values = [self.b.zext(v, I64) if v.type == I1 else v for v in values]
        result = values[-1]
        for value in reversed(values[:-1]):
            holds = truth(self.code, value)
            pair = (result, value) if isinstance(node.op, ast.And) else (value, result)
            result = self.b.select(holds, *pair)
        return result

    def _Compare(self, node: ast.Compare) -> Value:
        terms = [self.whole(term) for term in (node.left, *node.comparators)]
        result = ir.Constant(I1, 1)
        for op, left, right in zip(node.ops, terms, terms[1:]):
            result = self.b.and_(result, self.b.icmp_signed(_COMPARISONS[type(op)], left, right))
        return result

    def _IfExp(self, node: ast.IfExp) -> Value:
        condition = truth(self.code, self.value(node.test))
        return self.b.select(condition, self.whole(node.body), self.whole(node.orelse))

    def _Call(self, node: ast.Call) -> Value:
        first, *rest = [self.whole(argument) for argument in node.args]
        if node.func.id == "abs":
            negative = self.b.icmp_signed("<", first, i64(0))
            return self.b.select(negative, self._checked("ssub", i64(0), first), first)
        for other in rest:
            keep = self.b.icmp_signed("<=" if node.func.id == "min" else ">=", first, other)
            first = self.b.select(keep, first, other)
        return first
