"""Helpers that do more than compute scalars from scalars and inputs: those that store into arrays, make arrays, take
rows, have parallel loops or no result. Their statements stand in the place of each call, under names of their own."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any, Callable, Sequence

from ..ir import tree
from . import array_swaps, expressions, extents, names, settling, statements
from .promotion import Value
from .scope import OWN, Array, Called, Scope

MOST_NODES = 10_000  # of all such calls of a kernel: of `sort` seventeen


@dataclass(frozen=True)
class Key:
    """What the types of a helper's names depend on."""

    name: str
    arguments: tuple[Any, ...]  # of scalars the type, or the value where it is known; of arrays all but the indices
    place: str


def argument(s: Scope, node: ast.expr) -> Value | Array:
    """An argument of a helper: a scalar, an array or, with fewer indices than dimensions, a part of one."""
    of: ast.expr = node.value if isinstance(node, ast.Subscript) else node
    if not (isinstance(of, ast.Name) and of.id in s.arrays and of.id not in s.shadow):
        return expressions.expression(s, node)
    array = expressions.named_array(s, of)
    if not isinstance(node, ast.Subscript):
        if array.rank == 0 and array.kind == "in":
            return expressions.expression(s, node)
        return array
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(items) >= array.rank:
        return expressions.expression(s, node)
    indices = expressions.index(s, node, of.id, array, items, part=True)
    prefix = tuple(_simple(s, Value(index), node).expr for index in indices)
    return replace(array, rank=array.rank - len(items), dims=array.dims[len(items) :], prefix=prefix)


def _simple(s: Scope, value: Value, node: ast.AST) -> Value:
    """A value that the helper may use more than once."""
    if isinstance(value.expr, (tree.Const, tree.Var)) or extents.of_call(s, value.expr) is not None:
        return value
    return expressions.kept(s, value, s.before_statement, node)


class Inlining:
    """unique, own: see `scope.Parts`."""

    def __init__(self, unique: Callable[[str], str], own: Callable[[str], str]):
        self.unique, self.own = unique, own
        self.settled: dict[Key, Scope] = {}
        self.nodes = 0

    def call(self, s: Scope, node: ast.Call, function: ast.FunctionDef, given: Sequence[Value | Array]) -> Called:
        """The results of a call in scope `s`; its statements stand before the statement under way."""
        arguments = [a if isinstance(a, Array) else _simple(s, a, node) for a in given]
        key = Key(function.name, tuple(map(_known, arguments)), s.place)
        if key not in self.settled:
            plain = [replace(a, prefix=()) if isinstance(a, Array) else a for a in arguments]
            found = self._scope(s, node, function, plain)
            settling.settle(found, lambda: statements.helper_body(found))
            self.settled[key] = found
        settled = self.settled[key]
        self._check(s, node, settled)
        types = tuple(settled.result_types())
        if not s.final:
            return Called(types, None, tuple(Value(tree.Var("result", t.dtype), t.weak) for t in types))
        inner = self._scope(s, node, function, arguments)
        inner.before, inner.final = settled.before, True
        return self._written(s, inner)

    def _check(self, s: Scope, node: ast.Call, settled: Scope) -> None:
        """Whether such a helper may be called here; and what that makes of the one that calls it."""
        name = settled.function.name
        if settled.acts and s.alone is not node:
            call = ast.unparse(node)
            values = settled.result_types()
            hint = f"give its value a name before: `v = {call}`" if values else f"write `{call}` alone"
            s.refuse(node, f"`{name}` stores into arrays and stands in an expression", hint)
        if settled.stores and s.serial:
            s.refuse(node, f"`{name}` stores into arrays and stands in a reduction over range",
                     "write a loop, and add up in it")  # fmt: skip
        s.stores, s.acts = s.stores or settled.stores, s.acts or settled.acts

    def _scope(
        self, caller: Scope, node: ast.Call, function: ast.FunctionDef, arguments: Sequence[Value | Array]
    ) -> Scope:
        s = Scope(caller.module, function, caller.parts, caller.place, caller)
        s.called_at = caller.called_at
        if not caller.module.is_brought(function):
            s.called_at = caller.called_at or caller.module.position(node)
        for parameter, given in zip(function.args.args, arguments):
            if isinstance(given, Array):
                s.arrays[parameter.arg] = given
            else:
                s.given[parameter.arg] = given
        names.collect(s)
        s.begin()
        return s

    def _written(self, s: Scope, inner: Scope) -> Called:
        """The statements of a call, put before the statement under way in `s`."""
        inner.renamed = {name: self.own(name.removesuffix(OWN)) for name in inner.plain}
        inner.kernel_arrays, inner.finished = dict(s.kernel_arrays), s.finished
        swapped = {name for name, _, kind in names.bindings(inner.function.body) if kind == "swap"}
        own: dict[str, str] = {}  # names of arrays in the helper that it swaps → the caller's, which stay as they are
        for name in swapped & inner.arrays.keys():
            array = inner.arrays[name]
            inner.arrays[name] = replace(array, name=self.unique(name))
            own[inner.arrays[name].name] = array.name
        nodes = self.nodes
        body = statements.helper_body(inner)
        self._count(s, inner, nodes + sum(1 for statement in body for _ in tree.walk(statement)))
        locals_ = inner.locals | {
            inner.renamed[name]: inner.type_of(name).dtype for name in inner.plain if name in inner.now
        }
        body = array_swaps.resolved(inner.module, body, locals_, inner.kernel_arrays, self.unique)
        s.before_statement += [array_swaps.renamed(statement, own) for statement in body] if own else body
        s.locals |= locals_
        s.kernel_arrays = inner.kernel_arrays
        s.constants |= inner.constants
        types = tuple(inner.result_types())
        results = (tree.Var(name, t.dtype) for name, t in zip(inner.left or (), types, strict=True))
        return Called(types, None, tuple(Value(e, t.weak) for e, t in zip(results, types)))

    def _count(self, s: Scope, inner: Scope, nodes: int) -> None:
        """So many there are with this call, those of calls in it among them."""
        self.nodes = nodes
        if nodes > MOST_NODES:
            name = s.module.function.name
            told = f"the helpers of `{name}` have more than {MOST_NODES:,} parts, each where it is called"
            s.refuse(inner.function, told, "call them in loops, or fewer times")


def _known(argument: Value | Array) -> Any:
    if isinstance(argument, Array):
        return replace(argument, prefix=())
    return argument if isinstance(argument.expr, tree.Const) else argument.type
