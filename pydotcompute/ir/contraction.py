"""What `fastmath` frees of sums: a product in one, which `contract` lets a target round with it, and their order."""

from __future__ import annotations

from .tree import Binary, Expr, KernelTree, Unary


def reorders(tree: KernelTree) -> bool:
    """Whether sums of floats may be taken in another order than they are written in."""
    return not {"fast", "reassoc"}.isdisjoint(tree.fastmath)


def product_of(e: Expr) -> tuple[bool, Expr, Expr] | None:
    """(negated, x, y) where e is x * y or -(x * y)."""
    negated, inner = (True, e.operand) if isinstance(e, Unary) and e.op == "-" else (False, e)
    return (negated, inner.left, inner.right) if isinstance(inner, Binary) and inner.op == "*" else None


def multiply_add(e: Binary) -> tuple[Expr, Expr, Expr] | None:
    """x, y and z where the sum or difference e is x * y + z; of two products the left one is x * y."""
    for product, other, is_left in ((e.left, e.right, True), (e.right, e.left, False)):
        if found := product_of(product):
            negated, x, y = found
            if negated != (e.op == "-" and not is_left):
                x = Unary("-", x, e.type)
            return x, y, Unary("-", other, e.type) if e.op == "-" and is_left else other
    return None
