"""A kernel's body as the loops that one would write for Numba, on one thread and with `fastmath`: what a declared
kernel is measured against. Printed from the typed tree, so that constants and conversions have the types that they have
there; integers are Python's, as Numba adds them: what wraps differs, and NaN may.

Imported where Numba is, by the benchmark alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numba
import numpy as np

from ..artifact.dimensions import text
from ..artifact.signature import fill_value
from ..ir import tree as t
from ..ir.dtypes import INTEGER_BITS, kind_of
from ..ir.from_zero import from_zero
from ..ir.operations import REDUCTIONS
from ..runtime.interpreted import as_seen, bound
from ..runtime.kernel import Kernel

_CALLS = {  # as expressions of the arguments; what is not here has the name that Python's math gives it
    "abs": "abs({})", "min": "min({}, {})", "max": "max({}, {})", "where": "({1} if {0} else {2})",
    "fma": "({} * {} + {})", "pow": "({} ** {})", "real": "({}).real",
    "imag": "({}).imag", "complex_of": "complex({}, {})",
    **{name: f"np.{name}({{}})" for name in ("floor", "ceil", "trunc", "sign", "cbrt", "exp2", "conj")},
    "round": "np.rint({})",
}  # fmt: skip


def compiled(tree: t.KernelTree) -> Callable[..., Any]:
    """The function of the kernel's parameters and dimension symbols, in the tree's order, that fills outputs and stores
    to them. Raises LookupError for what Numba has no word for; Numba compiles it when it is first called."""
    tree = from_zero(tree)
    names: dict[str, Any] = {"np": np, "math": math}
    functions: list[t.KernelTree | t.Helper] = [*tree.helpers, tree]
    for function in functions:
        exec("\n".join(_Writer(function, names).lines), names)
        name = _identifier(function.name)
        names[name] = numba.njit(fastmath=True, error_model="numpy")(names[name])
    return names[_identifier(tree.name)]


def _identifier(name: str) -> str:
    return "k_" + re.sub(r"\W", "_", name)


def call_of(kernel: Kernel, given: dict[str, Any]) -> Callable[[], Any]:
    """A call of a built kernel as Numba's, which raises what Numba does of what it has no word for."""
    call, values, _, tree = bound(kernel._record, kernel._origin.root, (), given, _of_build_half)
    seen = [as_seen(p, values[p.name], call) for p in tree.parameters]
    typed = [v if p.in_memory else np.dtype(p.dtype).type(v) for p, v in zip(tree.parameters, seen)]
    symbols = [call.dims[symbol] for symbol in _symbols(tree)]
    return partial(compiled(tree), *typed, *symbols)


def _symbols(tree: t.KernelTree) -> list[str]:
    """What a function takes besides the parameters: one may give a dimension."""
    return [symbol for symbol in tree.symbols if all(symbol != p.name for p in tree.parameters)]


def _of_build_half(name: str) -> ModuleType:
    return import_module(f"pydotcompute.{name}")


