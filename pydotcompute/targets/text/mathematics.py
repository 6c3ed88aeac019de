"""Elementary functions from ir/math, for the dtypes in which a language's own are missing or not accurate enough."""

from __future__ import annotations

from functools import cache

from ...ir import math
from ...ir.math.storage import STORAGE
from ...ir.tree import ArrayName, CallHelper, Helper, walk
from ..names import Names
from .dialect import Template
from .expressions import Expressions
from .reductions import Reductions
from .scalars import Scalars
from .statements import Statements, declared
from .writer import Writer


def template(function: str) -> Template:
    """The listed function as an entry of a library."""

    def made(s: Scalars, dtype: str, name: str) -> list[str]:
        *called, helper = math.helpers(function, dtype, "float64" not in s.dialect.emulated)
        for other in called:
            _define(s, other)
        return _written(s, helper, name)

    return made


@cache
def functions() -> dict[str, Template]:
    """All of them."""
    return {name: template(name) for name in (*math.FUNCTIONS, *STORAGE)}


def _define(s: Scalars, helper: Helper) -> None:
    """A helper that others call, once in a file."""
    key = helper.name, helper.types[0]
    if key not in s.needed:
        s.needed[key] = s.names.fresh(helper.name)
        s.texts.append(_written(s, helper, s.needed[key]))


def _written(s: Scalars, helper: Helper, name: str) -> list[str]:
    def call(e: CallHelper, within: Expressions) -> str:
        given = [within.text(a) for a in e.arguments if not isinstance(a, ArrayName)]
        return f"{s.needed[e.helper, e.type]}({', '.join(given)})"

    w = Writer(s.dialect, s.names)
    if any(getattr(node, "type", "") == "float64" for part in helper.body for node in walk(part)):
        s.features.add("float64")
    own = Names((), lambda word: False)  # names of ours, which mean nothing else anywhere
    expressions = Expressions(s, own, {}, call, False, w)
    expressions.exact = s.dialect.exact
    parameters = [w.parameter(p.type, own.of(p.name)) for p in helper.parameters]
    with w.function(s.type(helper.types[0]), name, parameters):
        for local, dtype in declared(helper.body, {}).items():
            w.declare(own.of(local), dtype)
        Statements(w, expressions, Reductions(w, expressions, 1, "")).write(helper.body)
    return w.lines

