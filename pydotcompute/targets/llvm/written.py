"""Lowered Python → LLVM IR, without a compiler's analyses: a name has one type, which its first assignment tells, and
an operation is a call of an intrinsic, which says itself what it gives and what it emits.

Numba compiles the functions of our own libraries that they call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import errors, fastmathpass, ir as numba_ir
from numba.core.cpu import FastMathOptions

from .independence import (
    COMPACT,
    INDEPENDENT,
    INDEPENDENT_VECTORS,
    INTERLEAVED,
    RARE,
    ROLLED,
    SHORT,
    UNROLLED,
    WHOLE,
    mark_loop,
)
from .line_table import LineTable
from .values import DTYPES, I1, I64, constant

PREFIX = "written$"  # of the names of its functions; NVVM wants no dot in names that several modules have
MARKS = (INDEPENDENT, INDEPENDENT_VECTORS, INTERLEAVED, COMPACT, SHORT, RARE, ROLLED, UNROLLED, WHOLE)


class Value(NamedTuple):
    type: types.Type
    value: Any


class _Loop:
    """following: where `continue` goes; after: where `break` does; mark: what its body says of its iterations."""

    def __init__(self, following: ir.Block, after: ir.Block):
        self.following, self.after, self.mark = following, after, ""


class _Functions(NamedTuple):
    """What Numba's pass for flags takes for a module."""

    functions: list[ir.Function]


class Written:
    """The functions of a lowered text, which come into a module.

    names: what it may use. results: dtypes of what its functions give. attributes: what to add to an LLVM function, by
    its name here. lines: what makes the table of lines, if there is to be one. Wrong text is an error of Numba's,
    with its line.
    """

    def __init__(
        self, text: str, source_file: str, module: ir.Module, names: Mapping[str, Any],
        results: Mapping[str, Sequence[str]], attributes: Callable[[str, ir.Function], None],
        fastmath: Sequence[str] = (), lines: Callable[..., Any] | None = None,
    ):  # fmt: skip
        self.definitions = {d.name: d for d in ast.parse(text).body if isinstance(d, ast.FunctionDef)}
        self.names, self.attributes = names, attributes
        self.results = {name: _result([DTYPES[d] for d in dtypes]) for name, dtypes in results.items()}
        self.source_file, self.module, self.fastmath = source_file, module, fastmath
        self.lines = lines
        self.made: dict[tuple, ir.Function] = {}
        self.typed: dict[tuple, tuple] = {}  # signature and emitter of an intrinsic for the types that it is given

    def parameters(self, name: str) -> list[str]:
        return [a.arg for a in self.definitions[name].args.args]

    @contextmanager
    def located(self, context, function: ir.Function, b: ir.IRBuilder, name: str) -> Iterator[Any]:
        """What is written inside comes from the first line of a function here, where there is a table of lines; what
        makes that table of the function."""
        lines = self.lines and self.lines(self.module, self.source_file, context, True)
        if lines:
            line = self.definitions[name].lineno
            lines.mark_subprogram(function, name, (), (), line)
            lines.mark_location(b, line)
        yield lines
        if lines:
            lines.finalize()

    def define(self, context, name: str, operands: Sequence[types.Type]) -> ir.Function:
        """The LLVM function of this name for operands of these types, made when it is first asked for."""
        key = name, *operands
        if key not in self.made:
            result = self.results[name]
            gives = ir.VoidType() if result == types.void else context.get_value_type(result)
            type_ = ir.FunctionType(gives, [context.get_value_type(t) for t in operands])
            function = ir.Function(self.module, type_, self.module.get_unique_name(PREFIX + name))
            for argument, parameter in zip(function.args, self.definitions[name].args.args, strict=True):
                argument.name = parameter.arg
            self.attributes(name, function)
            _Body(self, context, function, self.definitions[name], operands)
            if self.fastmath:
                fastmathpass.rewrite_module(_Functions([function]), FastMathOptions(set(self.fastmath)))
            self.made[key] = function
        return self.made[key]

    def intrinsic(self, context, name: str, operands: tuple[types.Type, ...], literals: tuple[types.Type, ...]):
        """(signature, emitter) of what a name calls; None where it takes no such operands. literals: the operands'
        types, where they are constants with their values."""
        key = name, *literals
        if key not in self.typed:
            defined, typing = self.names[name]._defn, context.typing_context
            self.typed[key] = defined(typing, *operands) or defined(typing, *literals)
        return self.typed[key]


