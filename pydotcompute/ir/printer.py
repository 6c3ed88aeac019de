"""A typed tree as readable pseudo-Python, for tests and debugging: every conversion and every local's type stands
there. Constants carry their type where it is not their own: 0.5:float32."""

from __future__ import annotations

from collections.abc import Iterator

from ..artifact.dimensions import Tree
from ..errors import Position
from . import tree as t

Line = tuple[str, Position | None]  # and where the user wrote it


def text(tree: t.KernelTree) -> str:
    """The whole tree: helpers, then the kernel with the types of its names."""
    return "".join(line + "\n" for line, _ in lines(tree))


def lines(tree: t.KernelTree) -> list[Line]:
    """Those of `text`."""
    found: list[Line] = []
    for helper in tree.helpers:
        parameters = ", ".join(f"{p.name}: {p.type}{_colons(p.rank)}" for p in helper.parameters)
        found.append((f"def {helper.name}({parameters}) -> {', '.join(helper.types)}:", None))
        found += _block(helper.body, 1)
    parameters = ", ".join(f"{p.name}: {p.dtype}{_colons(p.rank if p.is_array else None)}" for p in tree.parameters)
    found.append((f"def {tree.name}({parameters}):", None))
    found += [(f"    {name}: {dtype}", None) for name, dtype in sorted(tree.locals.items())]
    return [*found, *_block(tree.body, 1)]


def _colons(rank: int | None) -> str:
    return "" if rank is None else f"[{', '.join(':' * rank)}]"


def statements(body: tuple[t.Stmt, ...]) -> str:
    return "".join(line + "\n" for line, _ in _block(body, 0))


def _block(body: tuple[t.Stmt, ...], depth: int) -> Iterator[Line]:
    if not body:
        yield "    " * depth + "pass", None
    for s in body:
        yield "    " * depth + _head(s), s.at
        if isinstance(s, (t.If, t.While, t.For, t.Parallel, t.Reduce)):
            yield from _block(s.body, depth + 1)
        if isinstance(s, t.If) and s.orelse:
            yield "    " * depth + "else:", s.at
            yield from _block(s.orelse, depth + 1)


def _head(s: t.Stmt) -> str:
    """A statement without the statements in it."""
    match s:
        case t.Assign():
            return f"{s.name} = {expression(s.value)}"
        case t.AssignTuple():
            return f"{', '.join(s.names)} = {expression(s.call)}"
        case t.Store():
            return f"{_element(s)} = {expression(s.value)}"
        case t.Atomic():
            given = f"{s.result} = " if s.result else ""
            return f"{given}atomic {_element(s)} {s.op} {expression(s.value)}"
        case t.Scatter():
            return f"scatter {_element(s)} = {expression(s.value)}"
        case t.If():
            return f"if {expression(s.condition)}:"
        case t.While():
            return f"while {expression(s.condition)}:"
        case t.For():
            return f"for {s.name} in range({', '.join(map(expression, (s.start, s.stop, s.step)))}):"
        case t.CheckStep():
            return f"check step {expression(s.step)}"
        case t.Break():
            return "break"
        case t.Continue():
            return "continue"
        case t.Return():
            return f"return {', '.join(map(expression, s.values))}"
        case t.Accumulate():
            return f"{s.name} <{s.op}> {expression(s.value)}"
        case t.Parallel():
            counts = ", ".join(_count(c, r) for c, r in zip(s.counts, s.ranges or (None,) * len(s.counts)))
            reduced = "".join(f", {reduction(r)}" for r in s.reductions)
            return f"for {', '.join(s.names)} in {s.kind}({counts}){reduced}:"
        case t.Reduce():
            return f"for {s.name} in range({_count(s.count, s.range)}), {reduction(s.reduction)}:"
        case t.NewArray():
            return f"{s.name} = {s.kind}({_shape(s.shape)}, {s.dtype})"
    raise TypeError(f"no statement of the typed tree: {s!r}")


def _shape(shape: tuple[Tree, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _count(count: t.Expr, over: t.Range | None) -> str:
    if over is None:
        return expression(count)
    step = f", {expression(over.step)}" if over.step != t.Const(1, "int64") else ""
    return f"({expression(over.start)}, {expression(over.stop)}{step})"


def reduction(r: t.Reduction) -> str:
    start = f" from {expression(r.start)}" if r.start is not None else ""
    compared = f" of {r.operand_type}" if r.operand_type != r.type else ""
    return f"{'scan ' if r.scan else ''}{r.op} {r.name}: {r.type}{compared}{start}"


def _element(node: t.Load | t.Store | t.Atomic | t.Scatter) -> str:
    return f"{node.array}[{', '.join(map(expression, node.indices)) or '()'}]"


def expression(e: t.Expr | t.ArrayName) -> str:
    """One expression, fully bracketed."""
    match e:
        case t.Const():
            own = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(e.value)]
            return repr(e.value) if own == e.type else f"{e.value!r}:{e.type}"
        case t.Var() | t.ArrayName():
            return e.name
        case t.Load():
            return _element(e)
        case t.Unary():
            return f"({e.op}{' ' if e.op == 'not' else ''}{expression(e.operand)})"
        case t.Binary() | t.Compare() | t.BoolOp():
            return f"({expression(e.left)} {e.op} {expression(e.right)})"
        case t.Select():
            return f"({expression(e.then)} if {expression(e.condition)} else {expression(e.otherwise)})"
        case t.Convert():
            return f"{e.type}({expression(e.operand)})"
        case t.Call():
            return f"{e.function}({', '.join(map(expression, e.arguments))})"
        case t.CallHelper():
            return f"{e.helper}({', '.join(map(expression, e.arguments))})"
    raise TypeError(f"no expression of the typed tree: {e!r}")
