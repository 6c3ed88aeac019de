"""Helpers: the functions before a kernel, built once for each choice of argument types they are called with."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from ..artifact.dimensions import Tree
from ..ir import tree
from . import expressions, functional_reductions, names, promotion, statements
from .module import Module
from .promotion import Type, Value, convert, held
from .scope import SET, Array, Parts, Scope
from .syntax import called, without_docstring


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
        self.parts = Parts(statements.block, functional_reductions.functional, self.call, self.unique)
        self.settled: dict[Key, tuple[Scope, tuple[Type, ...]]] = {}
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

    def call(self, s: Scope, node: ast.Call) -> tuple[tree.CallHelper, tuple[Type, ...]]:
        """A call of a helper in scope `s`: the tree's call and the types of the results."""
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
        arguments: list = []
        scalars: list[Type | None] = []
        arrays: list[tuple[str, int, str] | None] = []
        for argument in node.args:
            array = self._array(s, argument)
            if array:
                arguments.append(tree.ArrayName(array.name, at=s.at(argument)))
                arrays.append((array.parameter or array.name, array.rank, array.dtype))
                scalars.append(None)
            else:
                value = expressions.expression(s, argument)
                arguments.append(held(value, s.fault(argument)))
                arrays.append(None)
                scalars.append(value.type)
        key = Key(name, tuple(scalars), tuple(arrays))
        types = self._settle(key)
        arguments += [s.dimension(symbol, s.at(node)).expr for symbol in sorted(self.settled[key][0].needs)]
        instance = self._build(key).name if s.final else name
        return tree.CallHelper(instance, tuple(arguments), types[0].dtype, at=s.at(node)), types

    def _array(self, s: Scope, node: ast.expr) -> Array | None:
        if not (isinstance(node, ast.Name) and node.id in s.arrays and node.id not in s.shadow):
            return None
        array = s.arrays[node.id]
        if array.kind != "in":
            kinds = {"out": "an output", "inout": "an output", "tuple": "a constant tuple"}
            what = kinds.get(array.kind, f"a {array.kind} array")
            hint = f"give it an element, `{node.id}[{', '.join('ijk'[: array.rank]) or '()'}]`"
            s.refuse(node, f"a helper takes read-only arrays, and `{node.id}` is {what}", hint)
        return array

    def _scope(self, key: Key) -> Scope:
        function = self.module.helpers[key.name]
        s = Scope(self.module, function, self.parts, helper=True)
        for argument, type_, array in zip(function.args.args, key.scalars, key.arrays):
            if array:
                kernel_array, rank, dtype = array
                s.arrays[argument.arg] = Array(argument.arg, rank, dtype, "in", self._dims(kernel_array), kernel_array)
            elif type_:
                s.given[argument.arg] = (argument.arg, type_)
        names.collect(s)
        return s

    def _dims(self, kernel_array: str) -> tuple[Tree, ...]:
        parameter = next(p for p in self.module.parameters if p.name == kernel_array)
        leading = ("rows" if parameter.dims else "size",) if parameter.ellipsis else ()
        return (*leading, *(parameter.dims or ()))

    def _settle(self, key: Key) -> tuple[Type, ...]:
        """The types of the results."""
        if key not in self.settled:
            s = self._scope(key)
            settle(s, lambda: self._body(s))
            self.settled[key] = s, tuple(s.result_types())
        return self.settled[key][1]

    def _body(self, s: Scope) -> list[tree.Stmt]:
        built: list[tree.Stmt] = []
        for name, (parameter, type_) in s.given.items():
            if name in s.plain:  # assigned in the body: a local that starts as the argument
                dtype = s.join(name, type_, s.function).dtype
                value = convert(Value(tree.Var(parameter, type_.dtype), type_.weak), dtype, s.fault(s.function))
                built.append(tree.Assign(s.renamed.get(name, name), value, at=s.at(s.function)))
                s.here[name] = SET
        body = statements.block(s, without_docstring(s.function.body))
        if s.left:  # see `statements`
            types = ("bool", *(t.dtype for t in s.result_types()))
            built += [tree.Assign(n, promotion.constant(0, t)) for n, t in zip(s.left, types)]
        built += body
        if s.state is not None:
            s.refuse(
                s.function,
                f"helper `{s.function.name}` can end without a value",
                "end every way through it with `return`",
            )
        return built

    def _build(self, key: Key) -> tree.Helper:
        if key in self.built:
            return self.built[key]
        s, types = self.settled[key]
        for name in s.given:
            parameter = self.unique_or_same(name)
            s.given[name] = (parameter, s.given[name][1])
        for name, array in s.arrays.items():
            s.arrays[name] = Array(
                self.unique_or_same(name), array.rank, array.dtype, array.kind, array.dims, array.parameter
            )
        s.dimensions = {symbol: self.unique_or_same(symbol) for symbol in sorted(s.needs)}
        for name in s.plain:
            s.renamed[name] = self.unique_or_same(name)
        s.final = True
        s.begin()
        body = self._body(s)
        s.final = False
        parameters = []
        for argument, type_ in zip(s.function.args.args, key.scalars):
            if type_:
                parameters.append(tree.HelperParameter(s.given[argument.arg][0], type_.dtype, None))
            else:
                array = s.arrays[argument.arg]
                parameters.append(tree.HelperParameter(array.name, array.dtype, array.rank, array.parameter))
        parameters += [tree.HelperParameter(name, "int64", None) for name in s.dimensions.values()]
        self.locals |= s.locals | {s.renamed[name]: s.type_of(name).dtype for name in s.plain if name in s.now}
        helper = tree.Helper(
            self.unique_or_same(key.name),
            tuple(parameters),
            tuple(t.dtype for t in types),
            tuple(body),
            at=s.at(s.function),
        )
        self.built[key] = helper
        return helper

    def unique_or_same(self, name: str) -> str:
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


def settle(s: Scope, build) -> None:
    """Build until the types of the names are what the pass before found."""
    found: dict[str, Type] = {}
    for _ in range(4 * len(s.assigned) + 8):
        s.begin()
        build()
        before, found = found, {name: joined.type for name, joined in s.now.items()}
        s.before = s.now
        if found == before:
            break
    else:
        hint = "convert its values: float32(…), int64(…)"
        s.refuse(s.function, f"the types of `{s.function.name}` do not settle", hint)
    if any(known.adopted and known.type.dtype == "float64" for known in s.before.values()):
        _refuse_mixed(s, build)


def _refuse_mixed(s: Scope, build) -> None:
    """Refuse a name that is a float only because 64-bit signed and unsigned integers meet in it: int64 + uint64 is
    float64. So one more pass looks at what each name is assigned as if the name itself were still a plain number."""
    s.begin()
    s.probing = True
    build()
    s.probing = False
    for name, known in s.now.items():
        strong = {t: node for t, node in known.types.items() if not t.weak}
        integers = all(t.rank <= 1 for t in known.types)
        if integers and s.before[name].type.dtype == "float64" and promotion.of_name(known.types) is None:
            unsigned = promotion.Type("uint64")
            signed = next(t for t in strong if not t.dtype.startswith("u"))
            first, second = sorted((unsigned, signed), key=lambda t: s.module.line(strong[t]))
            s.refuse(
                strong[second],
                f"`{name}` is {second} here and {first} on line {s.module.line(strong[first])}, and no integer type "
                "holds both",
                "convert one of them: int64(…) or uint64(…)",
            )
