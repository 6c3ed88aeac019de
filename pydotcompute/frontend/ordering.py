"""`sort`, `median` and `searchsorted`: helpers that the language brings along, in its own words. Their statements
stand in the place of each call, so every target and the interpreter have them."""

from __future__ import annotations

import ast
from copy import deepcopy
from textwrap import indent

from ..artifact.dtypes import STORED
from ..ir import tree
from . import expressions, inlining, sorting_network
from .inlining import Inlining
from .promotion import Value, convert, fits
from .scope import OWN, Array, Called, Scope, element
from .syntax import called

# Statements that put what is NaN behind the m numbers of `a`.
NUMBERS_FIRST = """\
m = n
for i in range(n - 1, -1, -1):
    if a[i] != a[i]:
        m -= 1
        v = a[i]
        a[i] = a[m]
        a[m] = v"""
# Quicksort that swaps every element that it looks at, whether it is below the pivot or not: nothing to guess for the
# processor. Where elements on the left are equal to the pivot, the range is without smaller ones: equal ones are set
# aside together. After too many uneven parts a heap goes on, so n · log2(n) steps whatever the order. Comparisons with
# NaN are false, so NaN, which is no number's equal, goes to the end first.
SOURCE = f"""
def sort(a, n):
    lows = local((48,), int64)
    highs = local((48,), int64)
{indent(NUMBERS_FIRST, " " * 4)}
    left = 2 * m * (64 - clz(int64(m)))
    low = 0
    high = m
    top = 0
    while True:
        if high - low <= 16:
            for i in range(low + 1, high):
                v = a[i]
                k = i
                while k > low and a[k - 1] > v:
                    a[k] = a[k - 1]
                    k -= 1
                a[k] = v
        elif left <= 0:
            start = low + (high - low) // 2
            end = high
            while end > low + 1:
                if start > low:
                    start -= 1
                    v = a[start]
                else:
                    end -= 1
                    v = a[end]
                    a[end] = a[low]
                root = start
                child = 2 * root + 1 - low
                while child < end:
                    if child + 1 < end and a[child] < a[child + 1]:
                        child += 1
                    if a[child] <= v:
                        break
                    a[root] = a[child]
                    root = child
                    child = 2 * root + 1 - low
                a[root] = v
        else:
            left -= high - low
            step = (high - low) // 8
            first = low + step
            at = low + (high - low) // 2
            last = high - 1 - step
            v = a[at]
            if a[first] < v:
                if a[last] < v:
                    at = last if a[first] < a[last] else first
            elif v < a[last]:
                at = first if a[first] < a[last] else last
            v = a[at]
            a[at] = a[low]
            a[low] = v
            j = low + 1
            if low > 0 and not a[low - 1] < v:
                for i in range(low + 1, high):
                    w = a[i]
                    a[i] = a[j]
                    a[j] = w
                    j += w <= v
                low = j
                continue
            for i in range(low + 1, high):
                w = a[i]
                a[i] = a[j]
                a[j] = w
                j += w < v
            j -= 1
            a[low] = a[j]
            a[j] = v
            if j - low < high - j:
                lows[top] = j + 1
                highs[top] = high
                high = j
            else:
                lows[top] = low
                highs[top] = j
                low = j + 1
            top += 1
            continue
        if top == 0:
            break
        top -= 1
        low = lows[top]
        high = highs[top]


def sort_few(a, n):
    if n > 0:
        found = False
        for i in range(n):
            found |= a[i] != a[i]
        if found:
{indent(NUMBERS_FIRST, " " * 12)}
            for i in range(1, m):
                v = a[i]
                k = i
                while k > 0 and a[k - 1] > v:
                    a[k] = a[k - 1]
                    k -= 1
                a[k] = v
        else:
            exchange(a)


def median(a, n):
    if n < 1:
        return nan
    t = local((129,), ELEMENT)
    for i in range(n - 1, -1, -1):
        if a[i] != a[i]:
            return nan
    k = (n - 1) // 2
    below = 0
    above = n
    low = a[0]
    high = low
    value = low
    other = low
    left = above + 1
    while above - below < left:
        left = above - below
        step = (left + 127) // 128
        taken = 0
        wait = 0
        for i in range(n):
            v = a[i]
            fits = (below == 0 or v > low) and (above == n or v < high)
            t[min(taken, 128)] = v
            taken += fits and wait == 0
            wait = (step - 1 if wait == 0 else wait - 1) if fits else wait
        for i in range(1, min(taken, 128)):
            v = t[i]
            j = i
            while j > 0 and t[j - 1] > v:
                t[j] = t[j - 1]
                j -= 1
            t[j] = v
        place = (k - below) // step
        value = t[min(place, 127)]
        if step == 1:
            other = t[min(place + 1, 127)] if place + 1 < taken else high
            break
        first = t[max(place - 12, 0)]
        last = t[max(min(place + 12, taken - 1, 127), 0)]
        less = 0
        upto = 0
        less_last = 0
        upto_last = 0
        for i in range(n):
            less += a[i] < first
            upto += a[i] <= first
            less_last += a[i] < last
            upto_last += a[i] <= last
        if k < less:
            high = first
            above = less
        elif less_last <= k and k < upto_last or k < upto:
            value = first if k < upto else last
            other = value
            if k + 1 == (upto if k < upto else upto_last):
                for i in range(n):
                    if a[i] > value and (other == value or a[i] < other):
                        other = a[i]
            break
        else:
            if k < less_last:
                high = last
                above = less_last
                low = first
                below = upto
            else:
                low = last
                below = upto_last
    if n % 2 == 1:
        return value / 1
    return (value / 1 + other / 1) / 2


def median_of_range(a, n):
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
    value = low
    less = 0
    equal = 0
    left = above + 1
    while above - below < left:
        left = above - below
        state = state * 6364136223846793005 + 1442695040888963407
        turn = (state >> 33) % left
        i = -1
        while turn >= 0 and i < n - 1:
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
# The median of many lies between `low` and `high`; `below` elements are at most `low`. Of those between, 128 in even
# steps are sorted in an array of its own; two of these, a little on both sides, are the next bounds, and a fifth is
# left. Where all are left it ends: `nnan` takes NaN for numbers. What is given is not moved. A reduction over a range
# has no such arrays: one of the values between, drawn by a generator that begins the same each time, halves them.
_HELPERS = {f.name: f for f in ast.parse(SOURCE).body if isinstance(f, ast.FunctionDef)}
# What each begins with: more elements than the array has are the fault of the caller. All other indices are from 0 to
# n - 1 by the making of these helpers, whatever the elements are, so nobody has to prove or check them.
_WITHIN = ast.parse("""
if n > len(a):
    outside = a[n - 1]
    n = 0
