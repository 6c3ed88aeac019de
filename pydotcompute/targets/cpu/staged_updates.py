"""Loop distribution around updates at places that are computed from floats: histograms.

An update of an element cannot be a vector operation, and keeps what leads to its place from being one. So a block of
iterations first works out all its places, as vectors, and then does its updates, in order. Floats become whole numbers
of 32 bits, for which processors have instructions; a block in which one does not fit, or an index is outside, is done
as it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from typing import Any, TypeGuard

from ...ir.dtypes import COMPLEX, FLOATS
from ...ir.tree import (
    Assign,
    Atomic,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    Const,
    Convert,
    Expr,
    For,
    If,
    KernelTree,
    Load,
    Select,
    Stmt,
    Store,
    Var,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.expressions import Expressions, is_cheap, without_loads
from ..llvm.statements import Statements
from .arrays import itemsize
from .bodies import assigned, exposed, read
from .elements import Elements
from .stores import Stores

BLOCK = 128  # iterations
_FEW = 16  # iterations that are done as they are written
_INTEGERS = ("int32", "int64")
_ONE = Const(1, "int64")
_OLD = "element.old"
_MOST = {"float32": 1 << 24, "float64": 1 << 31}  # whole numbers below are floats, and have 32 bits


@dataclass
class Staged:
    """A loop's body. steps: what leads to the updates, of which a condition is an expression. kept: the locals that the
    updates read, and their dtypes. limits: what is to be a number of 32 bits, and in which dtype."""

    body: tuple[Stmt, ...]
    steps: list[Assign | Expr] = field(default_factory=list)
    updates: list[Atomic | Store] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    limits: list[tuple[Expr, str]] = field(default_factory=list)

    @property
    def is_conditional(self) -> bool:
        return not all(isinstance(step, Assign) for step in self.steps)


class Staging:
    """on: whether it is done at all."""

    def __init__(
        self, tree: KernelTree, expressions: Expressions, statements: Statements, elements: Elements, stores: Stores,
        on: bool,
    ):  # fmt: skip
        self.writer, self.names = elements.writer, elements.writer.names
        self.expressions, self.statements, self.elements, self.stores = expressions, statements, elements, stores
        bodies = (tree.body, *(helper.body for helper in tree.helpers))
        self.reads = Counter(n.name for body in bodies for s in body for n in walk(s) if isinstance(n, Var))
        self.aliased, self.on = {name for pair in tree.aliases for name in pair}, on
        self.block: tuple[For, For, Expr, Staged] | None = None  # a loop over a block, and over blocks; of all, its end

    def of(self, index: str, body: tuple[Stmt, ...]) -> Staged | None:
        """The body of a loop, if it is to be done so."""
        found = Staged(body)
        if not self.on or not _flatten(body, found) or not found.updates or exposed(body)[0] & assigned(body):
            return None
        terms = [e for n in found.updates for e in (*n.indices, n.value)]
        nodes = [n for e in (*found.steps, *terms) for n in walk(e)]
        updated = {n.array for n in found.updates}
        own = [n for n in nodes if isinstance(n, Load) and n.array in updated]
        arrays = [self.elements.arrays[name] for name in updated]
        atomic = any(isinstance(n, Atomic) and self._array(n).number >= 0 for n in found.updates)
        if self.stores.shared and atomic:  # next to what such an instruction takes, the rest is little
            return None
        if updated & self.aliased or len(own) > sum(isinstance(n, Store) for n in found.updates):
            return None
        if any(a.view or a.dtype in COMPLEX or itemsize(a.dtype) < 4 for a in arrays):
            return None
        if not any(map(_is_rounding, nodes)) or not all(map(_is_simple, nodes)) or index in assigned(body):
            return None
        if any(isinstance(n, Load) and n not in own and self.elements.faults.checks(n) for n in nodes):
            return None
        if not _loads_are_certain(found):
            return None
        changed = assigned(body) | {index}
        clamps = [c for n in nodes if (c := _clamped(n))]
        if any(read(last) & changed or not is_cheap(last) for _, last in clamps):
            return None
        found.limits = list(dict.fromkeys((last, operand.type) for operand, last in clamps))
        wanted = read(*map(_without_own, found.updates))
        found.kept = {s.name: s.value.type for s in found.steps if isinstance(s, Assign) and s.name in wanted}
        return None if {*COMPLEX, "bool"} & set(found.kept.values()) else found

    # ------------------------------------------------------------------------------------------------- sequential

    def sequential(self, s: For, write: Callable[[For], None]) -> bool:
        """Whether it is such a loop, and was written. write: writes a loop over blocks, in which this one stands."""
        if self.block and s is self.block[0]:
            _, outer, end, found = self.block
            first = self.writer.held("_first", f"mul({self.names.of(outer.name)}, int64({BLOCK}))")
            self._block(found, s.name, first, self.expressions.text(end))
            return True
        begins = isinstance(s.start, Const) and s.start.value == 0 and s.step == _ONE
        few = isinstance(s.stop, Const) and s.stop.whole <= BLOCK
        if self.block or not begins or few or not is_cheap(s.stop) or read(s.stop) & assigned(s.body):
            return False
        inside = Counter(n.name for inner in s.body for n in walk(inner) if isinstance(n, Var))
        left = any(self.reads[name] > inside[name] for name in (s.name, *assigned(s.body)))
        if left or not (staged := self.of(s.name, s.body)):
            return False
        before = Binary("-", Call("max", (s.stop, Const(0, "int64")), "int64"), _ONE, "int64")
        shift = Const(BLOCK.bit_length() - 1, "int64")
        blocks = Binary("+", Binary(">>", before, shift, "int64"), _ONE, "int64")
        inner = replace(s, stop=Call("min", (Const(BLOCK, "int64"), s.stop), "int64"))
        outer = For(self.names.fresh("_block"), s.start, blocks, _ONE, (inner,), at=s.at)
        self.names.bind(outer.name, outer.name)
        self.block = inner, outer, s.stop, staged
        write(outer)
        self.block = None
        return True

    # -------------------------------------------------------------------------------------------------- in blocks

    def write(self, staged: Staged, index: str, start: str, stop: str) -> None:
        """The iterations from start to stop."""
        first = self.writer.held("_first", start)
        with self.writer.while_(f"lt({first}, {stop})"):
            self.writer.assign(first, self._block(staged, index, first, stop))

    def _block(self, staged: Staged, index: str, first: str, stop: str) -> str:
        """The block that begins with an iteration, of those before `stop`; the name of the next one's first."""
        writer = self.writer
        terms = writer.held("_terms", f"minimum(sub({stop}, {first}), int64({BLOCK}))")
        last, odd = writer.held("_last", f"add({first}, {terms})"), writer.held("_odd", "int32(1)")
        alike: dict[Any, str] = {}
        for n in staged.updates:
            if (key := self._place(staged, n)) not in alike:
                alike[key] = writer.held("_places", f"stack_int64({BLOCK})")
        places = [alike[self._place(staged, n)] for n in staged.updates]
        nowhere = [f"stack_{self._array(n).dtype}({BLOCK})" for n in staged.updates]
        nowhere = [writer.held("_nowhere", memory) for memory in nowhere if staged.is_conditional]
        kept = {name: writer.held("_kept", f"stack_{dtype}({BLOCK})") for name, dtype in staged.kept.items()}
        limits = [f"within({self.expressions.text(e)}, int64({_MOST[dtype]}))" for e, dtype in staged.limits]
        with writer.if_(reduce("band({}, {})".format, [f"gt({terms}, int64({_FEW}))", *limits])):
            writer.assign(odd, "int32(0)")
            with self._iterations(index, first, terms, "independent()") as k:
                self._stage(staged, k, odd, places, nowhere, kept)
        with writer.if_(f"eq({odd}, int32(0))"), self._iterations(index, first, terms) as k:
            for name, memory in kept.items():
                writer.assign(self.names.of(name), f"load_local({memory}, {k})")
            for n, memory in zip(staged.updates, places):
                place = writer.held("_place", f"load_local({memory}, {k})")
                with writer.from_position(n.at or writer.at):
                    self._update(n, place)
        with writer.else_(), writer.for_(self.names.of(index), first, last):
            writer.line("rare()")
            with self.statements.iteration():
                self.statements.write(staged.body)
        return last

    @contextmanager
    def _iterations(self, index: str, first: str, terms: str, mark: str = "") -> Iterator[str]:
        k = self.names.fresh("_k")
        with self.writer.for_(k, "int64(0)", terms):
            if mark:
                self.writer.line(mark)
            self.writer.assign(self.names.of(index), f"add({first}, {k})")
            yield k

    def _stage(
        self, staged: Staged, k: str, odd: str, places: list[str], nowhere: list[str], kept: dict[str, str]
    ) -> None:
        """The places of one iteration's updates: where none is to be, one that nobody reads."""
        writer, write = self.writer, self.expressions.text
        conditions: list[str] = []

        def holds(condition: str) -> str:
            return reduce(lambda a, b: f"band({a}, {b})", [*conditions, condition])

        def unless(condition: str) -> None:
            writer.assign(odd, f"bor({odd}, select({holds(f'invert({condition})')}, int32(1), int32(0)))")

        def convert(e: Convert) -> str:
            if not _is_rounding(e):
                return usual(e)
            number = writer.held("_number", write(e.operand))
            unless(f"fits_int32({number})")
            return f"to_{e.type}(whole_int32({number}))"

        def call(e: Call) -> str:
            if not (clamped := _clamped(e)):
                return usual_call(e)
            operand, last = clamped
            dtype = operand.type
            number, last_ = writer.held("_number", write(operand)), f"to_{dtype}({write(last)})"
            number = writer.held("_number", f"select(gt({number}, {dtype}(0.0)), {number}, {dtype}(0.0))")
            return f"to_int64(whole_int32(select(lt({number}, {last_}), {number}, {last_})))"

        forms, is_certain = self.expressions.forms, self.expressions.is_certain
        usual, usual_call = forms[Convert], forms[Call]
        self.expressions.forms = {**forms, Convert: convert, Call: call}
        self.expressions.is_certain = lambda e: True  # what is loaded here is, in every iteration
        for step in staged.steps:
            with writer.from_position(step.at or writer.at):
                if isinstance(step, Assign):
                    self.statements.assign(step)
                else:
                    conditions.append(writer.held("_condition", write(step)))
        for n, memory, none in zip_longest(staged.updates, places, nowhere):
            array, indices = self._array(n), [writer.held("_index", write(e)) for e in n.indices]
            if self.elements.faults.checks(n):
                for index, extent in zip(indices, array.extents):
                    unless(f"within({index}, {extent})")
            place = array.offset(indices)
            if conditions:  # each its own: an update waits for the last one of the same element
                apart, size = f"sub(address({none}), address({array.pointer}))", itemsize(array.dtype)
                if array.access == "_bytes":
                    apart = f"at({k}, int64({size}), {apart})"
                else:
                    apart = f"add(shr({apart}, int64({size.bit_length() - 1})), {k})"
                place = f"select({reduce('band({}, {})'.format, conditions)}, {place}, {apart})"
            writer.line(f"store_local({memory}, {k}, {place})")
        for name, memory in kept.items():
            writer.line(f"store_local({memory}, {k}, {self.names.of(name)})")
        self.expressions.forms, self.expressions.is_certain = forms, is_certain

    def _update(self, n: Atomic | Store, place: str) -> None:
        array = self._array(n)
        if isinstance(n, Atomic):
            return self.stores.update(n, array, place, self.expressions.text(n.value))
        old = self.writer.held("_old", f"load{array.access}({array.pointer}, {place})")
        self.names.bind(_OLD, old)
        value = self.expressions.text(_without_own(n))
        self.writer.line(f"store{array.access}({array.pointer}, {place}, {value})")

    def _place(self, staged: Staged, n: Atomic | Store) -> Any:
        """What the number of its place depends on."""
        array = self._array(n)
        return n if staged.is_conditional else (n.indices, array.extents[1:], array.strides)

    def _array(self, n: Atomic | Store) -> Any:
        return self.elements.arrays[n.array]