class _Writer:
    """One function. `names` gets the constants that it uses."""

    def __init__(self, function: t.KernelTree | t.Helper, names: dict[str, Any]):
        self.names, self.lines, self.depth = names, [], 1
        self.positions: dict[str, str] = {}  # argmin or argmax → the variable that counts the iterations
        parameters = [p.name for p in function.parameters]
        if isinstance(function, t.KernelTree):
            parameters += _symbols(function)
        self.lines.append(f"def {_identifier(function.name)}({', '.join(map(_identifier, parameters))}):")
        if isinstance(function, t.KernelTree):
            for p in function.parameters:
                if p.fill is not None and p.in_memory:
                    value = self.constant(fill_value(p.fill, p.dtype), p.dtype)
                    self.line(f"{_identifier(p.name)}[...] = {value}")
        self.block(function.body)

    def line(self, written: str) -> None:
        self.lines.append("    " * self.depth + written)

    def block(self, body: tuple[t.Stmt, ...]) -> None:
        for s in body:
            self.statement(s)
        self.line("pass")

    def inside(self, head: str, body: tuple[t.Stmt, ...], first: Sequence[str] = ()) -> None:
        self.line(head)
        self.depth += 1
        for written in first:
            self.line(written)
        self.block(body)
        self.depth -= 1

    def constant(self, value: Any, dtype: str) -> str:
        if dtype == "bool" or dtype in INTEGER_BITS:
            return repr(value)
        name = f"c_{len(self.names)}"
        self.names[name] = np.dtype(dtype).type(value)
        return name

    # -------------------------------------------------------------------------------------------- statements

    def statement(self, s: t.Stmt) -> None:
        match s:
            case t.Assign():
                self.line(f"{_identifier(s.name)} = {self.text(s.value)}")
            case t.AssignTuple():
                self.line(f"{', '.join(map(_identifier, s.names))} = {self.text(s.call)}")
            case t.Store() | t.Scatter():
                self.line(f"{self.element(s)} = {self.text(s.value)}")
            case t.Atomic():
                place, value = self.element(s), self.text(s.value)
                if s.result:
                    self.line(f"{_identifier(s.result)} = {place}")
                self.line(f"{place} = {place} + {value}" if s.op == "add" else f"{place} = {s.op}({place}, {value})")
            case t.If():
                self.inside(f"if {self.text(s.condition)}:", s.body)
                if s.orelse:
                    self.inside("else:", s.orelse)
            case t.While():
                self.inside(f"while {self.text(s.condition)}:", s.body)
            case t.For():
                bounds = ", ".join(map(self.text, (s.start, s.stop, s.step)))
                self.inside(f"for {_identifier(s.name)} in range({bounds}):", s.body)
            case t.Parallel():
                self.loops(s.names, s.counts, s.body, s.reductions)
            case t.Reduce():
                self.loops((s.name,), (s.count,), s.body, (s.reduction,))
            case t.Accumulate():
                self.accumulate(s)
            case t.NewArray():
                shape = "".join(f"{self.extent(n)}, " for n in s.shape)
                self.line(f"{_identifier(s.name)} = np.empty(({shape}), np.{s.dtype})")
            case t.Return():
                self.line(f"return {', '.join(map(self.text, s.values))}")
            case t.Break() | t.Continue():
                self.line(type(s).__name__.lower())

    def extent(self, dim: Any) -> str:
        return re.sub(r"\b[a-zA-Z_]\w*", lambda found: _identifier(found[0]), text(dim))

    def loops(
        self, names: tuple[str, ...], counts: tuple[t.Expr, ...], body: tuple[t.Stmt, ...],
        reductions: tuple[t.Reduction, ...],
    ) -> None:  # fmt: skip
        first: list[str] = []
        for r in reductions:
            if r.start is not None:
                self.line(f"{_identifier(r.name)} = {self.constant(r.start.value, r.type)}")
            if REDUCTIONS[r.op].positioned:
                at = self.positions[r.name] = f"at_{_identifier(r.name)}"
                worst = self.constant(REDUCTIONS[r.op].identity(r.operand_type), r.operand_type)
                self.line(f"{at}, best_{at} = -1, {worst}")
                first.append(f"{at} += 1")
        outer, self.depth = self.depth, self.depth
        for name, count in list(zip(names, counts))[:-1]:
            self.line(f"for {_identifier(name)} in range({self.text(count)}):")
            self.depth += 1
        self.inside(f"for {_identifier(names[-1])} in range({self.text(counts[-1])}):", body, first)
        self.depth = outer

    def accumulate(self, s: t.Accumulate) -> None:
        name, value, symbol = _identifier(s.name), self.text(s.value), REDUCTIONS[s.op].combine
        if s.name in self.positions:
            at = self.positions[s.name]
            self.line(f"v_{at} = {value}")
            self.line(f"if v_{at} {symbol} best_{at} or {name} < 0:")
            self.line(f"    best_{at}, {name} = v_{at}, {at}")
        elif symbol.isidentifier():
            self.line(f"{name} = {symbol}({name}, {value})")
        else:
            self.line(f"{name} {symbol}= {value}")

    # ------------------------------------------------------------------------------------------- expressions

    def element(self, node: t.Access) -> str:
        return f"{_identifier(node.array)}[{', '.join(map(self.text, node.indices)) or '()'}]"

    def text(self, e: t.Expr | t.ArrayName) -> str:
        match e:
            case t.Const():
                return self.constant(e.value, e.type)
            case t.Var() | t.ArrayName():
                return _identifier(e.name)
            case t.Load():
                return self.element(e)
            case t.Unary():
                return f"({'not' if e.type == 'bool' else e.op} {self.text(e.operand)})"
            case t.Binary() | t.Compare() | t.BoolOp():
                return f"({self.text(e.left)} {e.op} {self.text(e.right)})"
            case t.Select():
                return f"({self.text(e.then)} if {self.text(e.condition)} else {self.text(e.otherwise)})"
            case t.Convert():
                return self.converted(self.text(e.operand), e.operand.type, e.type)
            case t.Call():
                return self.call(e)
            case t.CallHelper():
                return f"{_identifier(e.helper)}({', '.join(map(self.text, e.arguments))})"
        raise LookupError(f"no expression of the typed tree: {e!r}")

    def converted(self, value: str, source: str, target: str) -> str:
        if target == "bool":
            return f"({value} != 0)"
        if kind_of(source) == "c" and kind_of(target) != "c":
            value = f"({value}).real"
        return f"np.{target}({value})"

    def call(self, e: t.Call) -> str:
        arguments = [self.text(a) for a in e.arguments]
        if e.function == "rsqrt":
            return f"({self.constant(1.0, e.type)} / math.sqrt({arguments[0]}))"
        if e.function in _CALLS:
            return _CALLS[e.function].format(*arguments)
        if not hasattr(math, e.function):
            raise LookupError(f"{e.function} has no name in Python's math")
        return f"math.{e.function}({', '.join(arguments)})"
