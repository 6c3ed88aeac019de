"""The phases of a kernel: its parallel loops, each finished before what follows it; and for devices, where a phase is a
launch, the kernel as several kernels and the control around them, which the host follows.

What happens once between two loops is a kernel of one thread. Scalars that one of these kernels sets and another one
reads lie in memory, as outputs without dimensions do. Integers that follow from arguments and dimensions alone are the
host's: every kernel that reads one gets its value at the launch, as a dimension. Where other values decide about
phases, a kernel computes what does, and the host waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import inf
from typing import Any, NamedTuple

from ..artifact.dimensions import Operation, Tree, data
from ..artifact.signature import DTYPE_BYTES, Parameter
from ..ir.effects import arrays_changed, arrays_read
from ..ir.names import all_names
from ..ir.tree import (
    Assign,
    BoolOp,
    Break,
    CheckStep,
    Compare,
    Const,
    Continue,
    Convert,
    Expr,
    For,
    If,
    KernelTree,
    Load,
    NewArray,
    Parallel,
    Stmt,
    Store,
    Unary,
    Update,
    Var,
    While,
    children,
    rebuilt,
    walk,
)  # fmt: skip
from .counts_before import with_counts_before
from .geometry import assigned, expression
from .host_counters import with_own_counters


def phases_of(tree: KernelTree) -> list[Parallel]:
    """The loops over grid or blocks, in the order of the text."""
    return [n for s in tree.body for n in walk(s) if _is_phase(n)]


class Split(NamedTuple):
    """kernels: of one parallel loop each, with what its reduction starts from before it and where the result is kept
    after it. program: see artifact/launch.py. kept: by scalar or array of the call, the parameter of these kernels that
    holds it. shapes: of those arrays, as a call knows them."""

    kernels: tuple[KernelTree, ...]
    program: list[Any]
    kept: dict[str, Parameter]
    shapes: dict[str, tuple[Tree, ...]]

    @property
    def sizes(self) -> tuple[Tree, ...]:
        """The bytes of each parameter that is kept."""

        def product(n: Tree, m: Tree) -> Tree:
            return Operation("*", (n, m if isinstance(m, int) else Operation("max", (m, 0))))

        return tuple(
            reduce(product, (DTYPE_BYTES[p.dtype], *self.shapes.get(p.name, ()))) for p in self.kept.values()
        )

    @property
    def names(self) -> set[str]:
        """Every name of the kernels."""
        return set().union(*(all_names(kernel) | {kernel.name} for kernel in self.kernels))

    def launches(
        self, launches: Sequence[Sequence[dict[str, Any]]], arguments: Sequence[Sequence[tuple]], scratch: int
    ) -> tuple[tuple[dict[str, Any], ...], tuple[Any, ...]]:
        """The launches of all kernels, out of those of each, with its arguments, and the program over them; `scratch`
        is how many scratch arrays come before those that hold scalars."""
        number = {p.name: scratch + k for k, p in enumerate(self.kept.values())}
        places = {name: number[p.name] for name, p in self.kept.items()}
        whole: list[dict[str, Any]] = []
        steps: list[list[Any]] = []
        for own, given in zip(launches, arguments, strict=True):
            passed = [_of_kept(a, number) for a in given]
            steps.append([["launch", len(whole) + k] for k in range(len(own))])
            whole += [{**one, "arguments": passed} for one in own]
        return tuple(whole), tuple(_numbered(self.program, steps, places))


def _of_kept(argument: tuple, number: Mapping[str, int]) -> list[Any]:
    """An argument of one of the kernels: a scalar that is kept lies in scratch, from its start."""
    kind, name, *_ = argument
    if name not in number:
        return list(argument)
    return ["scratch", number[name]] if kind == "data" else ["start", 0]


def _numbered(program: Iterable[Any], steps: Sequence[list[Any]], places: Mapping[str, int]) -> list[Any]:
    """The program with the launches of each kernel in its place, and where scalars lie that it reads."""
    done: list[Any] = []
    for step in program:
        if step[0] == "launch":
            done += steps[step[1]]
        elif step[0] == "read":
            done.append([*step, places[step[1]]])
        else:
            inside = {"if": 2, "while": 2, "for": 5}.get(step[0], len(step))
            done.append([*step[:inside], *(_numbered(part, steps, places) for part in step[inside:])])
    return done


def split(tree: KernelTree) -> Split | None:
    """A kernel of several phases, or with stores beside its one; None for any other: scalars, one parallel loop and,
    where that is a reduction, what happens once after it."""
    tree = with_counts_before(tree)
    return None if _is_plain(tree) else _Splitting(tree).result()


def _is_phase(n: Any) -> bool:
    return isinstance(n, Parallel) and n.kind != "threads"


def _has_phase(s: Stmt) -> bool:
    return any(_is_phase(n) for n in walk(s))


def _is_plain(tree: KernelTree) -> bool:
    main = tree.main
    if main is None or len(phases_of(tree)) != 1 or any(a.kind == "call" for a in tree.arrays.values()):
        return False
    where = tree.body.index(main)
    before, after = tree.body[:where], tree.body[where + 1 :]
    changing = arrays_changed(*tree.body)
    if any(arrays_read(s) & changing for s in before):
        return False
    if any(isinstance(n, (Update, CheckStep)) for s in before for n in walk(s)):
        return False
    return not after or bool(main.reductions)


def _jumps(s: Any, inside: bool = False) -> bool:
    """Whether a statement leaves or goes on with a loop around it."""
    if isinstance(s, (Break, Continue)):
        return not inside
    return any(_jumps(n, inside or isinstance(s, (For, While, Parallel))) for n in children(s) if isinstance(n, Stmt))


def _is_control(s: Stmt) -> bool:
    """Whether the host has to follow it: it has phases inside, or decides about a loop that has."""
    return isinstance(s, (If, For, While)) and (_has_phase(s) or _jumps(s))


def _data(tree: Tree | None) -> Any:
    assert tree is not None  # what the host knows, it computes
    return data(tree)


def _sets(s: Stmt) -> set[str]:
    """The scalars that one statement of the sequential program sets."""
    if isinstance(s, Parallel):
        return {r.name for r in s.reductions}
    return set() if _is_control(s) else assigned((s,))


def _known(e: Expr, known: Mapping[str, Tree | None]) -> Tree | None:
    """An integer or a condition as the host computes it; None if it cannot."""
    return _condition(e, known) if e.type == "bool" else expression(e, known)


def _condition(e: Expr, known: Mapping[str, Tree | None]) -> Tree | None:
    match e:
        case Compare(op=op, left=left, right=right) if "float" in left.type:
            operands = [_real(left, known), _real(right, known)]
        case BoolOp(op=op, left=left, right=right):
            operands = [_condition(left, known), _condition(right, known)]
        case Unary(op="not" as op, operand=operand):
            operands = [_condition(operand, known)]
        case Const() | Var() | Compare():
            return expression(e, known)
        case _:
            return None
    parts = [part for part in operands if part is not None]
    return Operation(op, tuple(parts)) if len(parts) == len(operands) else None


def _real(e: Expr, known: Mapping[str, Tree | None]) -> Tree | None:
    """A float that the call gives or the text, as the host has it, which is exact in each type."""
    match e:
        case Const(value=int() | float() as value) if abs(value) < inf:
            return float(value)
        case Var(name=name):
            return known.get(name)
        case Convert(operand=operand) if "float" in operand.type and DTYPE_BYTES[operand.type] < DTYPE_BYTES[e.type]:
            return _real(operand, known)
    return None


class _Splitting:
    def __init__(self, tree: KernelTree):
        self.tree = tree
        self.decisive: dict[str, str] = {}  # what a kernel computes and the host reads → its type
        self.taken = all_names(tree) | {tree.name}
        self.kernels: list[tuple[Stmt, ...]] = []
        self.known: dict[str, Tree | None] = {s: s for s in tree.symbols}
        for p in tree.parameters:
            if not p.in_memory and not p.dtype.startswith("complex"):
                self.known[p.name] = p.name
        self.hosts = self._hosts()
        if lost := {n.name for s in tree.body for n in walk(s) if isinstance(n, For) and _has_phase(n)} - self.hosts:
            self.tree = with_own_counters(tree, lost, _has_phase, self.unique)
            self.hosts = self._hosts()
        self.of_call = [a for a in tree.arrays.values() if a.kind == "call"]
        self.lengths: dict[str, Tree] = {}  # what the host works out for the extents of such arrays
        self.extents = {a.name: tuple(map(self.extent, a.shape)) for a in self.of_call}
        self.hosts |= self.lengths.keys()
        self.known |= {name: name for name in self.hosts}

    def unique(self, base: str) -> str:
        name, number = base, 1
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name

    def extent(self, n: Tree) -> Tree:
        if isinstance(n, int):
            return n
        name = self.unique("length")
        self.lengths[name] = n
        return name

    # ------------------------------------------------------------------------------------------ whose a scalar is

    def _hosts(self) -> set[str]:
        """The scalars that the host can compute: all that is assigned to them follows from what it knows."""
        assignments: dict[str, list[tuple[Expr, ...]]] = {}
        others: set[str] = set()

        def look(body: Iterable[Stmt]) -> None:
            for s in body:
                if isinstance(s, Assign):
                    assignments.setdefault(s.name, []).append((s.value,))
                elif _is_control(s):
                    if isinstance(s, For):  # the host counts, whatever the bounds are
                        assignments.setdefault(s.name, []).append(())
                    look(getattr(s, "body", ()))
                    look(getattr(s, "orelse", ()))
                else:
                    others.update(assigned((s,)))

        look(self.tree.body)
        types = {n: self.tree.locals.get(n, "") for n in assignments.keys() - others}
        hosts = {n for n, dtype in types.items() if ("int" in dtype or dtype == "bool") and dtype != "uint64"}
        while True:
            known = self.known | {name: name for name in hosts}
            left = {n for n in hosts if all(_known(e, known) is not None for es in assignments[n] for e in es)}
            if left == hosts:
                return hosts
            hosts = left

    def decided(self, *values: Expr) -> tuple[list[Any], list[Any]]:
        """Bounds of a loop or a condition: the steps after which the host knows them, and what they are then."""
        known = [_known(e, self.known) for e in values]
        waited = {k: self.unique("decides") for k, tree in enumerate(known) if tree is None}
        if not waited:
            return [], list(map(_data, known))
        self.decisive |= {name: values[k].type for k, name in waited.items()}
        body = tuple(Assign(name, values[k], at=values[k].at) for k, name in waited.items())
        steps = [["launch", self.add(body)], *(["read", name, values[k].type] for k, name in waited.items())]
        return steps, [_data(waited.get(k, tree)) for k, tree in enumerate(known)]

    # -------------------------------------------------------------------------------------------------- the steps

    def result(self) -> Split:
        program = [["set", name, data(Operation("max", (n, 0)))] for name, n in self.lengths.items()]
        program += self.steps(self.tree.body)
        reads = [{n.name for s in body for n in walk(s) if isinstance(n, Var)} for body in self.kernels]
        for k, body in enumerate(self.kernels):
            reads[k] |= {r.name for s in body if isinstance(s, Parallel) for r in s.reductions if r.start is None}
        own = {n for s in self._sequential(self.tree.body) for n in _sets(s)} & self.tree.locals.keys() - self.hosts
        kept = {n: self.tree.locals[n] for n in sorted(own & set().union(*reads))} | self.decisive
        places = {n: Parameter(self.unique(f"{n}_kept"), dtype, None, "temp") for n, dtype in kept.items()}
        places |= {a.name: Parameter(a.name, a.dtype, self.extents[a.name], "temp") for a in self.of_call}
        kernels = [
            self.kernel(self.unique(f"{self.tree.name}_{k + 1}"), body, reads[k] & own, places)
            for k, body in enumerate(self.kernels)
        ]
        return Split(tuple(kernels), program, places, {a.name: a.shape for a in self.of_call})

    def _sequential(self, body: Iterable[Stmt]) -> Iterator[Stmt]:
        """The parallel loops, and the statements outside of them."""
        for s in body:
            yield s
            if _is_control(s):
                yield from self._sequential((*getattr(s, "body", ()), *getattr(s, "orelse", ())))

    def steps(self, body: Iterable[Stmt]) -> list[Any]:
        steps: list[Any] = []
        once: list[Stmt] = []

        def flush() -> None:
            if once:
                steps.append(["launch", self.add(tuple(once))])
                once.clear()

        for s in (s for s in body if not isinstance(s, NewArray)):
            if isinstance(s, Assign) and s.name in self.hosts:
                flush()  # what stands before it may read the value that it had
                steps.append(["set", s.name, _data(_known(s.value, self.known))])
            elif _is_phase(s) or _is_control(s) or isinstance(s, (Break, Continue)):
                flush()
                steps += self.step(s)
            else:
                once.append(s)
        flush()
        return steps

    def step(self, s: Stmt) -> list[Any]:
        """A phase, or control around phases."""
        match s:
            case If():
                before, (condition,) = self.decided(s.condition)
                return [*before, ["if", condition, self.steps(s.body), self.steps(s.orelse)]]
            case While():
                before, (condition,) = self.decided(s.condition)
                inside = self.steps(s.body)
                if before:
                    return [["while", True, [*before, ["if", condition, [], [["break"]]], *inside]]]
                return [["while", condition, inside]]
            case For():
                before, bounds = self.decided(s.start, s.stop, s.step)
                return [*before, ["for", s.name, *bounds, self.steps(s.body)]]
            case Break():
                return [["break"]]
            case Continue():
                return [["continue"]]
        return [["launch", self.add((s,))]]

    def narrowed(self, node: Any) -> Any:
        """The same with what the host knows, of which a kernel is given 64 bits, in the type that it has there."""
        if isinstance(node, Var) and node.name in self.hosts and node.type != "int64":
            return Convert(replace(node, type="int64"), node.type)
        return rebuilt(node, self.narrowed)

    def add(self, body: tuple[Stmt, ...]) -> int:
        self.kernels.append(body)
        return len(self.kernels) - 1

    def kernel(
        self, name: str, body: tuple[Stmt, ...], reads: set[str], places: dict[str, Parameter]
    ) -> KernelTree:
        """One of the kernels: a parallel loop, or what happens once."""
        locals_ = {name: dtype for name, dtype in self.tree.locals.items() if name not in self.hosts} | self.decisive
        loads: list[Stmt] = [
            Assign(n, Load(places[n].name, (), places[n].dtype)) for n in sorted(reads) if n in places
        ]
        sets = {n for s in body for n in _sets(s)} - {a.name for a in self.of_call}  # which lie there anyway
        stores: list[Stmt] = [
            Store(places[n].name, (), Var(n, places[n].dtype)) for n in sorted(sets) if n in places
        ]
        whole: tuple[Stmt, ...]
        if _is_phase(body[0]):
            whole = (*loads, *body, *stores)
        else:
            index = self.unique("once")
            locals_[index] = "int64"
            # What may not be set is loaded before it is stored again.
            before = [
                Assign(n, Load(places[n].name, (), places[n].dtype)) for n in sorted(sets - reads) if n in places
            ]
            inside = (*loads, *before, *body, *stores)
            whole = (Parallel("grid", (index,), (Const(1, "int64"),), inside, at=body[0].at),)
        whole = tuple(map(self.narrowed, whole))
        made = {n.name for s in body for n in walk(s) if isinstance(n, NewArray) and n.kind != "call"}
        return replace(
            self.tree,
            name=name,
            parameters=(*self.tree.parameters, *(p for p in places.values())),
            symbols=(*self.tree.symbols, *sorted(self.hosts)),
            locals=locals_,
            arrays={name: a for name, a in self.tree.arrays.items() if name in made},
            body=whole,
        )
