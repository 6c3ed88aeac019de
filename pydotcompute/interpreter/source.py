"""The typed tree as plain Python text, for the interpreter: one function a helper, one for the kernel.

Each statement of the tree is one line (or one header line), and `Source.places` says for each line where the user
wrote it. What the text uses besides the kernel's own names stands in `Source.names`: constants, the arithmetic
functions of `arithmetic`, the array accesses and loops of `interpret_runtime`.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple

from ..artifact.dimensions import Operation, Tree, names
from ..errors import Position
from ..ir import tree as t
from ..ir.dtypes import INTEGER_BITS, kind_of
from ..ir.from_zero import from_zero
from ..ir.functions import FUNCTIONS
from ..ir.indices import is_unsigned
from ..ir.operations import BINARY, REDUCTIONS, UNARY
from . import arithmetic
from .intervals import Intervals

_INLINE = {"+", "-", "*", "/", "//", "%"}  # of floats: NumPy's own scalar operators


# Where each index stands; the kernel's name of the array; which indices were uint64.
Site = tuple[tuple[Position | None, ...], str, tuple[bool, ...]]


class Source(NamedTuple):
    text: str
    places: tuple[Position | None, ...]  # of each line of the text
    names: dict[str, Any]  # what the text refers to; the runtime's functions are added by the interpreter
    sites: tuple[Site, ...]  # of each array access
    prefix: str  # of every name in the text that is not the user's
    kernel: str  # the name of the kernel's function
    arguments: dict[str, str]  # the tree's name of each parameter and symbol → that of the function's


def write(tree: t.KernelTree) -> Source:
    return _Writer(from_zero(tree)).source()


class _Writer:
    def __init__(self, tree: t.KernelTree):
        self.tree = tree
        self.lines: list[str] = []
        self.places: list[Position | None] = []
        self.names: dict[str, Any] = {}
        self.sites: list[Site] = []
        self.arrays: dict[str, str] = {}  # a helper's array parameter → the kernel's array behind it
        self.functions: dict[Any, str] = {}
        self.depth = 0
        self.loops = 0
        self.positions: dict[str, str] = {}  # reduction → the variable that holds the iteration's number
        self.intervals = Intervals()
        self.scans: dict[str, str] = {}  # scan → the variable that holds what adds its terms
        self.scope: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        used = {tree.name, *tree.symbols, *tree.locals, *tree.arrays, *(p.name for p in tree.parameters)}
        used |= {name for helper in tree.helpers for name in _names(helper)}
        self.prefix = "_"
        while any(name.startswith(self.prefix) for name in used):
            self.prefix += "_"

    def source(self) -> Source:
        for helper in self.tree.helpers:
            self.helpers[helper.name] = self.identifier(helper.name)
            self.scope, self.arrays = {}, {p.name: p.array for p in helper.parameters if p.array}
            names = ", ".join(self.name(p.name) for p in helper.parameters)
            self.function(f"def {self.helpers[helper.name]}({names}):", helper.body, helper.at)
        self.scope, self.arrays = {}, {}
        arguments = {name: self.name(name) for name in (*(p.name for p in self.tree.parameters), *self.tree.symbols)}
        kernel = self.identifier(self.tree.name)
        if kernel in self.helpers.values():
            kernel += "_kernel"
        self.function(f"def {kernel}({', '.join(arguments.values())}):", self.tree.body, None)
        text = "\n".join(self.lines) + "\n"
        return Source(text, tuple(self.places), self.names, tuple(self.sites), self.prefix, kernel, arguments)

    # ------------------------------------------------------------------------------------------- names, lines

    def identifier(self, name: str) -> str:
        return name if name.isidentifier() else re.sub(r"\W", "_", name)

    def name(self, name: str) -> str:
        """The Python name of a name of the tree; those that the lowering made may not be identifiers."""
        if name not in self.scope:
            wanted = self.identifier(name)
            while wanted in self.scope.values():
                wanted += "_"
            self.scope[name] = wanted
        return self.scope[name]

    def given(self, key: Any, value: Any, hint: str) -> str:
        """The name under which the text refers to a constant or a function, one for each key."""
        if key not in self.functions:
            name = self.prefix + re.sub(r"\W", "_", hint)
            while name in self.names:
                name += "_"
            self.functions[key], self.names[name] = name, value
        return self.functions[key]

    def runtime(self, name: str) -> str:
        """A function of `interpret_runtime`, which the interpreter puts under this name."""
        return self.prefix + name

    def site(self, node: t.Access | t.CheckStep) -> int:
        if isinstance(node, t.CheckStep):
            self.sites.append(((node.at,), "", ()))
        else:
            places = tuple(index.at or node.at for index in node.indices)
            unsigned = tuple(map(is_unsigned, node.indices))
            self.sites.append((places, self.arrays.get(node.array, node.array), unsigned))
        return len(self.sites) - 1

    def line(self, text: str, at: Position | None) -> None:
        self.lines.append("    " * self.depth + text)
        self.places.append(at)

    def function(self, header: str, body: tuple[t.Stmt, ...], at: Position | None) -> None:
        self.line(header, at)
        self.block(body, at)

    def block(self, body: tuple[t.Stmt, ...], at: Position | None) -> None:
        self.depth += 1
        for statement in body:
            self.statement(statement)
        if not body:
            self.line("pass", at)
        self.depth -= 1

    # -------------------------------------------------------------------------------------------- statements

    def statement(self, s: t.Stmt) -> None:
        match s:
            case t.Assign():
                self.line(f"{self.name(s.name)} = {self.expression(s.value)}", s.at)
            case t.AssignTuple():
                names = ", ".join(self.name(name) for name in s.names)
                self.line(f"{names} = {self.expression(s.call)}", s.at)
            case t.Store() | t.Scatter():
                store = self.runtime(f"store{len(s.indices)}" if isinstance(s, t.Store) else "scatter")
                arguments = (self.name(s.array), *map(self.expression, s.indices), self.expression(s.value))
                self.line(f"{store}({', '.join(arguments)}, {self.site(s)})", s.at)
            case t.Atomic():
                self.atomic(s)
            case t.If():
                self.line(f"if {self.expression(s.condition)}:", s.at)
                self.block(s.body, s.at)
                if s.orelse:
                    self.line("else:", s.orelse[0].at)
                    self.block(s.orelse, s.at)
            case t.While():
                self.line(f"while {self.expression(s.condition)}:", s.at)
                self.block(s.body, s.at)
            case t.For():
                bounds = ", ".join(map(self.expression, (s.start, s.stop, s.step)))
                self.line(f"for {self.name(s.name)} in {self.runtime('span')}({bounds}):", s.at)
                with self.intervals.inside(s):
                    self.block(s.body, s.at)
            case t.CheckStep():
                self.line(f"{self.runtime('check_step')}({self.expression(s.step)}, {self.site(s)})", s.at)
            case t.Break():
                self.line("break", s.at)
            case t.Continue():
                self.line("continue", s.at)
            case t.Return():
                self.line(f"return {', '.join(map(self.expression, s.values))}", s.at)
            case t.Accumulate():
                self.accumulate(s)
            case t.Parallel():
                self.parallel(s)
            case t.Reduce():
                self.reduce(s)
            case t.NewArray():
                shape = "".join(f"{self.extent(n)}, " for n in s.shape)
                new = f"{self.runtime('poisoned')}(({shape}), {s.dtype!r})"
                self.line(f"{self.name(s.name)} = {new}", s.at)
            case _:
                raise TypeError(f"no statement of the typed tree: {s!r}")

    def extent(self, dim: Tree) -> str:
        """An extent of an array of the kernel's own."""
        if isinstance(dim, str):
            return self.name(dim)
        if not isinstance(dim, Operation):
            return str(int(dim))
        known = ", ".join(f"{name!r}: {self.name(name)}" for name in dict.fromkeys(names(dim)))
        return f"{self.runtime('evaluate')}({self.given(('extent', dim), dim, 'extent')}, {{{known}}})"

    def atomic(self, s: t.Atomic) -> None:
        dtype = s.value.type
        if s.op == "add":
            update = arithmetic.binary("+", dtype)
        else:
            update = arithmetic.function(s.op, dtype)
        if s.stored:
            update = arithmetic.of_stored(update, s.stored)
        name = self.given(("atomic", s.op, s.stored or dtype), update, f"atomic_{s.op}_{s.stored or dtype}")
        arguments = (self.name(s.array), *map(self.expression, s.indices), self.expression(s.value))
        given = f"{self.name(s.result)} = " if s.result else ""
        text = f"{self.runtime('update')}({name}, {', '.join(arguments)}, {self.site(s)})"
        if given and s.stored:
            widened = arithmetic.conversion(s.stored, dtype)
            text = f"{self.given(('convert', s.stored, dtype), widened, f'{s.stored}_to_{dtype}')}({text})"
        self.line(f"{given}{text}", s.at)

    def parallel(self, s: t.Parallel) -> None:
        names = ", ".join(self.name(name) for name in s.names)
        counts = ", ".join(map(self.expression, s.counts))
        loop = f"{self.runtime('loop')}({counts})"
        if not s.reductions:
            with self.watched(s):
                self.line(f"for {names} in {loop}:", s.at)
                self.iteration(s)
            return
        position = f"{self.prefix}position{self.loops}"
        self.loops += 1
        for reduction in s.reductions:
            if reduction.scan:
                self.begin_scan(reduction, s.at)
                continue
            self.line(f"{self.terms(reduction)} = []", s.at)
            self.positions[reduction.name] = position
        target = names if len(s.names) == 1 else f"({names})"
        numbered = f"{self.runtime('in_order' if any(r.scan for r in s.reductions) else 'numbered')}({counts})"
        with self.watched(s):
            self.line(f"for {position}, {target} in {numbered}:", s.at)
            self.iteration(s)
        for reduction in (r for r in s.reductions if not r.scan):
            name = self.name(reduction.name)
            start = name if reduction.start is None else self.expression(reduction.start)
            combine = self.runtime(f"reduce_{reduction.op}")
            self.line(f"{name} = {combine}({start}, {self.terms(reduction)}, {reduction.type!r})", s.at)

    def begin_scan(self, r: t.Reduction, at: Position | None) -> None:
        """A scan goes on from term to term, so its loop has an order. A sum of floats keeps what it rounds off."""
        if r.op == "sum" and _is_float(r.type):
            self.scans[r.name] = f"{self.prefix}scan_{self.name(r.name)}"
            self.line(f"{self.scans[r.name]} = {self.runtime('running')}({self.name(r.name)})", at)
        else:
            self.scans[r.name] = ""

    @contextmanager
    def watched(self, s: t.Parallel) -> Iterator[None]:
        """A loop; of arrays that are declared disjoint, what its iterations touch is noted: see disjoint.py."""
        if self.tree.disjoint:
            self.line(f"{self.runtime('enter')}()", s.at)
        yield
        if self.tree.disjoint:
            self.line(f"{self.runtime('leave')}()", s.at)

    def iteration(self, s: t.Parallel) -> None:
        if self.tree.disjoint:
            self.depth += 1
            self.line(f"{self.runtime('turn')}({', '.join(map(self.name, s.names))})", s.at)
            self.depth -= 1
        with self.intervals.inside(s):
            self.block(s.body, s.at)

    def reduce(self, s: t.Reduce) -> None:
        terms, name = self.terms(s.reduction), self.name(s.reduction.name)
        self.line(f"{terms} = []", s.at)
        self.positions[s.reduction.name] = self.name(s.name)
        self.line(f"for {self.name(s.name)} in {self.runtime('span')}(0, {self.expression(s.count)}, 1):", s.at)
        self.block(s.body, s.at)
        assert s.reduction.start is not None
        start, combine = self.expression(s.reduction.start), self.runtime(f"reduce_{s.reduction.op}")
        self.line(f"{name} = {combine}({start}, {terms}, {s.reduction.type!r})", s.at)

    def accumulate(self, s: t.Accumulate) -> None:
        if s.name in self.scans:
            name, adder, value = self.name(s.name), self.scans[s.name], self.expression(s.value)
            combine = self.combination(s.op, s.value.type)
            self.line(f"{name} = {f'{adder}({value})' if adder else f'{combine}({name}, {value})'}", s.at)
            return
        term = f"({self.positions[s.name]}, {self.expression(s.value)})"
        self.line(f"{self.terms(s)}.append({term})", s.at)

    def combination(self, op: str, dtype: str) -> str:
        """The function of two values that a reduction is made of."""
        symbol = REDUCTIONS[op].combine
        combine = (arithmetic.function if symbol in FUNCTIONS else arithmetic.binary)(symbol, dtype)
        return self.given(("combine", op, dtype), combine, f"{op}_{dtype}")

    def terms(self, reduction: t.Reduction | t.Accumulate) -> str:
        return f"{self.prefix}terms_{self.name(reduction.name)}"

    # ------------------------------------------------------------------------------------------- expressions

    def expression(self, e: t.Expr | t.ArrayName) -> str:
        match e:
            case t.Const():
                if e.type == "bool" or e.type in INTEGER_BITS:
                    return repr(arithmetic.value(e.value, e.type))
                key = ("const", repr(e.value), e.type)
                return self.given(key, arithmetic.value(e.value, e.type), f"{e.type}_{e.value!r}")
            case t.Var() | t.ArrayName():
                return self.name(e.name)
            case t.Load():
                load = self.runtime(("load" if _is_float(e.type) else "item") + str(len(e.indices)))
                arguments = (self.name(e.array), *map(self.expression, e.indices), str(self.site(e)))
                return f"{load}({', '.join(arguments)})"
            case t.Unary():
                operand = self.expression(e.operand)
                if e.op == "not" or (e.op == "~" and e.type == "bool"):
                    return f"(not {operand})"
                if e.op == "-" and _is_float(e.type):
                    return f"(-{operand})"
                name = self.given(
                    ("unary", e.op, e.type), arithmetic.unary(e.op, e.type), f"{UNARY[e.op].word}_{e.type}"
                )
                return f"{name}({operand})"
            case t.Binary():
                return self.binary(e)
            case t.Compare():
                compared = f"{self.expression(e.left)} {e.op} {self.expression(e.right)}"
                return f"bool({compared})" if _is_float(e.left.type) else f"({compared})"
            case t.BoolOp():
                return f"({self.expression(e.left)} {e.op} {self.expression(e.right)})"
            case t.Select():
                parts = (self.expression(part) for part in (e.then, e.condition, e.otherwise))
                return "({} if {} else {})".format(*parts)
            case t.Convert():
                source = e.operand.type
                if source == e.type:
                    return self.expression(e.operand)
                name = self.given(
                    ("convert", source, e.type), arithmetic.conversion(source, e.type), f"{source}_to_{e.type}"
                )
                return f"{name}({self.expression(e.operand)})"
            case t.Call():
                dtype = e.arguments[-1].type
                compute = arithmetic.function(e.function, dtype)
                name = self.given(("call", e.function, dtype), compute, f"{e.function}_{dtype}")
                return f"{name}({', '.join(map(self.expression, e.arguments))})"
            case t.CallHelper():
                return f"{self.helpers[e.helper]}({', '.join(map(self.expression, e.arguments))})"
        raise TypeError(f"no expression of the typed tree: {e!r}")

    def binary(self, e: t.Binary) -> str:
        left, right = self.expression(e.left), self.expression(e.right)
        if _is_float(e.type) and e.op in _INLINE or e.op in ("&", "|", "^"):
            return f"({left} {e.op} {right})"
        key = ("binary", e.op, e.type)
        if e.type in INTEGER_BITS and not self.intervals.may_wrap(e):
            return f"({left} {e.op} {right})"
        name = self.given(key, arithmetic.binary(e.op, e.type), f"{BINARY[e.op].word}_{e.type}")
        return f"{name}({left}, {right})"


def _is_float(dtype: str) -> bool:
    return kind_of(dtype) in "fc"


def _names(helper: t.Helper) -> set[str]:
    names = {helper.name, *(p.name for p in helper.parameters)}
    for statement in helper.body:
        for node in t.walk(statement):
            names |= {getattr(node, "name", ""), *getattr(node, "names", ())}
    return names
