"""`sort`, `median` and `searchsorted`: helpers that the language brings along, in its own words. Their statements
stand in the place of each call, so every target and the interpreter have them."""

from __future__ import annotations

import ast
from copy import deepcopy

from ..ir import tree
from . import inlining
from .inlining import Inlining
from .promotion import Value
from .scope import Array, Called, Scope, element
from .syntax import called

# A heap from 24 elements on: n · log2(n) steps whatever the order. Comparisons with NaN are false, so NaN, which is no
# number's equal, goes to the end first.
SOURCE = """
def sort(a, n):
    m = n
    for i in range(n - 1, -1, -1):
        if a[i] != a[i]:
            m -= 1
            v = a[i]
            a[i] = a[m]
            a[m] = v
    if m < 24:
        for i in range(1, m):
            v = a[i]
            k = i
            while k > 0 and a[k - 1] > v:
                a[k] = a[k - 1]
                k -= 1
            a[k] = v
        return
    start = m // 2
    end = m
    while end > 1:
        if start > 0:
            start -= 1
            v = a[start]
        else:
            end -= 1
            v = a[end]
            a[end] = a[0]
        root = start
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[child] <= v:
                break
            a[root] = a[child]
            root = child
            child = 2 * root + 1
        a[root] = v


def median(a, n):
    if n < 1:
        return nan
    for i in range(n - 1, -1, -1):
        if a[i] != a[i]:
            return nan
    k = (n - 1) // 2
    state = 0
    below = 0
    above = n
    low = a[0]
    high = low
    while True:
        state = state * 6364136223846793005 + 1442695040888963407
        turn = (state >> 33) % (above - below)
        i = -1
        while turn >= 0:
            i += 1
            if (below == 0 or a[i] > low) and (above == n or a[i] < high):
                turn -= 1
        value = a[i]
        less = 0
        equal = 0
        for j in range(n):
            if a[j] < value:
                less += 1
            elif a[j] == value:
                equal += 1
        if k < less:
            high = value
            above = less
        elif k < less + equal:
            break
        else:
            low = value
            below = less + equal
    if n % 2 == 1:
        return value / 1
    other = value
    if less + equal == k + 1:
        for j in range(n):
            if a[j] > value and (other == value or a[j] < other):
                other = a[j]
    return (value / 1 + other / 1) / 2


def searchsorted(a, n, v, right):
    low = 0
    high = n
    while low < high:
        middle = low + (high - low) // 2
        item = a[middle]
        if right != 0:
            after = not (v < item or (item != item and v == v))
        else:
            after = item < v or (v != v and item == item)
        if after:
            low = middle + 1
        else:
            high = middle
    return int64(low)
"""
# The median of many: the values that it may be lie between `low` and `high`; one of them, drawn by a generator that
# begins the same each time, halves them on average, in two passes. Nothing is moved or copied.
_HELPERS = {f.name: f for f in ast.parse(SOURCE).body if isinstance(f, ast.FunctionDef)}


def call(made: Inlining, s: Scope, node: ast.Call) -> Called:
    """A call of one of them in scope `s`."""
    name = called(node)
    takes = [argument.arg for argument in _HELPERS[name].args.args]
    least = len(takes) - (name == "searchsorted")
    form = f"write `{name}({', '.join(takes[:least])})`"
    if not least <= len(node.args) <= len(takes):
        counts = f"{least} arguments" if least == len(takes) else f"{least} or {len(takes)} arguments"
        s.refuse(node, f"`{name}` takes {counts}, found {len(node.args)}", form)
    given = [inlining.argument(s, argument) for argument in node.args]
    array = _array(s, node.args[0], name, given[0])
    for argument, value in zip(node.args[1:], given[1:]):
        if isinstance(value, Array):
            s.refuse(argument, f"`{ast.unparse(argument)}` is an array, and `{name}` takes one, first", form)
    count = given[1]
    if isinstance(count, Value) and count.rank != 1:
        s.fault(node.args[1])(f"`{name}` takes a number of elements, not {count.type}", "convert it: int64(…)")
        count = Value(tree.Const(0, "int64", at=s.at(node)), True)
    left = Value(tree.Const(0, "int64", at=s.at(node)), True)
    given = [array, count, *given[2:], *[left] * (len(takes) - len(given))]
    s.beyond_function()
    if name != "sort" or s.place != "blocks":
        return made.call(s, node, _placed(s, node), given)
    # In a block one thread sorts, and all others wait for it once.
    outer, s.before_statement, s.place = s.before_statement, [], "threads"
    found = made.call(s, node, _placed(s, node), given)
    body, s.before_statement, s.place = s.before_statement, outer, "blocks"
    one = tree.Const(1, "int64", at=s.at(node))
    outer.append(tree.Parallel("threads", (s.fresh("once_", "int64"),), (one,), tuple(body), at=s.at(node)))
    return found


def _array(s: Scope, node: ast.expr, name: str, given: Value | Array) -> Array:
    text = ast.unparse(node)
    if not isinstance(given, Array):
        s.refuse(node, f"`{text}` is not an array", f"write `{name}(x, …)` for an array `x` or a row of one")
    if given.rank != 1:
        s.refuse(node, f"`{name}` takes an array of one dimension, and `{text}` has {given.rank}",
                 f"give it a row, `{text}[{', '.join('ijklmnop'[: given.rank - 1])}]`" if given.rank > 1
                 else f"write `{text}[()]`")  # fmt: skip
    if given.dtype.startswith("complex"):
        s.refuse(node, f"`{name}` orders numbers, and `{text}` is {given.dtype}", "order their `abs` or `real`")
    if given.kind == "private":
        s.refuse(node, f"`{text}` is private, and its elements are with their threads", "make it `shared`")
    if name == "sort" and given.kind in ("in", "tuple"):
        what = "an input" if given.kind == "in" else "a constant tuple"
        s.refuse(node, f"`{text}` is {what} and cannot be sorted", "copy it into an output, `temp` or `local` array, "
                 f"`copy[i] = {element(text, given)}`")  # fmt: skip
    return given


def _placed(s: Scope, node: ast.Call) -> ast.FunctionDef:
    """The helper as if it were written where it is called, under names that nobody else has."""
    if id(node) not in s.module.brought:
        function = deepcopy(_HELPERS[called(node)])
        names = [inner for inner in ast.walk(function) if isinstance(inner, ast.Name)]
        own = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        own |= {argument.arg for argument in function.args.args}
        for inner in ast.walk(function):
            if isinstance(inner, ast.Name) and inner.id in own:
                inner.id += inlining.OWN
            elif isinstance(inner, ast.arg):
                inner.arg += inlining.OWN
            if isinstance(inner, (ast.stmt, ast.expr, ast.arg)):
                ast.copy_location(inner, node)
        s.module.bring(node, function)
    return s.module.brought[id(node)]
