"""A function written with bits.py → a helper of the typed tree: what is used more than once becomes a local."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..tree import Assign, Const, Expr, Helper, HelperParameter, Return, Stmt, Var
from .bits import Function, Value, variable


def traced(name: str, function: Function, parameters: Sequence[tuple[str, str]]) -> Helper:
    """The helper of a function of these (name, dtype): it returns one value."""
    given = [variable(parameter, dtype) for parameter, dtype in parameters]
    result = function(*given)
    body = [*_Lowering(result).statements]
    return Helper(
        name, tuple(HelperParameter(p, dtype, None) for p, dtype in parameters), (result.type,), tuple(body)
    )


class _Lowering:
    def __init__(self, result: Value):
        self.uses: Counter[int] = Counter()
        self.trees: dict[int, Expr] = {}
        self.statements: list[Stmt] = []
        order = _ordered(result)
        for one in order:
            self.uses.update(id(operand) for operand in one.operands)
        for one in order:
            tree = one.made(*(self.trees[id(operand)] for operand in one.operands))
            if self.uses[id(one)] > 1 and not isinstance(tree, (Const, Var)):
                name = f"v{len(self.statements)}"
                self.statements.append(Assign(name, tree))
                tree = Var(name, one.type)
            self.trees[id(one)] = tree
        self.statements.append(Return((self.trees[id(result)],)))


def _ordered(result: Value) -> list[Value]:
    """The value and all that it is made of, operands before what is made of them."""
    order: list[Value] = []
    seen: set[int] = set()
    left = [(result, False)]
    while left:
        one, visited = left.pop()
        if visited:
            order.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            left.append((one, True))
            left += [(operand, False) for operand in reversed(one.operands)]
    return order


#: a quotient whose error what follows makes good: within 2 ulp, where a target has a faster way to that
NEAR_QUOTIENT = traced("near_quotient_float32", lambda a, b: a / b, [("a", "float32"), ("b", "float32")])
