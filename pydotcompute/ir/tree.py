"""The typed tree: what every backend, the analyses and the interpreter get. Nothing in it is left to infer.

Every expression has a `type`, a dtype name ("float32"); the operands of an operation have the type it is done in,
and each conversion is a `Convert`. Names are unique in a kernel and have one type each. Dimension symbols, params
met alone and loop indices are int64. `at` is where the user wrote it, or None for what the lowering added.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, TypeVar

from ..artifact.dimensions import Tree
from ..artifact.signature import Parameter
from ..errors import Position


@dataclass(frozen=True, kw_only=True)
class Node:
    at: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class _Indexed(Node):
    inside: bool = field(default=False, compare=False, repr=False)  # proved to be within the array, see analysis/inside
    proved: tuple[bool, ...] = field(default=(), compare=False, repr=False)  # which indices are, where not all are
    known: bool = field(default=False, compare=False, repr=False)  # the last index is, as whoever wrote it knows


@dataclass(frozen=True, eq=False)
class Const(Node):
    value: bool | int | float | complex  # already a value of `type`; inf and nan are floats
    type: str

    @property
    def whole(self) -> int:
        """The value of a bool or an integer."""
        assert isinstance(self.value, int)
        return self.value

    @property
    def real(self) -> int | float:
        """The value of what is not complex."""
        assert not isinstance(self.value, complex)
        return self.value

    def __eq__(self, other: object) -> bool:
        # By what is written: 0.0 is not -0.0, and nan is nan.
        return isinstance(other, Const) and self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True)
class Var(Node):
    """A scalar: an argument, a dimension symbol, a loop index or a local."""

    name: str
    type: str


@dataclass(frozen=True)
class Load(_Indexed):
    array: str
    indices: tuple[Expr, ...]  # int64, one for each dimension the kernel sees; none for an output scalar
    type: str


@dataclass(frozen=True)
class Unary(Node):
    op: str  # "-" "~" "not"
    operand: Expr
    type: str


@dataclass(frozen=True)
class Binary(Node):
    op: str  # "+" "-" "*" "/" "//" "%" "**" "&" "|" "^" "<<" ">>"
    left: Expr
    right: Expr
    type: str  # also that of both operands


@dataclass(frozen=True)
class Compare(Node):
    op: str  # "<" "<=" ">" ">=" "==" "!="; a chain is a BoolOp of these: middle terms stand twice, they have no effects
    left: Expr
    right: Expr  # of the same type as left
    type: str = "bool"


@dataclass(frozen=True)
class BoolOp(Node):
    op: str  # "and" "or", short-circuit
    left: Expr
    right: Expr
    type: str = "bool"


@dataclass(frozen=True)
class Select(Node):
    """`then if condition else otherwise`: only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: str


@dataclass(frozen=True)
class Convert(Node):
    operand: Expr
    type: str  # the rules of language.md 6: float → int truncates and saturates, → bool is != 0


@dataclass(frozen=True)
class Call(Node):
    """A listed function: `abs min max floor … clz`; its arguments have the type it is computed in.

    `min` and `max` have two arguments (more are nested). `isnan isinf isfinite` give bool, `abs real imag` of a
    complex its real type, `where(c, a, b)` takes a bool first and evaluates all three. `complex_of(re, im)`, which the
    language writes `complex64(re, im)`, makes a complex number of two floats.
    """

    function: str
    arguments: tuple[Expr, ...]
    type: str


@dataclass(frozen=True)
class CallHelper(Node):
    """A call of a helper that returns one scalar. Arrays are passed as `ArrayName`."""

    helper: str
    arguments: tuple[Expr | ArrayName, ...]
    type: str


@dataclass(frozen=True)
class ArrayName(Node):
    name: str


Expr = Const | Var | Load | Unary | Binary | Compare | BoolOp | Select | Convert | Call | CallHelper


@dataclass(frozen=True)
class Assign(Node):
    name: str
    value: Expr


@dataclass(frozen=True)
class AssignTuple(Node):
    """`a, b = helper(…)` for a helper that returns a tuple. A tuple swap is plain assignments through locals."""

    names: tuple[str, ...]
    call: CallHelper  # its type is that of the first


@dataclass(frozen=True)
class Store(_Indexed):
    """`array[indices] = value`; `x[i] += e` is a Store of a Binary of a Load."""

    array: str
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True)
class Atomic(_Indexed):
    op: str  # "add" "min" "max"
    array: str
    indices: tuple[Expr, ...]
    value: Expr
    result: str = ""  # the local that gets what the element held before, if any
    stored: str = ""  # float16 or bfloat16, where elements are stored so: value and result are float32


@dataclass(frozen=True)
class Scatter(_Indexed):
    """A store at which iterations may meet: of the values one stays, whole up to 8 bytes, of complex128 each part."""

    array: str
    indices: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True)
class If(Node):
    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class While(Node):
    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class For(Node):
    """A sequential `for name in range(start, stop, step)`. Python's: `name` may be set in the body without effect
    on the loop, and keeps its last value after it. The three are evaluated once; a step of 0 runs nothing."""

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class CheckStep(Node):
    step: Expr  # int64, of the loop that follows: it is a fault of the program, a ValueError, if it is 0


@dataclass(frozen=True)
class Break(Node):
    pass


@dataclass(frozen=True)
class Continue(Node):
    """Of the innermost For, While or Parallel."""


@dataclass(frozen=True)
class Return(Node):
    """Only at the end of a helper, or of a branch of it: `values` are its results."""

    values: tuple[Expr, ...]


@dataclass(frozen=True)
class Accumulate(Node):
    """One update of the reduction `name` of the enclosing Parallel, possibly under If; of a scan the only one.

    ops: sum prod min max any all and or xor argmin argmax. For sum and prod `value` has the reduction's type
    (`s -= e` is a sum of -e). For argmin and argmax the position is the iteration's number in the loop.
    """

    name: str
    op: str
    value: Expr


