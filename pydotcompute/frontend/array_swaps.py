"""Swapped arrays, `v0, v1 = v1, v0`: no array moves. A scalar says how the names stand for the arrays, and what uses
them is written once for each way that they can stand."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterable, Mapping

from ..errors import DeclarationError
from ..ir import tree
from .module import Module
from .scope import Array, Scope

MOST_WAYS = 6  # in which the names of one group may stand
MOST_NODES = 20_000  # of a kernel, its parts as often as they are written
Way = tuple[str, ...]  # for each name of a group, the array that it stands for


@dataclass(frozen=True)
class Swap(tree.Node):
    """`names = values`, of arrays in the tree. A finished tree has none."""

    names: tuple[str, ...]
    values: tuple[str, ...]


def of_assignment(s: Scope, node: ast.Assign) -> Swap | None:
    """The swap that an assignment is, if it is one of arrays."""
    target, value = node.targets[0], node.value
    assert isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    names, values = ([e.id for e in side.elts if isinstance(e, ast.Name)] for side in (target, value))
    first = s.arrays.get(names[0])
    if first is None or names[0] in s.shadow:
        return None
    arrays = [_swapped(s, part, first) for part in target.elts if isinstance(part, ast.Name)]
    own = {name: array.name for name, array in zip(names, arrays)}
    return Swap(tuple(own.values()), tuple(own[name] for name in values), at=s.at(node))


def _swapped(s: Scope, node: ast.Name, first: Array) -> Array:
    """One of the arrays that are swapped with the first."""
    name, array = node.id, s.arrays.get(node.id)
    if array is None:
        s.refuse(node, f"`{name}` is swapped with arrays and is none", "swap arrays of one shape and dtype")
    s.check_set(node)
    if array.kind not in ("local", "shared", "temp"):
        kinds = {"tuple": "a constant tuple", "private": "a private array", "in": "an input"}
        s.refuse(
            node,
            f"`{name}` is {kinds.get(array.kind, 'an output')}: `temp`, `shared` and `local` arrays may be swapped",
            "declare two arrays to swap, `temp (v0: T[n], v1: T[n])`, and copy from and to them in loops",
        )
    if (array.kind, array.dtype, array.dims) != (first.kind, first.dtype, first.dims):
        found, other = (f"{a.kind} {a.dtype}[{', '.join(map(str, a.dims))}]" for a in (array, first))
        s.refuse(node, f"arrays that are swapped have one shape and dtype, and `{name}` is {found}, not {other}",
                 "copy the elements in a loop")  # fmt: skip
    if array.prefix:
        s.refuse(node, f"`{name}` is a part of an array: whole arrays may be swapped", "copy the elements in a loop")
    places = {"temp": "top", "shared": "blocks"}
    if s.place != places.get(array.kind, s.place):
        s.refuse(node, f"`{name}` is swapped inside `{s.place}`, whose iterations share it",
                 "swap behind that loop")  # fmt: skip
    return array


def resolved(
    module: Module, body: list[tree.Stmt], locals_: dict[str, str], arrays: dict[str, tree.NewArray],
    unique: Callable[[str], str],
) -> list[tree.Stmt]:
    """The statements without swaps. Adds the scalars to `locals_`, and the arrays of parts that are written again."""
    groups: list[set[str]] = []
    for swap in (node for statement in body for node in tree.walk(statement) if isinstance(node, Swap)):
        meeting = [g for g in groups if g & set(swap.names)]
        groups = [g for g in groups if g not in meeting] + [set(swap.names).union(*meeting)]
    for group in groups:
        made = _Group(module, tuple(sorted(group)), unique, locals_, arrays)
        body, _ = made.block(body, frozenset((made.names,)))
        if not made.inside:
            body = [made.begin(), *body]
        if (size := sum(1 for statement in body for _ in tree.walk(statement))) > MOST_NODES:
            module.refuse(module.function, f"with its swapped arrays the kernel has {size:,} parts, and at most "
                          f"{MOST_NODES:,} are compiled", "swap fewer arrays, or copy one in a loop")  # fmt: skip
    return body


def renamed(node: tree.N, names: Mapping[str, str]) -> tree.N:
    """A statement with other names of arrays."""

    def change(inner: Any) -> Any:
        inner = tree.rebuilt(inner, change)
        if isinstance(inner, tree.ArrayName):
            return replace(inner, name=names.get(inner.name, inner.name))
        return replace(inner, array=names[inner.array]) if getattr(inner, "array", "") in names else inner

    made: tree.N = change(node)
    return made


class _Group:
    """The arrays that are swapped with one another, directly or around."""

    def __init__(
        self, module: Module, names: Way, unique: Callable[[str], str], locals_: dict[str, str],
        arrays: dict[str, tree.NewArray],
    ):
        self.module, self.names, self.unique, self.arrays = module, names, unique, arrays
        self.ways: list[Way] = [names]  # the number of a way is its place here
        self.which = unique("which_")
        self.inside = False  # whether its arrays belong to iterations of a parallel loop
        locals_[self.which] = "int64"

    def begin(self) -> tree.Stmt:
        return tree.Assign(self.which, tree.Const(0, "int64"))

    def has_swap(self, node: tree.Node) -> bool:
        return any(isinstance(n, Swap) and n.names[0] in self.names for n in tree.walk(node))

    def uses(self, node: tree.Node) -> bool:
        return any(getattr(n, "array", None) in self.names or isinstance(n, tree.ArrayName) and n.name in self.names
                   for n in tree.walk(node))  # fmt: skip

    # ---------------------------------------------------------------------------------------------- the ways

    def after(self, way: Way, swap: Swap) -> Way:
        stands = dict(zip(self.names, way))
        new = stands | {name: stands[value] for name, value in zip(swap.names, swap.values)}
        return tuple(new[name] for name in self.names)

    def closure(self, ways: Iterable[Way], node: tree.Node) -> frozenset[Way]:
        """All ways in which the names may stand before and after any turn of a loop."""
        swaps = [n for n in tree.walk(node) if isinstance(n, Swap) and n.names[0] in self.names]
        found, todo = set(ways), list(ways)
        while todo:
            way = todo.pop()
            new = {self.after(way, swap) for swap in swaps} - found
            found |= new
            todo += new
            if len(found) > MOST_WAYS:
                raise DeclarationError(f"{', '.join(self.names)} are swapped in more than {MOST_WAYS} ways",
                                       swaps[-1].at, "rotate them in one statement, `a, b, c = b, c, a`")  # fmt: skip
        return frozenset(found)

    def number(self, way: Way) -> int:
        if way not in self.ways:
            self.ways.append(way)
        return self.ways.index(way)

    # ---------------------------------------------------------------------------------------- the statements

    def block(self, body: Iterable[tree.Stmt], ways: frozenset[Way]) -> tuple[list[tree.Stmt], frozenset[Way]]:
        """The statements where the names stand in one of these ways before the first, and the ways after the last."""
        built: list[tree.Stmt] = []
        pending: list[tree.Stmt] = []
        for statement in body:
            if isinstance(statement, tree.NewArray) or self.has_swap(statement):
                built += self.written(pending, ways)
                pending = []
                if isinstance(statement, tree.NewArray):
                    built.append(statement)
                else:
                    made, ways = self.statement(statement, ways)
                    built += made
            else:
                pending.append(statement)
        return [*built, *self.written(pending, ways)], ways

    def statement(self, node: Any, ways: frozenset[Way]) -> tuple[list[tree.Stmt], frozenset[Way]]:
        """One that swaps, or has a swap inside."""
        match node:
            case Swap():
                return [self.swap(node, ways)], frozenset(self.after(way, node) for way in ways)
            case tree.If():
                (then, first), (otherwise, second) = self.block(node.body, ways), self.block(node.orelse, ways)
                condition = self.chosen(node.condition, ways)
                return [replace(node, condition=condition, body=tuple(then), orelse=tuple(otherwise))], first | second
            case tree.For():
                start, stop, step = (self.chosen(e, ways) for e in (node.start, node.stop, node.step))
                ways = self.closure(ways, node)
                inside = tuple(self.block(node.body, ways)[0])
                return [replace(node, start=start, stop=stop, step=step, body=inside)], ways
            case tree.While():
                ways = self.closure(ways, node)
                condition = self.chosen(node.condition, ways)
                return [replace(node, condition=condition, body=tuple(self.block(node.body, ways)[0]))], ways
            case tree.Parallel():
                self.inside = True
                body, _ = self.block(node.body, ways)
                home = any(isinstance(s, tree.NewArray) and s.name in self.names for s in node.body)
                return [replace(node, body=(self.begin(), *body) if home else tuple(body))], ways
        raise AssertionError(f"a swap in {node!r}")

    def swap(self, node: Swap, ways: frozenset[Way]) -> tree.Stmt:
        """The number of the way after it, by the one before: a sum that the host of a device can compute too."""
        before = tree.Var(self.which, "int64", at=node.at)
        found: tree.Expr | None = None
        for way in sorted(ways, key=self.number):
            here, there = self.number(way), tree.Const(self.number(self.after(way, node)), "int64")
            if len(ways) == 1:
                found = there
            elif there.value:
                off = tree.Binary("-", before, tree.Const(here, "int64"), "int64")
                square = tree.Binary("*", off, off, "int64")
                other = tree.Call("min", (square, tree.Const(1, "int64")), "int64")
                here_only = tree.Binary("-", tree.Const(1, "int64"), other, "int64")
                term = tree.Binary("*", there, here_only, "int64")
                found = term if found is None else tree.Binary("+", found, term, "int64")
        assert found is not None
        return tree.Assign(self.which, found, at=node.at)

    def written(self, statements: list[tree.Stmt], ways: frozenset[Way]) -> list[tree.Stmt]:
        """Statements without a swap, once for each way."""
        using = [k for k, statement in enumerate(statements) if self.uses(statement)]
        if not using:
            return statements
        if len(ways) == 1:
            return [self.named(statement, *ways) for statement in statements]
        first, last = using[0], using[-1] + 1
        others = sorted(ways, key=self.number)
        built: tuple[tree.Stmt, ...] = ()
        for position, way in enumerate(reversed(others)):
            made = tuple(self.named(statement, way) for statement in statements[first:last])
            if position == 0:
                built = made
            else:
                made = tuple(self.again(statement) for statement in made)
                built = (tree.If(self.stands(way), made, built, at=statements[first].at),)
        return [*statements[:first], *built, *statements[last:]]

    def chosen(self, e: tree.Expr, ways: frozenset[Way]) -> tree.Expr:
        """An expression by the way in which the names stand."""
        if not self.uses(e):
            return e
        first, *others = sorted(ways, key=self.number)
        found = self.named(e, first)
        for way in others:
            found = tree.Select(self.stands(way), self.named(e, way), found, e.type, at=e.at)
        return found

    def stands(self, way: Way) -> tree.Expr:
        return tree.Compare("==", tree.Var(self.which, "int64"), tree.Const(self.number(way), "int64"))

    def named(self, node: tree.N, way: Way) -> tree.N:
        return renamed(node, dict(zip(self.names, way)))

    def again(self, node: tree.N) -> tree.N:
        """A copy whose arrays are its own."""
        own = {n.name: self.unique(n.name) for n in tree.walk(node) if isinstance(n, tree.NewArray)}

        def change(inner: Any) -> Any:
            inner = tree.rebuilt(inner, change)
            if isinstance(inner, tree.NewArray):
                inner = replace(inner, name=own[inner.name])
                self.arrays[inner.name] = inner
                return inner
            return replace(inner, array=own[inner.array]) if getattr(inner, "array", "") in own else inner

        made: tree.N = change(node)
        return made