class _Body:
    """The body of one function, statement by statement."""

    def __init__(self, written: Written, context, function: ir.Function, definition: ast.FunctionDef, operands):
        self.written, self.context, self.function, self.result = written, context, function, definition.name
        self.variables: dict[str, Value] = {}
        self.loops: list[_Loop] = []
        self.line = definition.lineno
        self.lines = written.lines and written.lines(written.module, written.source_file, context, True)
        entry = self.b = ir.IRBuilder(function.append_basic_block("entry"))
        if self.lines:
            self.lines.mark_subprogram(function, definition.name, (), (), self.line)
            self.lines.mark_location(entry, self.line)
        start = function.append_basic_block("start")
        end = entry.branch(start)
        entry.position_before(end)
        self.entry, self.b = entry, ir.IRBuilder(start)
        self.b.debug_metadata = entry.debug_metadata
        for argument, parameter, t in zip(function.args, definition.args.args, operands, strict=True):
            self.assign(parameter.arg, Value(t, argument))
        self.statements(definition.body)
        if not self.b.block.is_terminated:
            self.b.unreachable()
        if self.lines:
            self.lines.finalize()

    def refused(self, message: str) -> errors.UnsupportedError:
        return errors.UnsupportedError(message, numba_ir.Loc(self.written.source_file, self.line))

    # -------------------------------------------------------------------------------------------- statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for s in body:
            self.line = s.lineno
            if self.lines:
                self.lines.mark_location(self.b, s.lineno)
            if self.b.block.is_terminated:  # behind a `break`: nothing comes here
                self.b.position_at_end(self.b.append_basic_block())
            if type(s) not in STATEMENTS:
                raise self.refused(f"no statement of lowered Python: {ast.unparse(s)}")
            STATEMENTS[type(s)](self, s)

    def assign(self, name: str, value: Value) -> None:
        if name not in self.variables:
            self.variables[name] = Value(value.type, self.entry.alloca(value.value.type, name=name))
            # A loop that ends because of a fault leaves what its body sets as it was, and an index may be made of it.
            self.entry.store(ir.Constant(value.value.type, None), self.variables[name].value)
        variable = self.variables[name]
        if variable.type != value.type:
            raise self.refused(f"{name} is {variable.type}, and is given {value.type}")
        self.b.store(value.value, variable.value)

    def assignment(self, s: ast.Assign) -> None:
        (target,) = s.targets
        if isinstance(target, ast.Name):
            self.assign(target.id, self.value(s.value))
            return
        if isinstance(s.value, ast.Tuple):
            values = [self.value(v) for v in s.value.elts]
        else:
            whole = self.value(s.value)
            values = [Value(t, self.b.extract_value(whole.value, k)) for k, t in enumerate(whole.type)]
        for name, value in zip(target.elts, values, strict=True):  # type: ignore[attr-defined]
            self.assign(name.id, value)

    def expression(self, s: ast.Expr) -> None:
        assert isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Name)
        if s.value.func.id in MARKS:
            self.loops[-1].mark = s.value.func.id
        else:
            self.value(s.value)

    def return_(self, s: ast.Return) -> None:
        if s.value is None:
            self.b.ret_void()
            return
        if isinstance(s.value, ast.Tuple):
            values = [self.value(v) for v in s.value.elts]
            t = types.BaseTuple.from_types([v.type for v in values])
            value = Value(t, self.context.make_tuple(self.b, t, [v.value for v in values]))
        else:
            value = self.value(s.value)
        if value.type != (wanted := self.written.results[self.result]):
            raise self.refused(f"{self.result} gives {wanted}, not {value.type}")
        self.b.ret(value.value)

    def if_(self, s: ast.If) -> None:
        then, after = self.b.append_basic_block("then"), self.b.append_basic_block("after")
        otherwise = self.b.append_basic_block("else") if s.orelse else after
        self.b.cbranch(self.condition(s.test), then, otherwise)
        for block, body in ((then, s.body), (otherwise, s.orelse)):
            if body:
                self.b.position_at_end(block)
                self.statements(body)
                self._go_on(after)
        self.b.position_at_end(after)

    def while_(self, s: ast.While) -> None:
        head = self.b.append_basic_block("head")
        self.b.branch(head)
        self.b.position_at_end(head)
        holds = self.condition(s.test)
        with self._loop(head, holds, s.orelse) as following:
            self.statements(s.body)
            self._go_on(following)

    def for_(self, s: ast.For) -> None:
        """As many turns as there are numbers, counted down: so the index may be any number."""
        assert isinstance(s.target, ast.Name) and isinstance(s.iter, ast.Call)
        if len(s.iter.args) not in (1, 2):
            raise self.refused(f"no range of lowered Python: {ast.unparse(s.iter)}")
        bounds = [self.value(a) for a in s.iter.args]
        t = bounds[-1].type
        zero, one = constant(t, 0), constant(t, 1)
        first = bounds[0].value if len(bounds) == 2 else zero
        distance = self.b.sub(bounds[-1].value, first)
        turns = self.b.select(self.b.icmp_signed(">", distance, zero), distance, zero)
        before, head = self.b.block, self.b.append_basic_block("head")
        self.b.branch(head)
        self.b.position_at_end(head)
        left, index = self.b.phi(zero.type), self.b.phi(zero.type)
        with self._loop(head, self.b.icmp_signed(">", left, zero), s.orelse) as following:
            self.assign(s.target.id, Value(t, index))
            self.statements(s.body)
            self._go_on(following)
            self.b.position_at_end(following)
            fewer, next_ = self.b.sub(left, one, flags=["nsw"]), self.b.add(index, one, flags=["nsw"])
        for phi, begin, then in ((left, turns, fewer), (index, first, next_)):
            phi.add_incoming(begin, before)
            phi.add_incoming(then, following)

    @contextmanager
    def _loop(self, head: ir.Block, holds: Any, orelse: list[ast.stmt]) -> Iterator[ir.Block]:
        """The body is written inside, and ends in the block that is given, which leads to the head."""
        body, following, after = (self.b.append_basic_block(name) for name in ("body", "next", "after"))
        otherwise = self.b.append_basic_block("else") if orelse else after
        self.b.cbranch(holds, body, otherwise)
        place = self.b.debug_metadata if isinstance(self.lines, LineTable) else None  # which NVVM refuses
        self.b.position_at_end(body)
        self.loops.append(_Loop(following, after))
        yield following
        loop = self.loops.pop()
        self.b.position_at_end(following)
        self.b.debug_metadata = place
        mark_loop(self.b.branch(head), loop.mark, place)
        if orelse:
            self.b.position_at_end(otherwise)
            self.statements(orelse)
            self._go_on(after)
        self.b.position_at_end(after)

    def break_(self, s: ast.Break) -> None:
        self.b.branch(self.loops[-1].after)

    def continue_(self, s: ast.Continue) -> None:
        self.b.branch(self.loops[-1].following)

    def _go_on(self, block: ir.Block) -> None:
        if not self.b.block.is_terminated:
            self.b.branch(block)

    # ------------------------------------------------------------------------------------------- expressions

    def condition(self, e: ast.expr) -> Any:
        value = self.value(e)
        return value.value if value.type == types.boolean else self.context.is_true(self.b, *value)

    def value(self, e: ast.expr) -> Value:
        if isinstance(e, ast.Name):
            if e.id not in self.variables:
                raise self.refused(f"nothing is called {e.id}")
            t, place = self.variables[e.id]
            return Value(t, self.b.load(place, typ=place.allocated_type))
        if isinstance(e, ast.Constant) and isinstance(e.value, int):
            t = types.boolean if isinstance(e.value, bool) else types.int64
            return Value(t, ir.Constant(I1 if t == types.boolean else I64, int(e.value)))
        if isinstance(e, ast.BoolOp):
            first, *others = e.values
            rest = others[0] if len(others) == 1 else ast.BoolOp(e.op, others)
            ways = (rest, ast.Constant(False)) if isinstance(e.op, ast.And) else (ast.Constant(True), rest)
            return self._chosen(first, *ways)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return Value(types.boolean, self.b.not_(self.condition(e.operand)))
        if isinstance(e, ast.IfExp):
            return self._chosen(e.test, e.body, e.orelse)
        if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Name) or e.keywords:
            raise self.refused(f"no expression of lowered Python: {ast.unparse(e)}")
        return self._call(e.func.id, e.args)

    def _chosen(self, test: ast.expr, *branches: ast.expr) -> Value:
        then, otherwise, after = (self.b.append_basic_block(name) for name in ("then", "else", "after"))
        self.b.cbranch(self.condition(test), then, otherwise)
        ways = []
        for block, branch in zip((then, otherwise), branches, strict=True):
            self.b.position_at_end(block)
            ways.append((self.value(branch), self.b.block))
            self.b.branch(after)
        self.b.position_at_end(after)
        (t, first), _ = ways[0]
        result = self.b.phi(first.type)
        for value, block in ways:
            if value.type != t:
                raise self.refused(f"one of {t} and {value.type}")
            result.add_incoming(value.value, block)
        return Value(t, result)

    def _call(self, name: str, arguments: Sequence[ast.expr]) -> Value:
        if isinstance(t := self.written.names.get(name), types.Number) and len(arguments) == 1:
            return Value(t, constant(t, self._number(arguments[0])))
        values = [self.value(a) for a in arguments]
        operands = tuple(v.type for v in values)
        if name in self.written.definitions:
            function = self.written.define(self.context, name, operands)
            return Value(self.written.results[name], self.b.call(function, [v.value for v in values]))
        if name not in self.written.names:
            raise self.refused(f"nothing is called {name}")
        literals = tuple(
            types.literal(a.value) if isinstance(a, ast.Constant) and type(a.value) is int else t
            for a, t in zip(arguments, operands, strict=True)
        )
        found = self.written.intrinsic(self.context, name, operands, literals)
        if found is None:
            raise self.refused(f"{name} takes no {', '.join(map(str, operands))}")
        signature, emit = found
        given = [
            v.value if v.type == types.unliteral(t) else self.context.cast(self.b, v.value, v.type, t)
            for v, t in zip(values, signature.args, strict=True)
        ]
        return Value(signature.return_type, emit(self.context, self.b, signature, given))

    def _number(self, e: ast.expr) -> Any:
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return -self._number(e.operand)
        return self.written.names[e.id] if isinstance(e, ast.Name) else e.value  # type: ignore[attr-defined]


def _result(given: Sequence[types.Type]) -> types.Type:
    if len(given) > 1:
        return types.BaseTuple.from_types(given)
    return given[0] if given else types.void


STATEMENTS: dict[type, Callable[[_Body, Any], None]] = {
    ast.Assign: _Body.assignment,
    ast.Expr: _Body.expression,
    ast.Return: _Body.return_,
    ast.If: _Body.if_,
    ast.While: _Body.while_,
    ast.For: _Body.for_,
    ast.Break: _Body.break_,
    ast.Continue: _Body.continue_,
    ast.Pass: lambda body, s: None,
}
