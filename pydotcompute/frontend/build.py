"""The front end: the rendered Python of one specialisation → checks → types → the typed tree."""

from __future__ import annotations

from ..artifact.dimensions import substituted
from ..artifact.dtypes import STORED
from ..declare.model import Kernel, Rendered, Specialisation
from ..ir import tree
from . import array_swaps, constant_tuples, helpers, limits, module as modules, names, settling, statements
from .promotion import Value
from .scope import Array, Parts, Scope
from .syntax import without_docstring


def build_tree(kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> tree.KernelTree:
    """The typed tree of a kernel. Everything of the language is checked but races and barriers.

    Raises DeclarationError, at the place in the user's file, for the first thing that the language does not have,
    for a name that is unknown or not set, and for types that do not fit.
    """
    module = modules.parse(kernel, specialisation, rendered)
    try:
        return _built(module)
    except RecursionError:
        raise limits.too_deep(kernel.name, module.position(module.function)) from None


def _built(module: modules.Module) -> tree.KernelTree:
    kernel = module.kernel
    instances = helpers.Instances(module)
    s = _scope(module, instances.parts)
    body = without_docstring(module.function.body)
    settling.settle(s, lambda: statements.block(s, body))
    s.final = True
    s.begin()
    built = statements.block(s, body)
    made = dict(s.kernel_arrays)
    built = array_swaps.resolved(module, built, s.locals, made, instances.unique)
    if not s.parallel:
        built = [_once(s, built)]
    tuples = constant_tuples.Placing(s.constants, instances.unique)
    built = tuples.program(built)
    locals_ = {name: s.type_of(name).dtype for name in s.plain if name in s.now}
    made_tree = tree.KernelTree(
        name=kernel.name,
        parameters=module.parameters,
        symbols=kernel.signature.symbols,
        locals={**locals_, **s.locals, **instances.locals},
        arrays={**made, **tuples.arrays},
        helpers=tuple(instances.built.values()),
        body=tuple(built),
        fastmath=kernel.fastmath,
        requires=tuple(substituted(condition, module.params) for condition in kernel.requires),
        unchecked=kernel.unchecked,
        disjoint=kernel.disjoint,
    )
    limits.check(made_tree, s.at(module.function))
    return made_tree


def _once(s: Scope, body: list[tree.Stmt]) -> tree.Stmt:
    """A kernel without a parallel loop: it runs as one block, of one iteration."""
    index = s.fresh("once_", "int64")
    return tree.Parallel("grid", (index,), (tree.Const(1, "int64"),), tuple(body), at=s.at(s.function))


def _scope(module: modules.Module, parts: Parts) -> Scope:
    """The kernel's names: its arguments, and its dimensions, which are weak."""
    s = Scope(module, module.function, parts)
    for p in module.parameters:
        if p.in_memory:
            leading = ("rows" if p.dims else "size",) if p.ellipsis else ()
            s.arrays[p.name] = Array(p.name, p.rank, p.dtype, p.role, (*leading, *(p.dims or ())))
        else:
            s.given[p.name] = Value(tree.Var(p.name, "float32" if p.dtype in STORED else p.dtype))
    for symbol in module.kernel.signature.symbols:
        s.given[symbol] = Value(tree.Var(symbol, "int64"), True)
    names.collect(s)
    return s
