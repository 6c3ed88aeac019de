"""Typed expressions and plain statements as Python source in which every operation is a call of a typed intrinsic, or
a construct whose type no compiler can see differently. What a backend's own lowering does differently, loops over
iterations, memory, reductions, it overrides.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterable, Iterator

from ...errors import Position
from ...ir.dtypes import COMPLEX, FLOATS, INTEGER_BITS
from ...ir.tree import (
    Accumulate,
    ArrayName,
    Assign,
    AssignTuple,
    Atomic,
    Binary,
    BoolOp,
    Break,
    Call,
    CallHelper,
    Compare,
    Const,
    Continue,
    Convert,
    Expr,
    For,
    If,
    Load,
    NewArray,
    Parallel,
    Return,
    Scatter,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    walk, product_of,
)  # fmt: skip

_BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "&": "band",
    "|": "bor",
    "^": "bxor",
    "<<": "shl",
    ">>": "shr",
}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_INTRINSIC_FUNCTIONS = {
    "min": "minimum", "max": "maximum", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint",
    "sqrt": "sqrt", "copysign": "copysign", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "sign": "sign", "where": "select", "popcount": "popcount", "clz": "clz", "conj": "conj", "real": "real",
    "imag": "imag", "abs": "absolute",
}  # fmt: skip
_SAME_FOR_INTEGERS = ("floor", "ceil", "trunc", "round", "conj", "real")
MOST = 2**63 - 1
_CHEAP = (Const, Var, Unary, Binary, Compare, BoolOp, Select, Convert)


class Names:
    """The user's names as they are, moved aside where generated Python needs the name itself."""

    def __init__(self, taken: Iterable[str], reserved: Iterable[str]):
        self.used, self.reserved = set(taken), set(reserved)
        self.moved: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self.moved:
            free = name not in self.reserved and not name.startswith("_")
            self.moved[name] = name if free else self.fresh(name.strip("_") or "v")
        return self.moved[name]

    def part(self, name: str, part: str) -> str:
        """The name of something that belongs to a name of the user's, the same each time."""
        key = f"{name}.{part}"
        if key not in self.moved:
            self.moved[key] = self.fresh(f"{name.strip('_')}_{part}")
        return self.moved[key]

    def fresh(self, base: str) -> str:
        """A name nobody has."""
        name, number = base, 1
        while name in self.used or name in self.reserved:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name


