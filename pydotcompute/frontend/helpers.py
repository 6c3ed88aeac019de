"""Helpers, the functions before a kernel: those that compute scalars from scalars and inputs are functions of the tree,
built once for each choice of argument types they are called with. For all others see `inlining`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Sequence

from ..artifact.dimensions import Tree
from ..ir import tree
from . import arrays, functional_reductions, inlining, names, ordering, statements
from .module import Module
from .promotion import Type, Value, held
from .scope import Array, Called, NotAFunction, Parts, Scope
from .settling import settle
from .syntax import called


@dataclass(frozen=True)
class Key:
    """What an instance depends on. A weak argument makes a weak parameter, as if the text stood at the call; an
    array parameter is bound to the kernel's array."""

    name: str
    scalars: tuple[Type | None, ...]
    arrays: tuple[tuple[str, int, str] | None, ...]  # the kernel's array, rank, dtype


class Instances:
    """The instances of a module's helpers, and the names of the tree, which are unique in a kernel."""

    def __init__(self, module: Module):
        self.module = module
        self.parts = Parts(
            statements.block, functional_reductions.functional, arrays.fetched, self.call, self.order, self.unique,
            self.own,
        )  # fmt: skip
        self.inlining = inlining.Inlining(self.unique, self.own)
        self.settled: dict[Key, Scope | None] = {}
        self.built: dict[Key, tree.Helper] = {}  # callees before callers
        self.locals: dict[str, str] = {}
        self.taken: set[str] = set()

    def unique(self, base: str) -> str:
        """A name for the tree that nothing else has. A trailing underscore of `base` asks for a number."""
        name, count = base, 1
        while name in self.taken or name in self.module.used or name.endswith("_"):
            name = f"{base.rstrip('_')}_{count}"
            count += 1
        self.taken.add(name)
        return name

    def order(self, s: Scope, node: ast.Call) -> Called:
        return ordering.call(self.inlining, s, node)

    def call(self, s: Scope, node: ast.Call) -> Called:
        """A call of a helper in scope `s`: as a function of the tree, if it is one; else by its statements."""
        name = called(node)
        function = self.module.helpers[name]
        parameters = [a.arg for a in function.args.args]
        if len(node.args) != len(parameters):
            count = len(parameters)
            s.refuse(
                node,
                f"`{name}` takes {count} argument{'' if count == 1 else 's'}, found {len(node.args)}",
                f"write `{name}({', '.join(parameters)})`",
            )
        arguments = [inlining.argument(s, argument) for argument in node.args]
        if all(isinstance(a, Value) or a.kind == "in" and not a.prefix for a in arguments):
            key = Key(
                name,
                tuple(a.type if isinstance(a, Value) else None for a in arguments),
                tuple(
                    None if isinstance(a, Value) else (a.parameter or a.name, a.rank, a.dtype) for a in arguments
                ),
            )  # fmt: skip
            settled = self._settle(key)
            if settled is not None:
                return self._function(s, node, key, settled, arguments)
        s.beyond_function()
        return self.inlining.call(s, node, function, arguments)

    def _function(
        self, s: Scope, node: ast.Call, key: Key, settled: Scope, arguments: Sequence[Value | Array]
    ) -> Called:
        types = tuple(settled.result_types())
        given: list[tree.Expr | tree.ArrayName] = [
            held(a, s.fault(part)) if isinstance(a, Value) else tree.ArrayName(a.name, at=s.at(part))
            for a, part in zip(arguments, node.args)
        ]
        given += [s.dimension(symbol, s.at(node)).expr for symbol in sorted(settled.needs)]
        instance = self._build(key, settled).name if s.final else key.name
        return Called(types, tree.CallHelper(instance, tuple(given), types[0].dtype, at=s.at(node)))

    def _scope(self, key: Key) -> Scope:
        function = self.module.helpers[key.name]
        s = Scope(self.module, function, self.parts, home="helper")
        for argument, type_, array in zip(function.args.args, key.scalars, key.arrays):
            if array:
                kernel_array, rank, dtype = array
                s.arrays[argument.arg] = Array(argument.arg, rank, dtype, "in", self._dims(kernel_array), kernel_array)
            elif type_:
                s.given[argument.arg] = Value(tree.Var(argument.arg, type_.dtype), type_.weak)
        names.collect(s)
        return s

    def _dims(self, kernel_array: str) -> tuple[Tree, ...]:
        parameter = next(p for p in self.module.parameters if p.name == kernel_array)
        leading = ("rows" if parameter.dims else "size",) if parameter.ellipsis else ()
        return (*leading, *(parameter.dims or ()))

    def _settle(self, key: Key) -> Scope | None:
        """The helper with the types of its names; None where it is no function of the tree."""
        if key not in self.settled:
            s = self._scope(key)
            self.settled[key] = s
            try:
                settle(s, lambda: statements.helper_body(s))
            except NotAFunction:
                self.settled[key] = None
        return self.settled[key]

    def _build(self, key: Key, s: Scope) -> tree.Helper:
        if key in self.built:
            return self.built[key]
        for name, given in s.given.items():
            s.given[name] = given._replace(expr=tree.Var(self.own(name), given.expr.type))
        for name, array in s.arrays.items():
            s.arrays[name] = Array(
                self.own(name), array.rank, array.dtype, array.kind, array.dims, array.parameter
            )
        s.dimensions = {symbol: self.own(symbol) for symbol in sorted(s.needs)}
        for name in s.plain:
            s.renamed[name] = self.own(name)
        s.final = True
        s.begin()
        body = statements.helper_body(s)
        s.final = False
        parameters = []
        for argument, type_ in zip(s.function.args.args, key.scalars):
            if type_:
                parameter = s.given[argument.arg].expr
                assert isinstance(parameter, tree.Var)
                parameters.append(tree.HelperParameter(parameter.name, type_.dtype, None))
            else:
                array = s.arrays[argument.arg]
                parameters.append(tree.HelperParameter(array.name, array.dtype, array.rank, array.parameter))
        parameters += [tree.HelperParameter(name, "int64", None) for name in s.dimensions.values()]
        self.locals |= s.locals | {s.renamed[name]: s.type_of(name).dtype for name in s.plain if name in s.now}
        helper = tree.Helper(
            self.own(key.name),
            tuple(parameters),
            tuple(t.dtype for t in s.result_types()),
            tuple(body),
            at=s.at(s.function),
        )
        self.built[key] = helper
        return helper

    def own(self, name: str) -> str:
        """`name` itself the first time, so that the tree reads as the text."""
        if name not in self.taken and name not in self.kernel_names:
            self.taken.add(name)
            return name
        return self.unique(name)

    @cached_property
    def kernel_names(self) -> set[str]:
        """The names that the kernel's own function has, and a helper's locals must not."""
        kernel = self.module.kernel
        own = {node.id for node in ast.walk(self.module.function) if isinstance(node, ast.Name)}
        own |= {kernel.name, *kernel.signature.symbols, *(p.name for p in self.module.parameters)}
        return own - self.module.helpers.keys()