def _flatten(body: Iterable[Stmt], found: Staged) -> bool:
    """Whether it is assignments and conditions with updates at the end, which are then `found`."""
    rest = list(body)
    while rest:
        match rest.pop(0):
            case Assign() as s if not found.updates:
                found.steps.append(s)
            case If(orelse=()) as s if not rest and not found.updates:
                found.steps.append(s.condition)
                rest = list(s.body)
            case Atomic(result="", stored="") as s:
                found.updates.append(s)
            case Store(array=array, indices=indices, value=Binary(left=Load(array=old, indices=same))) as s if (
                old == array and same == indices
            ):
                found.updates.append(s)
            case _:
                return False
    return True


def _without_own(n: Atomic | Store) -> Expr:
    """The value of an update, in which a name stands for the element."""
    own = Load(n.array, n.indices, n.value.type)

    def replaced(node: Any) -> Any:
        return Var(_OLD, own.type) if node == own else rebuilt(node, replaced)

    return replaced(n.value) if isinstance(n, Store) else n.value


def _is_rounding(e: object) -> TypeGuard[Convert]:
    return isinstance(e, Convert) and e.type in _INTEGERS and e.operand.type in FLOATS


def _clamped(e: object) -> tuple[Expr, Expr] | None:
    """The float and the limit of `min(max(int64(float), 0), limit)`, in any order."""
    match e:
        case Call("min", (one, other), "int64"):
            for inner, last in ((one, other), (other, one)):
                match inner:
                    case Call("max", (number, Const(value=0)) | (Const(value=0), number)) if _is_rounding(number):
                        return number.operand, last
    return None


def _is_simple(n: object) -> bool:
    """Whether it may be evaluated where no condition says so, but for loads."""
    if isinstance(n, Select):
        return is_cheap(n.then) and is_cheap(n.otherwise)
    return not isinstance(n, CallHelper) and not (isinstance(n, BoolOp) and not is_cheap(without_loads(n.right)))


def _loads_are_certain(found: Staged) -> bool:
    """Whether no load stands behind a condition, but for those that also stand before it, and the updates' own."""
    certain: set[Load] = set()

    def are_certain(e: Expr, conditional: bool) -> bool:
        if isinstance(e, BoolOp):
            return are_certain(e.left, conditional) and are_certain(e.right, True)
        loads = {n for n in walk(e) if isinstance(n, Load)}
        if conditional or any(isinstance(n, BoolOp) for n in walk(e)):
            return loads <= certain
        certain.update(loads)
        return True

    conditional = False
    for step in found.steps:
        if not are_certain(step.value if isinstance(step, Assign) else step, conditional):
            return False
        conditional |= not isinstance(step, Assign)
    return all(are_certain(e, conditional) for n in found.updates for e in (*n.indices, _without_own(n)))