@dataclass(frozen=True)
class Reduction:
    """Before the loop: the local `name`, or what `start` says, holds the value it starts from. After: the result.

    `start` None: `name` was assigned before and counts once. The functional form `m = max(…)` is an accumulator
    that starts from the identity: `start` is that Const; argmin/argmax start at -1, which means "none yet".
    """

    name: str
    op: str
    type: str  # of the result; argmin and argmax: int64
    start: Const | None
    operand_type: str  # of the values compared by argmin and argmax; else `type`
    scan: bool = False  # the loop reads it too: what iterations before this one have accumulated


@dataclass(frozen=True)
class Range(Node):
    """What an index runs over, as For's: int64 expressions over what the loop's body does not change."""

    start: Expr
    stop: Expr
    step: Expr


@dataclass(frozen=True)
class Parallel(Node):
    kind: str  # "grid" "blocks" "threads"
    names: tuple[str, ...]  # one index a count, outermost first; iteration order is row-major
    counts: tuple[Expr, ...]  # of iterations: int64; a negative one counts as 0
    body: tuple[Stmt, ...]
    reductions: tuple[Reduction, ...] = ()
    ranges: tuple[Range | None, ...] = ()  # one a count: None for an index that starts from 0; empty if all do


@dataclass(frozen=True)
class Reduce(Node):
    """`sum(e for name in range(…) if …)` and its like: a sequential loop that gives one value, in any association.

    The body ends in the Accumulate of `reduction`, possibly under If; it sets locals of its own and stores nothing."""

    name: str
    count: Expr  # of iterations: int64; a negative one counts as 0
    body: tuple[Stmt, ...]
    reduction: Reduction
    range: Range | None = None  # None: from 0

    MOST_TERMS = 8  # that may as well be added up one after the other: fewer roundings than a reduction may have

    @property
    def short(self) -> bool:
        return isinstance(self.count, Const) and self.count.whole <= self.MOST_TERMS


@dataclass(frozen=True)
class NewArray(Node):
    """`name = shared((32, 33), float32)`: one per block (shared, private) or per iteration (local)."""

    kind: str  # "shared" "private" "local"; "call": of the whole call, which every loop may use
    name: str
    shape: tuple[Tree, ...]  # numbers or, of `scratch`, expressions over dimensions and integer arguments
    dtype: str
    scratch: bool = False  # too large for the memory of a block, or of unknown size: one for each that is under way

    @property
    def fixed(self) -> tuple[int, ...]:
        """The shape, where it is known."""
        assert all(isinstance(n, int) for n in self.shape)
        return tuple(n for n in self.shape if isinstance(n, int))


_Jump = Break | Continue | Return
Update = Store | Atomic | Scatter  # of an element
Stmt = Assign | AssignTuple | Update | Accumulate | NewArray | _Jump | If | While | For | CheckStep | Parallel | Reduce
Access = Load | Update


@dataclass(frozen=True)
class Helper:
    """A function before the kernel in its template, once for each choice of argument types it is called with.

    `name` is unique to that choice; array parameters have rank and dtype, and are only read.
    """

    name: str
    parameters: tuple[HelperParameter, ...]
    types: tuple[str, ...]  # of its results
    body: tuple[Stmt, ...]  # ends in Return on every path
    at: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class HelperParameter:
    name: str
    type: str
    rank: int | None  # None: a scalar
    array: str | None = None  # of an array: the kernel's parameter that every call of this instance passes


@dataclass(frozen=True)
class KernelTree:
    """`body` is a sequential program: at its top level, and under its If, For and While, stand the grid and blocks
    loops, each of which is finished before what follows it. There is at least one: a kernel that is written without
    is the body of a grid of one iteration."""

    name: str
    parameters: tuple[Parameter, ...]  # with concrete dtypes
    symbols: tuple[str, ...]  # dimension symbols: int64 locals of that name stand from the start
    locals: dict[str, str]  # every other scalar name → type, loop indices included
    arrays: dict[str, NewArray]  # the kernel's own
    helpers: tuple[Helper, ...]  # callees before callers
    body: tuple[Stmt, ...]
    fastmath: tuple[str, ...]
    aliases: frozenset[tuple[str, str]] = frozenset()  # (written, other): may be the same view; filled by analysis
    requires: tuple[Tree, ...] = ()  # what every call keeps: conditions on the symbols, with the params' values
    unchecked: bool = False  # the author's word that every index is inside
    disjoint: tuple[str, ...] = ()  # and that iterations of parallel loops touch disjoint elements of these arrays

    @property
    def main(self) -> Parallel | None:  # the first parallel loop that stands at the top level itself
        return next((s for s in self.body if isinstance(s, Parallel)), None)


N = TypeVar("N", bound=Node)


def children(node: Node) -> list[Any]:
    """The nodes directly inside a node, in evaluation order."""
    values = () if type(node) in (Const, Var) else node.__dict__.values()  # those are half of all nodes
    return [n for value in values for n in (value if type(value) is tuple else (value,)) if isinstance(n, Node)]


def walk(node: Node) -> Iterator[Any]:
    """The node and everything below it, outermost first."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def rebuilt(node: N, change: Callable[[Any], Any]) -> N:
    """The node with what `change` makes of each node directly inside it."""
    inside = {}
    for name, value in node.__dict__.items():
        if isinstance(value, Node):
            inside[name] = change(value)
        elif isinstance(value, tuple) and any(isinstance(item, Node) for item in value):
            inside[name] = tuple(change(item) if isinstance(item, Node) else item for item in value)
    return replace(node, **inside) if inside else node
