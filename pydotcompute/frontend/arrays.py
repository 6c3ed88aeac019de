"""Arrays of a kernel's own, `shared`, `private` and `local`, atomic updates and scattered stores."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from ..artifact.dimensions import Tree
from ..artifact.dtypes import STORED
from ..artifact.signature import DTYPE_BYTES, DTYPES
from ..ir import tree
from ..ir.functions import ATOMICS
from . import expressions, extents
from .module import near
from .promotion import Value, convert
from .scope import OWN, SET, Array, Scope
from .syntax import called

BLOCK_BYTES = 48 * 1024
PRIVATE_BYTES = 128 * 1024  # of a block: half the registers of a GPU's multiprocessor
_PLACES = {
    "shared": ("blocks", "one per block: write it first in the body of `for b in blocks(k)`"),
    "private": ("blocks", "one per block: write it first in the body of `for b in blocks(k)`"),
    "local": ("grid or threads", "one per iteration: write it first in the body of `for i in grid(n)` or `threads(n)`"),
}
_PLAIN = {
    "scatter": "a[i] = value",
    "atomic_add": "a[i] += value",
    "atomic_min": "a[i] = min(a[i], value)",
    "atomic_max": "a[i] = max(a[i], value)",
}  # the statement that each stands for


def new(s: Scope, node: ast.Assign) -> tree.NewArray:
    """`name = shared((32, 33), float32)`."""
    call, target = node.value, node.targets[0]
    kind = called(call)
    assert isinstance(call, ast.Call)
    if len(node.targets) > 1 or not isinstance(target, ast.Name):
        s.refuse(node, f"`{kind}(…)` makes one array", f"give it one name: `tile = {ast.unparse(call)}`")
    s.beyond_function()
    if s.inlined and kind == "local" and s.place == "blocks":
        kind = "shared"  # the block's own, as what happens in it once
    places, hint = _PLACES[kind]
    if s.inlined and s.parallel and kind == "local" and s.place == "top":
        kind = "call"
    alone = s.place == "top" and not s.parallel  # the whole kernel is one iteration
    if s.place not in places.split(" or ") and not (alone and kind == "local" or kind == "call"):
        if alone or kind == "private" and s.place != "top":
            hint = f"write `local(…)`, an array of the {'kernel' if alone else 'iteration'}'s own"
        elif s.place == "top":
            hint += "; for one of the call declare it in the signature: `temp (q: T[n])`"
        s.refuse(call, f"`{kind}` outside the body of {places}", hint)
    if s.levels.get(id(node), s.depth):
        hint = f"write it at the top of the {'helper' if s.inlined else 'kernel'}, before them" if alone else hint
        s.refuse(call, f"`{kind}` under `if`, `for` or `while`", hint)
    if len(call.args) != 2:
        s.refuse(
            call, f"`{kind}` takes a shape and a dtype, found {len(call.args)}", f"write `{kind}((32, 33), float32)`"
        )
    shape = _shape(s, kind, call.args[0])
    dtype = _dtype(s, call.args[1])
    name = target.id
    if name in s.constants:
        s.refuse(node, f"`{name}` is a constant tuple", "use two names")
    own = name
    if name in s.kernel_arrays or s.inlined:  # made again, for another loop or call: an array of its own
        named = s.parts.own if s.inlined else s.parts.unique
        own = named(name.removesuffix(OWN)) if s.final else f"{name}_{len(s.kernel_arrays)}"
    known = all(isinstance(n, int) for n in shape)
    array = tree.NewArray(kind, own, shape, dtype, not known, at=s.at(node))
    others = (a for a in s.kernel_arrays.values() if a.name not in s.finished and _memory(a.kind) == _memory(kind))
    fixed = [a for a in (*others, array) if not a.scratch]
    total = sum(math.prod(a.fixed) * DTYPE_BYTES[a.dtype] for a in fixed)
    if known and total > (PRIVATE_BYTES if kind == "private" else BLOCK_BYTES):
        if kind == "private":
            s.refuse(
                call,
                f"the private arrays of a block take {total} bytes with `{name}`; there are {PRIVATE_BYTES}",
                "make them smaller, or write `shared`",
            )
        array = replace(array, scratch=True)
    s.kernel_arrays[array.name] = array
    s.arrays[name] = Array(array.name, len(shape), dtype, "temp" if kind == "call" else kind, shape)
    s.here[name] = SET
    return array


def _memory(kind: str) -> str:
    """Which arrays share what there is of memory: private ones lie in registers."""
    return kind if kind in ("call", "private") else "block"


def _shape(s: Scope, kind: str, node: ast.expr) -> tuple[Tree, ...]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    shape: list[Tree] = []
    for part in parts:
        value = expressions.expression(s, part)
        if not (value.literal and value.rank == 1):
            size = extents.of_call(s, value.expr) if value.rank == 1 else None
            text = ast.unparse(part)
            if size is not None and kind != "private":
                shape.append(size)
                continue
            if size is not None:
                s.refuse(part, f"the shape of `private` is known at compile time, and `{text}` is not",
                         "write numbers and params, such as TILE + 1, or `shared`")  # fmt: skip
            told = f"the shape of `{kind}` follows from dimensions and integer arguments, and `{text}` does not"
            s.refuse(part, told, "write numbers, dimensions, params and arguments, such as n + 1")
        size = value.constant.whole
        if size < 1:
            s.refuse(part, f"a dimension of `{kind}` is {size}", "write a number from 1")
        shape.append(size)
    if not shape:
        s.refuse(node, f"`{kind}` has no dimensions", "write a name for a scalar")
    return tuple(shape)


def _dtype(s: Scope, node: ast.expr) -> str:
    name = node.id if isinstance(node, ast.Name) else ""
    dtype = s.module.types.get(name, name)
    if dtype not in DTYPES:
        s.refuse(
            node,
            f"`{ast.unparse(node)}` is not a dtype",
            near(name, (*DTYPES, *s.module.types), "write a dtype, float32, or a type variable"),
        )
    return dtype


def fetched(s: Scope, call: ast.Call) -> Value:
    """`atomic_add(a, i, v)` as a value: what the element held before. It happens before the statement under way."""
    name = called(call)
    if s.serial:
        s.refuse(call, f"`{name}` in a reduction over range", "write a loop, and add up in it")
    node = update(s, call)
    if s.place == "blocks":
        s.refuse(call, f"the value of `{name}` in a block, outside `threads`",
                 f"let one thread take it: `for one in threads(1): slot[0] = {ast.unparse(call)}`, with "
                 "`slot = shared((1,), int64)`")  # fmt: skip
    assert isinstance(node, tree.Atomic)
    result = s.fresh("before_", node.value.type)
    s.before_statement.append(replace(node, result=result))
    return Value(tree.Var(result, node.value.type, at=node.at))


def update(s: Scope, call: ast.Call) -> tree.Atomic | tree.Scatter:
    """`atomic_add(a, i, v)`: the statement `a[i] += v`, whichever iterations meet; `scatter(a, i, v)`: `a[i] = v`,
    where any of the values that meet may stay. Without an index for an output without dimensions."""
    name = called(call)
    plain = _PLAIN[name]
    s.beyond_function()
    if s.place not in ("grid", "blocks", "threads"):
        s.refuse(call, f"`{name}` outside a parallel loop", f"nothing else runs at this time: write `{plain}`")
    wrong = f"`{name}` takes 3 arguments, found {len(call.args)}"
    if not 2 <= len(call.args) <= 3:
        s.refuse(call, wrong, f"write `{name}(a, i, value)`")
    target, *at_index, term = call.args
    if not isinstance(target, ast.Name):
        s.refuse(target, f"`{name}` takes an array's name first", f"write `{name}(a, i, value)`")
    array = expressions.named_array(s, target)
    if array.kind in ("private", "local"):
        s.refuse(
            target,
            f"`{target.id}` is {array.kind}: no two iterations meet in it",
            f"write `{plain}`",
        )
    expressions.check_access(s, target, target.id, array, "stored into" if name == "scatter" else "updated")
    if not at_index and array.rank:
        place = ", ".join("ijklmnop"[: array.rank])
        s.refuse(call, wrong, f"write `{name}(a, {place if array.rank == 1 else f'({place})'}, value)`")
    items = [e for part in at_index for e in (part.elts if isinstance(part, ast.Tuple) else [part])]
    indices = expressions.index(s, at_index[0] if at_index else call, target.id, array, items)
    value = expressions.expression(s, term)
    at = s.at(call)
    if name == "scatter":
        return tree.Scatter(array.name, indices, convert(value, array.dtype, s.fault(term)), at=at)
    if array.dtype == "bool" or array.dtype.startswith("complex"):
        hint = "store into the array instead" if array.dtype == "bool" else "update its parts, in two arrays of floats"
        s.fault(call)(f"`{name}` updates integers and floats, not {array.dtype}", hint)
    dtype, stored = ("float32", array.dtype) if array.dtype in STORED else (array.dtype, "")
    term_ = convert(value, dtype, s.fault(term))
    return tree.Atomic(ATOMICS[name], array.name, indices, term_, stored=stored, at=at)
