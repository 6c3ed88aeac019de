"""`x ** c` for a constant c, a whole number or a half: products and one square root in place of a function.

Of every |c| <= 8, within |c| + 1 units in the last place. A negative power is 1 by the positive one. The power 0 is 1,
and that of every value, as pow's. Of a literal too, which then is a number: the same on every target, whatever its pow
rounds to.
"""

from __future__ import annotations

import math

from ..ir import tree
from .promotion import Fault, Value, common, convert, literal, may_fault

MOST = 8
_SIMPLE = 8  # nodes of a base that is written more than once; others get a name


def constant_power(left: Value, right: Value, fault: Fault, before: list[tree.Stmt], fresh, at=None) -> Value | None:
    """`left ** right` where that takes no function, else None. Statements that it takes first are added to `before`;
    `fresh(base, dtype)` makes a name for a local."""
    if not right.literal or right.rank > 2:
        return None
    exponent = right.constant.real
    done = common(left.type, right.type)
    if not abs(exponent) <= MOST or exponent * 2 != int(exponent * 2) or done.rank == 0:
        return None
    if done.rank == 1 and (exponent < 0 or left.literal) or done.rank == 3 and exponent != int(exponent):
        return None
    base = convert(left, done.dtype, fault)
    known = left.literal and done.rank == 2

    def product(a: tree.Expr, b: tree.Expr) -> tree.Expr:
        if known and isinstance(a, tree.Const) and isinstance(b, tree.Const):
            return tree.Const(a.real * b.real, done.dtype, at=at)
        return tree.Binary("*", a, b, done.dtype, at=at)

    def named(e: tree.Expr) -> tree.Expr:
        if isinstance(e, tree.Const):
            return e
        name = fresh("power_", done.dtype)
        before.append(tree.Assign(name, e, at=at))
        return tree.Var(name, done.dtype, at=at)

    whole = int(abs(exponent))
    one = literal(1, at)
    uses = whole + (exponent != int(exponent))
    if uses > 1 and not isinstance(base, tree.Var) and (whole > 3 or sum(1 for _ in tree.walk(base)) > _SIMPLE):
        base = named(base)
    if whole > 3:
        square = named(product(base, base))
        fourth = named(product(square, square)) if whole == 8 else product(square, square)
        made = {
            4: lambda: fourth,
            5: lambda: product(fourth, base),
            6: lambda: product(fourth, square),
            7: lambda: product(product(fourth, square), base),
            8: lambda: product(fourth, fourth),
        }[whole]()
    elif whole:
        made = base
        for _ in range(whole - 1):
            made = product(made, base)
    else:
        if not uses and may_fault(base):
            named(base)  # its indices are looked at all the same
        made = convert(one, done.dtype, fault)
    if exponent != int(exponent):
        root: tree.Expr = tree.Call("sqrt", (base,), done.dtype, at=at)
        if known and isinstance(base, tree.Const) and base.real >= 0:
            root = tree.Const(math.sqrt(base.real), done.dtype, at=at)
        made = product(made, root) if whole else root
    if exponent < 0 and known and isinstance(made, tree.Const) and made.real:
        made = tree.Const(1 / made.real, done.dtype, at=at)
    elif exponent < 0:
        made = tree.Binary("/", convert(one, done.dtype, fault), made, done.dtype, at=at)
    return Value(made, done.weak)
