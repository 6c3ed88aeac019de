"""Sequential statements, and the helpers that they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...ir.tree import (
    Accumulate,
    ArrayName,
    Assign,
    AssignTuple,
    Atomic,
    Break,
    CallHelper,
    CheckStep,
    Const,
    Continue,
    For,
    Helper,
    If,
    KernelTree,
    NewArray,
    Parallel,
    Reduce,
    Return,
    Scatter,
    Stmt,
    Store,
    While,
    walk,
)  # fmt: skip
from ..intervals import Intervals
from .arrays import Array
from .expressions import Expressions
from .faults import Faults
from .reductions import Reductions
from .scalars import Scalars
from .writer import Writer


class Statements:
    """Writes the statements of one function."""

    def __init__(
        self, writer: Writer, expressions: Expressions, reductions: Reductions, results: tuple[str, str] = ("", "")
    ):
        self.writer, self.expressions, self.reductions, self.results = writer, expressions, reductions, results

    def write(self, body: Iterable[Stmt]) -> None:
        for s in body:
            outer, self.writer.at = self.writer.at, s.at or self.writer.at
            self.one(s)
            self.writer.at = outer

    def one(self, s: Stmt, inside: Callable[[Iterable[Stmt]], None] | None = None, also: str = "") -> None:
        """A statement; `inside` writes what stands in it, and is this object itself unless given; `also` is what a loop
        goes on by then, and that the thread had no fault otherwise."""
        w, e = self.writer, self.expressions
        if e.faults and not inside and isinstance(s, (For, While)):
            also = e.faults.goes_on(s)
        inside = inside or self.write
        match s:
            case Assign():
                w.assign(e.names.of(s.name), e.text(s.value))
            case AssignTuple():
                together = w.names.fresh("_results")
                struct = e.scalars.names.part(s.call.helper, "results")
                w.hold_struct(struct, together, e.text(s.call))
                for k, name in enumerate(s.names):
                    w.assign(e.names.of(name), f"{together}.r{k}")
            case Store():
                with e.reached(s) as indices:
                    w.statement(e.store(s.array, indices, e.text(s.value)))
            case Scatter():
                with e.reached(s) as indices:
                    w.statement(e.scatter(s.array, indices, e.text(s.value)))
            case Atomic():
                if s.result and e.faults and e.faults.checks(s):
                    w.assign(e.names.of(s.result), e.scalars.constant(0, s.value.type))
                with e.reached(s) as indices:
                    text = e.atomic(f"{s.op}_{s.stored}" if s.stored else s.op, s.array, indices, e.text(s.value))
                    if s.result:
                        w.assign(e.names.of(s.result), text)
                    else:
                        w.statement(text)
            case If():
                with w.when(e.text(s.condition)):
                    inside(s.body)
                if s.orelse:
                    with w.otherwise():
                        inside(s.orelse)
            case While() if e.branches(s.condition):
                with w.repeat(e.scalars.constant(True, "bool"), also):
                    with w.when(e.scalars.unary("not", "bool", e.text(s.condition))):
                        w.leave()
                    inside(s.body)
            case While():
                with w.repeat(e.text(s.condition), also):
                    inside(s.body)
            case For():
                self.count(s, inside, also)
            case CheckStep():
                if e.faults:
                    e.faults.step(s, e.text(s.step), w, e.in_helper)
            case Break():
                w.leave()
            case Continue():
                w.advance()
            case Return():
                self.give(s)
            case Accumulate():
                self.reductions.accumulate(s)
            case Reduce():
                self.reductions.serially(s, self.write)
            case NewArray():
                pass  # made at the beginning
            case _:
                raise TypeError(f"not a sequential statement of the typed tree: {s!r}")

    def count(self, s: For, inside: Callable[[Iterable[Stmt]], None], also: str) -> None:
        """A loop that the body's own assignments to its name do not change, over a number of iterations that cannot
        wrap; a step of 0 runs nothing."""
        w, e = self.writer, self.expressions
        name, of_name = e.names.of(s.name), s.start.type
        dtype = e.counter(s.start, s.stop, s.step)
        text = e.text if dtype == of_name else e.index

        def index(counter: str) -> str:
            return e.scalars.convert(counter, dtype, of_name)

        start, stop = w.hold("_start", dtype, text(s.start)), w.hold("_stop", dtype, text(s.stop))
        turn = w.names.fresh("_turn")
        if isinstance(s.step, Const) and s.step.value == 1:
            with w.count(turn, dtype, start, stop, "1", also):
                w.assign(name, index(turn))
                inside(s.body)
            return
        step, wide = w.hold("_step", dtype, text(s.step)), e.scalars.wide(dtype)
        turns = w.hold("_turns", wide, e.scalars.call("turns", dtype, start, stop, step))
        with w.count(turn, wide, e.scalars.constant(0, wide), turns, "1", also):
            moved = e.scalars.binary("*", wide, turn, e.scalars.unsigned(dtype, step))
            moved = e.scalars.binary("+", wide, e.scalars.unsigned(dtype, start), moved)
            w.assign(name, index(e.scalars.wrapped(dtype, moved)))
            inside(s.body)

    def give(self, s: Return) -> None:
        texts = [self.expressions.text(value) for value in s.values]
        if len(texts) == 1:
            self.writer.give(texts[0])
            return
        struct, together = self.results
        for k, text in enumerate(texts):
            self.writer.assign(f"{together}.r{k}", text)
        self.writer.give(together)


def declared(body: Iterable[Stmt], helpers: Mapping[str, Helper]) -> dict[str, str]:
    """The scalars that these statements set, with their dtypes."""
    found: dict[str, str] = {}
    for s in body:
        for node in walk(s):
            match node:
                case Assign():
                    found.setdefault(node.name, node.value.type)
                case Atomic(result=result) if result:
                    found[result] = node.value.type
                case AssignTuple():
                    found.update(zip(node.names, helpers[node.call.helper].types, strict=True))
                case For():
                    found.setdefault(node.name, node.start.type)
                case Reduce():
                    found |= {node.name: "int64", node.reduction.name: node.reduction.type}
                case Parallel():
                    found.update(dict.fromkeys(node.names, "int64"))
                    found.update({r.name: r.type for r in node.reductions})
    return found


class Helpers:
    """One function for each choice of arrays that a helper is called with. `functions` are their texts, callees
    first."""

    def __init__(
        self, tree: KernelTree, scalars: Scalars, contract: bool, writer: Callable[[], Writer], faults: Faults,
        limits: list,
    ):  # fmt: skip
        self.helpers = {h.name: h for h in tree.helpers}
        self.tree, self.limits = tree, limits
        self.scalars, self.contract, self.new_writer, self.faults = scalars, contract, writer, faults
        self.made: dict[tuple, str] = {}
        self.functions: list[Writer] = []
        self.structs: set[str] = set()

    def call(self, e: CallHelper, within: Expressions) -> str:
        arrays = [within.array(a) for a in e.arguments if isinstance(a, ArrayName)]
        key = (e.helper, *(a.name for a in arrays))
        if key not in self.made:
            self.made[key] = within.names.fresh(within.names.of(e.helper))
            self.write(self.made[key], self.helpers[e.helper], arrays, within)
        arguments: list[str] = []
        for a in e.arguments:
            if isinstance(a, ArrayName):
                array = within.array(a)
                arguments += [array.pointer, *array.integers] if self.scalars.dialect.has_pointers else array.integers
            else:
                arguments.append(within.text(a))
        arguments += self.faults.arguments(e, within.writer, within.in_helper)
        return f"{self.made[key]}({', '.join(arguments)})"

    def write(self, name: str, helper: Helper, given: list[Array], within: Expressions) -> None:
        w, names, parameters = self.new_writer(), within.names, []
        arrays: dict[str, Array] = {}
        for p in helper.parameters:
            if p.rank is None:
                parameters.append(w.parameter(p.type, names.of(p.name)))
                continue
            array = given.pop(0)
            pointer = names.fresh(names.of(p.name))
            own = [names.fresh(f"{pointer}_{k}") for k in range(len(array.integers))]
            if self.scalars.dialect.has_pointers:
                parameters.append(w.pointer(array.space, array.dtype, pointer, array.constant))
            else:
                pointer = array.pointer
            parameters += [w.parameter(self.scalars.index, text) for text in own]
            arrays[p.name] = array.rebound(pointer, own)
        parameters += self.faults.parameters(w)
        struct = together = ""
        if len(helper.types) > 1:
            struct, together = names.part(helper.name, "results"), names.fresh("_results")
            if struct not in self.structs:
                self.structs.add(struct)
                w.struct(struct, helper.types)
        scalars = [p.name for p in helper.parameters if p.rank is None]
        expressions = Expressions(
            self.scalars, names, arrays, self.call, self.contract, w, self.faults, True,
            Intervals(self.tree, helper.body, scalars, self.limits),
        )  # fmt: skip
        w.at = helper.at
        result = struct or self.scalars.type(helper.types[0])
        with w.function(result, name, parameters):
            for local, dtype in declared(helper.body, self.helpers).items():
                w.declare(names.of(local), dtype)
            if struct:
                w.declare_struct(struct, together)
            reductions = Reductions(w, expressions, 1, "")
            Statements(w, expressions, reductions, (struct, together)).write(helper.body)
        self.functions.append(w)