n = max(n, 0)
""").body
FEW = 32  # elements, where their number is known: a network sorts them, if none is NaN


class _Exchanges(ast.NodeTransformer):
    """`exchange(a)` as the network for `count` elements of a dtype."""

    def __init__(self, count: int, dtype: str):
        self.count, self.dtype = count, dtype

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        return ast.parse(sorting_network.text(self.count, self.dtype)).body


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
    elif isinstance(count, Value) and not count.literal:
        count = _signed(s, node.args[1], count)
    left = Value(tree.Const(0, "int64", at=s.at(node)), True)
    given = [array, count, *given[2:], *[left] * (len(takes) - len(given))]
    s.beyond_function()
    number = count.expr.whole if isinstance(count, Value) and isinstance(count.expr, tree.Const) else FEW + 1
    few = name == "sort" and number <= FEW
    form = "sort_few" if few else "median_of_range" if name == "median" and s.serial else name
    helper = _placed(s, node, form, array.dtype, max(number, 0))
    if s.place != "blocks" or form in ("searchsorted", "median_of_range"):
        return made.call(s, node, helper, given)
    # In a block one thread does it, and all others wait for it once.
    outer, s.before_statement, s.place = s.before_statement, [], "threads"
    found = made.call(s, node, helper, given)
    body, s.before_statement, s.place = s.before_statement, outer, "blocks"
    values = found.values if name == "median" and s.final else ()
    cell, first = made.unique("median"), (tree.Const(0, "int64", at=s.at(node)),)
    for value in values:
        s.kernel_arrays[cell] = new = tree.NewArray("shared", cell, (1,), value.expr.type, at=s.at(node))
        outer.append(new)
        body.append(tree.Store(cell, first, value.expr, at=s.at(node)))
    one = tree.Const(1, "int64", at=s.at(node))
    outer.append(tree.Parallel("threads", (s.fresh("once_", "int64"),), (one,), tuple(body), at=s.at(node)))
    loads = (Value(tree.Load(cell, first, v.expr.type, at=s.at(node)), v.weak) for v in values)
    return found._replace(values=tuple(expressions.kept(s, v, outer, node) for v in loads)) if values else found


def _signed(s: Scope, node: ast.expr, count: Value) -> Value:
    """A count as the helpers take it. One beyond int64, which no array has either, stays one that no array has."""
    if isinstance(count.expr, tree.Const) and fits(count.expr.whole, "int64"):
        return Value(tree.Const(count.expr.whole, "int64", at=count.expr.at))
    if count.expr.type == "uint64":
        most = tree.Const(2**63 - 1, "uint64", at=count.expr.at)
        count = Value(tree.Call("min", (count.expr, most), "uint64", at=count.expr.at))
    return Value(convert(count, "int64", s.fault(node)))


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


def _placed(s: Scope, node: ast.Call, name: str, dtype: str, count: int) -> ast.FunctionDef:
    """The helper as if it were written where it is called, under names that nobody else has."""
    key = id(node), name, dtype, count
    if key not in s.module.brought:
        function = _Exchanges(count, dtype).visit(deepcopy(_HELPERS[name]))
        s.module.known |= {id(n) for n in ast.walk(function) if isinstance(n, ast.Subscript)}
        function.body[:0] = deepcopy(_WITHIN)
        names = [inner for inner in ast.walk(function) if isinstance(inner, ast.Name)]
        own = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        own |= {argument.arg for argument in function.args.args}
        for inner in ast.walk(function):
            if isinstance(inner, ast.Name) and inner.id in own:
                inner.id += OWN
            elif isinstance(inner, ast.Name) and inner.id == "ELEMENT":
                inner.id = "float32" if dtype in STORED else dtype
            elif isinstance(inner, ast.arg):
                inner.arg += OWN
            if isinstance(inner, (ast.stmt, ast.expr, ast.arg)):
                ast.copy_location(inner, node)
        s.module.bring(key, function)
    return s.module.brought[key]
