"""What is not compiled, because a compiler would not come to its end: helpers that multiply, and what is nested too
deep, with each statement of a helper that is no function where it is called."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import DeclarationError, Position
from ..ir.tree import For, Helper, If, KernelTree, Parallel, Reduce, Stmt, While, children, walk

MOST_NODES = 5_000  # of the bodies of helpers, each in the place of each of its calls
MOST_LOOPS = 12  # one in another, of one function: Numba takes 20, with those that a target adds
MOST_BLOCKS = 64  # likewise, conditions among them: Python takes 100; a function as it is written has fewer (syntax.py)


def check(tree: KernelTree, at: Position) -> None:
    """Raise DeclarationError for a tree that is too large; at: where the kernel stands."""
    if (size := expanded(tree.body, tree.helpers)) > MOST_NODES:
        told = f"the helpers of `{tree.name}` have {size:,} parts when each stands where it is called, and at most "
        raise DeclarationError(f"{told}{MOST_NODES:,} are compiled", at, "call them in loops, or fewer times")
    for body in (tree.body, *(helper.body for helper in tree.helpers)):
        _check_nesting(body, 0, 0, at)


def expanded(body: Iterable[Stmt], helpers: Iterable[Helper]) -> int:
    """How many nodes the helpers of a tree have, each as often as it is called. helpers: callees before callers."""
    sizes: dict[str, int] = {}

    def called(statements: Iterable[Stmt]) -> int:
        nodes = (node for statement in statements for node in walk(statement))
        return sum(sizes[node.helper] for node in nodes if hasattr(node, "helper"))

    for helper in helpers:
        own = sum(1 for statement in helper.body for _ in walk(statement))
        sizes[helper.name] = own + called(helper.body)
    return called(body)


def too_deep(name: str, at: Position) -> DeclarationError:
    """Of a kernel for which the stack of the front end does not suffice."""
    told = f"`{name}` is nested too deep: helpers that call helpers, expressions and statements in one another"
    return DeclarationError(told, at, "call helpers one after the other, and give parts of expressions names")


def _check_nesting(body: Iterable[Stmt], loops: int, blocks: int, at: Position) -> None:
    for s in body:
        at = s.at or at
        is_loop = isinstance(s, (For, While, Reduce, Parallel))  # targets write many counts as one to three loops
        now, within = loops + is_loop, blocks + (is_loop or isinstance(s, If))
        if now > MOST_LOOPS:
            raise DeclarationError(f"loops nested more than {MOST_LOOPS} deep", at, "move the inner ones into a helper")
        if within > MOST_BLOCKS:
            told = f"statements nested more than {MOST_BLOCKS} deep, with those of helpers where they are called"
            raise DeclarationError(told, at, "let helpers return values, and store those")
        _check_nesting((child for child in children(s) if hasattr(child, "at")), now, within, at)
