"""`while k < n:` with `k += 1` at its end as a loop over a range: how often it turns is known before it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir.names import all_names
from ...ir.tree import Assign, Binary, Compare, Const, Continue, For, KernelTree, Stmt, Var, While, rebuilt, walk
from ..names import Names
from .bodies import assigned

_ONE = Const(1, "int64")


def counted(tree: KernelTree) -> KernelTree:
    """The tree with a loop over a range in place of each such `while`; the body still counts, for whoever reads k."""
    names, locals_ = Names(all_names(tree), lambda name: False), dict(tree.locals)

    def changed(node: Any) -> Any:
        if not isinstance(node, Stmt):
            return node
        done = rebuilt(node, changed)
        if not isinstance(done, While) or not (bounds := _bounds(done)):
            return done
        turn = names.fresh("_turn")
        locals_[turn] = "int64"
        return For(turn, *bounds, _ONE, done.body, at=done.at)

    body = tuple(map(changed, tree.body))
    helpers = tuple(replace(helper, body=tuple(map(changed, helper.body))) for helper in tree.helpers)
    return replace(tree, body=body, helpers=helpers, locals=locals_)


def _bounds(loop: While) -> tuple[Var, Var | Const] | None:
    """The counter and what it counts to, where the body leaves both alone and its end is the only way round."""
    match loop:
        case While(Compare("<", Var(k, "int64") as counter, Var() | Const() as stop), (*body, Assign(last, step))):
            held = {k, stop.name} if isinstance(stop, Var) else {k}
            counts = last == k and step == Binary("+", counter, _ONE, "int64")
            if counts and not held & assigned(body) and not any(isinstance(n, Continue) for s in body for n in walk(s)):
                return counter, stop
    return None
