"""Parallel loops over ranges as loops that count from 0: what executes a tree knows one kind of loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import tree as t
from .names import all_names


def from_zero(tree: t.KernelTree) -> t.KernelTree:
    """The tree with counters in place of the indices of ranges, `i = start + step * counter` first in the body.

    A private array that is touched at the index of a range becomes shared: its elements stay with an index, and a
    target deals iterations, which it knows by their counters.
    """
    roots = (*tree.body, *(s for helper in tree.helpers for s in helper.body))
    loops = [n for s in roots for n in t.walk(s) if _over_ranges(n)]
    if not loops:
        return tree
    threads = [loop for loop in loops if isinstance(loop, t.Parallel) and loop.kind == "threads"]
    touched = {n.array for loop in threads for n in t.walk(loop) if hasattr(n, "array")}
    taken, locals_ = all_names(tree), dict(tree.locals)
    arrays = {a.name: _shared(a, touched) for a in tree.arrays.values()}

    def changed(node: Any) -> Any:
        if isinstance(node, t.NewArray):
            return arrays[node.name]
        if not isinstance(node, t.Stmt):
            return node
        done = t.rebuilt(node, changed)
        if isinstance(done, t.Reduce) and done.range is not None:
            return sequential(done, done.range)
        return parallel(done) if isinstance(done, t.Parallel) and any(done.ranges) else done

    def counter(name: str) -> str:
        counter = _fresh(f"{name}_turn", taken)
        locals_[counter] = "int64"
        return counter

    def sequential(loop: t.Reduce, range_: t.Range) -> t.Reduce:
        name = counter(loop.name)
        first = t.Assign(loop.name, _index(name, range_), at=loop.at)
        return replace(loop, name=name, range=None, body=(first, *loop.body))

    def parallel(loop: t.Parallel) -> t.Parallel:
        names, first = list(loop.names), []
        for k, range_ in enumerate(loop.ranges):
            if range_ is not None:
                names[k] = counter(loop.names[k])
                first.append(t.Assign(loop.names[k], _index(names[k], range_), at=loop.at))
        return replace(loop, names=tuple(names), ranges=(), body=(*first, *loop.body))

    body = tuple(map(changed, tree.body))
    helpers = tuple(replace(helper, body=tuple(map(changed, helper.body))) for helper in tree.helpers)
    return replace(tree, body=body, helpers=helpers, locals=locals_, arrays=arrays)


def _over_ranges(node: t.Node) -> bool:
    return isinstance(node, t.Parallel) and any(node.ranges) or isinstance(node, t.Reduce) and node.range is not None


def _shared(array: t.NewArray, touched: set[str]) -> t.NewArray:
    return replace(array, kind="shared") if array.kind == "private" and array.name in touched else array


def _index(counter: str, range_: t.Range) -> t.Expr:
    turns: t.Expr = t.Var(counter, "int64")
    if range_.step != t.Const(1, "int64"):
        turns = t.Binary("*", turns, range_.step, "int64")
    return t.Binary("+", turns, range_.start, "int64")


def _fresh(base: str, taken: set[str]) -> str:
    name, number = base, 1
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    taken.add(name)
    return name