class PythonSource:
    """Lines of Python, each with the place in the user's file that it comes from."""

    def __init__(self, names: Names, contract: bool):
        self.names, self.contract = names, contract
        self.lines: list[str] = []
        self.positions: list[Position | None] = []
        self.depth = 0
        self.at: Position | None = None

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
        self.positions.append(self.at)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    # ------------------------------------------------------------------------------------------- expressions

    def constant(self, value, dtype: str) -> str:
        if dtype == "bool":
            return str(bool(value))
        if dtype in COMPLEX:
            part, value = COMPLEX[dtype], complex(value)
            return f"complex_of({self.constant(value.real, part)}, {self.constant(value.imag, part)})"
        if dtype in FLOATS:
            value = float(value)
            text = (
                repr(value)
                if value == value and abs(value) != float("inf")
                else "nan"
                if value != value
                else ("inf" if value > 0 else "-inf")
            )
            return f"{dtype}({text})"
        return f"{dtype}({int(value)})"

    def expression(self, e: Expr) -> str:
        return getattr(self, f"_{type(e).__name__.lower()}")(e)

    def _const(self, e: Const) -> str:
        return self.constant(e.value, e.type)

    def _var(self, e: Var) -> str:
        return self.names.of(e.name)

    def _unary(self, e: Unary) -> str:
        name = "neg" if e.op == "-" else "invert"
        return f"{name}({self.expression(e.operand)})"

    def _binary(self, e: Binary) -> str:
        if self.contract and e.op in "+-" and e.type in FLOATS:
            fused = self._fused(e)
            if fused:
                return fused
        if e.op in ("//", "%"):
            name = "floordiv" if e.op == "//" else "mod"
            name += f"_{e.type}" if e.type in FLOATS else "_integer"
        elif e.op == "**":
            name = f"pow_{e.type}" if e.type in FLOATS else "power_integer"
        else:
            name = _BINARY[e.op]
        return f"{name}({self.expression(e.left)}, {self.expression(e.right)})"

    def _fused(self, e: Binary) -> str | None:
        """A product and the sum that uses it, as one operation; of two products the left one."""
        for product, other, first in ((e.left, e.right, True), (e.right, e.left, False)):
            factors = product_of(product)
            if factors:
                negative, x, y = factors
                left, right, rest = self.expression(x), self.expression(y), self.expression(other)
                if negative != (e.op == "-" and not first):
                    left = f"neg({left})"
                if e.op == "-" and first:
                    rest = f"neg({rest})"
                return f"fmuladd({left}, {right}, {rest})"
        return None

    def _compare(self, e: Compare) -> str:
        return f"{_COMPARE[e.op]}({self.expression(e.left)}, {self.expression(e.right)})"

    def _boolop(self, e: BoolOp) -> str:
        left, right = self.expression(e.left), self.expression(e.right)
        if is_cheap(e.right):
            return f"{'band' if e.op == 'and' else 'bor'}({left}, {right})"
        return f"({right} if {left} else False)" if e.op == "and" else f"(True if {left} else {right})"

    def _select(self, e: Select) -> str:
        condition, then, otherwise = map(self.expression, (e.condition, e.then, e.otherwise))
        if is_cheap(e.then) and is_cheap(e.otherwise):
            return f"select({condition}, {then}, {otherwise})"
        return f"({then} if {condition} else {otherwise})"

    def _convert(self, e: Convert) -> str:
        return f"to_{e.type}({self.expression(e.operand)})"

    def _call(self, e: Call) -> str:
        dtype = e.arguments[-1].type
        arguments = [self.expression(a) for a in e.arguments]
        name, integer = e.function, dtype in INTEGER_BITS or dtype == "bool"
        if name == "abs" and dtype in COMPLEX:
            return f"abs_{dtype}({arguments[0]})"
        if integer and name in ("isnan", "isinf"):
            return "False"
        if integer and name == "isfinite":
            return "True"
        if name == "imag" and dtype not in COMPLEX:
            return self.constant(0, dtype)
        if (integer and name in _SAME_FOR_INTEGERS) or (dtype in FLOATS and name in ("conj", "real")):
            return arguments[0]
        if integer and name == "pow":
            return f"power_integer({', '.join(arguments)})"
        if name not in _INTRINSIC_FUNCTIONS:
            return f"{name}_{dtype}({', '.join(arguments)})"
        text = f"{_INTRINSIC_FUNCTIONS[name]}({', '.join(arguments)})"
        return f"to_{e.type}({text})" if name in ("popcount", "clz") and e.type != dtype else text

    def _callhelper(self, e: CallHelper) -> str:
        raise NotImplementedError

    def _load(self, e: Load) -> str:
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------- statements

    def statements(self, body: Iterable[Stmt]) -> None:
        for s in body:
            outer, self.at = self.at, s.at or self.at
            getattr(self, f"write_{type(s).__name__.lower()}")(s)
            self.at = outer

    def write_assign(self, s: Assign) -> None:
        self.line(f"{self.names.of(s.name)} = {self.expression(s.value)}")

    def write_assigntuple(self, s: AssignTuple) -> None:
        self.line(f"{', '.join(map(self.names.of, s.names))} = {self.expression(s.call)}")

    def write_if(self, s: If) -> None:
        with self.block(f"if {self.expression(s.condition)}:"):
            self.nonempty(s.body)
        if s.orelse:
            with self.block("else:"):
                self.nonempty(s.orelse)

    def nonempty(self, body: Iterable[Stmt]) -> None:
        before = len(self.lines)
        self.statements(body)
        if len(self.lines) == before:
            self.line("pass")

    def write_while(self, s: While) -> None:
        with self.block(f"while {self.expression(s.condition)}:"):
            self.nonempty(s.body)

    def write_for(self, s: For) -> None:
        """A loop over the number of iterations, so that the index cannot wrap and a step of 0 runs nothing. Neither
        may the distance from start to stop: it has up to 64 bits."""
        name, start = self.names.of(s.name), s.start.value if isinstance(s.start, Const) else None
        if isinstance(s.step, Const) and s.step.value == 1:
            first, stop = self.expression(s.start), self.expression(s.stop)
            if start is None or start < 0:
                held = first, stop = self.names.fresh("_start"), self.names.fresh("_stop")
                for place, e in zip(held, (s.start, s.stop)):
                    self.line(f"{place} = {self.expression(e)}")
                self.line(f"{stop} = select(lt({first}, {stop}), {stop}, {first})")
                beyond = f"lt(sub({stop}, {first}), int64(0))"
                self.line(f"{stop} = select({beyond}, add({first}, int64({MOST})), {stop})")
            elif start > 0:
                stop = f"maximum({stop}, {first})"
            with self.block(f"for {name} in range({first}, {stop}):"):
                self.nonempty(s.body)
            return
        first, step, turn = (self.names.fresh(base) for base in ("_start", "_step", "_turn"))
        self.line(f"{first} = {self.expression(s.start)}")
        stop = self.expression(s.stop)
        if not isinstance(s.step, Const):
            held = self.names.fresh("_stop")
            self.line(f"{held} = {stop}")
            stop = held
        self.line(f"{step} = {self.expression(s.step)}")
        with self.block(f"for {turn} in range(turns({first}, {stop}, {step})):"):
            self.line(f"{name} = add({first}, mul(to_int64({turn}), {step}))")
            self.statements(s.body)

    def write_break(self, s: Break) -> None:
        self.line("break")

    def write_continue(self, s: Continue) -> None:
        self.line("continue")

    def write_return(self, s: Return) -> None:
        self.line(f"return {', '.join(map(self.expression, s.values))}")

    def write_store(self, s: Store) -> None:
        raise NotImplementedError

    def write_atomic(self, s: Atomic) -> None:
        raise NotImplementedError

    def write_scatter(self, s: Scatter) -> None:
        raise NotImplementedError

    def write_accumulate(self, s: Accumulate) -> None:
        raise NotImplementedError

    def write_parallel(self, s: Parallel) -> None:
        raise NotImplementedError

    def write_newarray(self, s: NewArray) -> None:
        raise NotImplementedError


def is_cheap(e: Expr) -> bool:
    """Whether e may be evaluated although its value is not wanted: no memory, no loop, no long computation."""
    for node in walk(e):
        if isinstance(node, ArrayName) or not isinstance(node, (*_CHEAP, Call)):
            return False
        if isinstance(node, Call) and (node.function not in _INTRINSIC_FUNCTIONS or node.arguments[-1].type in COMPLEX):
            return False
        if isinstance(node, Binary) and (node.op == "**" or (node.op in ("//", "%") and node.type in FLOATS)):
            return False
    return True
