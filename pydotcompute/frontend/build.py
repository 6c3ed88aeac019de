"""The front end: the rendered Python of one specialisation → checks → types → the typed tree."""

from __future__ import annotations

from ..artifact.dimensions import substituted
from ..declare.model import Kernel, Rendered, Specialisation
from ..ir import tree
from . import helpers, module as modules, names, statements
from .promotion import Type
from .scope import Array, Parts, Scope
from .syntax import without_docstring


def build_tree(kernel: Kernel, specialisation: Specialisation, rendered: Rendered) -> tree.KernelTree:
    """The typed tree of a kernel. Everything of the language is checked but races and barriers.

    Raises DeclarationError, at the place in the user's file, for the first thing that the language does not have,
    for a name that is unknown or not set, and for types that do not fit.
    """
    module = modules.parse(kernel, specialisation, rendered)
    instances = helpers.Instances(module)
    s = _scope(module, instances.parts)
    body = without_docstring(module.function.body)
    helpers.settle(s, lambda: statements.block(s, body))
    s.final = True
    s.begin()
    built = statements.block(s, body)
    if s.main is None:
        module.refuse(
            module.function,
            f"kernel `{kernel.name}` has no parallel loop",
            "write `for i in grid(size):`, `for b in blocks(rows):`, or a reduction over grid",
        )
    locals_ = {name: s.type_of(name).dtype for name in s.plain if name in s.now}
    return tree.KernelTree(
        name=kernel.name,
        parameters=module.parameters,
        symbols=kernel.signature.symbols,
        locals={**locals_, **s.locals, **instances.locals},
        arrays=s.kernel_arrays,
        helpers=tuple(instances.built.values()),
        body=tuple(built),
        fastmath=kernel.fastmath,
        requires=tuple(substituted(condition, dict(specialisation.params)) for condition in kernel.requires),
        unchecked=kernel.unchecked,
    )


def _scope(module: modules.Module, parts: Parts) -> Scope:
    """The kernel's names: its arguments, and its dimensions, which are weak."""
    s = Scope(module, module.function, parts)
    for p in module.parameters:
        if p.is_array or p.role == "out":
            leading = ("rows" if p.dims else "size",) if p.ellipsis else ()
            s.arrays[p.name] = Array(p.name, p.rank, p.dtype, p.role, (*leading, *(p.dims or ())))
        else:
            s.given[p.name] = (p.name, Type(p.dtype))
    for symbol in module.kernel.signature.symbols:
        s.given[symbol] = (symbol, Type("int64", True))
    names.collect(s)
    return s
