"""What is known at one point of a function: its names and their types, which are set there, and what encloses it."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Callable, Iterator, NamedTuple, NoReturn

from ..artifact.dimensions import Tree
from ..errors import DeclarationError, Position
from ..ir import tree
from ..ir.functions import CONSTANTS, FUNCTIONS, LOOPS, WORDS
from . import promotion
from .module import Module, near
from .promotion import Type, Value
from .syntax import BUILTINS

SET = "set"


@dataclass(frozen=True)
class Unreadable:
    """Why a name that is assigned somewhere cannot be read here."""

    message: str
    hint: str = ""


@dataclass(frozen=True)
class Array:
    name: str  # in the tree
    rank: int
    dtype: str
    kind: str  # "in" "out" "inout" "temp" "shared" "private" "local" "tuple"
    dims: tuple[Tree, ...] = ()  # for hints: how the user calls the extents
    parameter: str | None = None  # of a helper's argument: the kernel's array behind it
    prefix: tuple[tree.Expr, ...] = ()  # of a row, `x[i]`: the indices that it has already


class NotAFunction(Exception):
    """A helper does more than compute scalars from scalars and inputs: see `inlining`."""


class Called(NamedTuple):
    """A call of a helper: the types of its results; its call, or what they are where its statements stand before."""

    types: tuple[Type, ...]
    call: tree.CallHelper | None
    values: tuple[Value, ...] = ()


class Constants(NamedTuple):
    """A constant tuple."""

    values: tuple[tree.Const, ...]
    type: Type  # of all


@dataclass
class Loop:
    kind: str  # "for" "while" "grid" "blocks" "threads"
    node: ast.AST
    breaks: list[State | None] = field(default_factory=list)  # states at each break
    continues: list[State | None] = field(default_factory=list)
    reductions: dict[str, str] = field(default_factory=dict)  # accumulator → op
    scans: set[str] = field(default_factory=set)  # the accumulators that its body reads


@dataclass
class Joined:
    """What a name is assigned."""

    types: dict[Type, ast.AST]  # of the values, and where each is assigned first
    type: Type  # the name's own, by them

    @property
    def weak(self) -> Type | None:
        """The type of the weak values alone."""
        weak = [t for t in self.types if t.weak]
        return promotion.of_name(weak) if weak else None

    @property
    def widened(self) -> Type | None:
        """Of a name that a weak integer makes int64 or uint64: the smaller type that it is given besides."""
        return next((t for t in self.types if self.weak and not t.weak and t.dtype != self.type.dtype), None)

    @property
    def adopted(self) -> ast.AST | None:
        """Of a name that is given weak and strong values: where it gets its type from."""
        strong, weak = ([node for t, node in self.types.items() if t.weak == is_weak] for is_weak in (False, True))
        return (weak if self.widened else strong)[0] if strong and weak else None


State = dict[str, "str | Unreadable"]  # name → SET or Unreadable; a local that is missing is not set


OWN = "'"  # ends the names in helpers of the language's own, which nobody else has


class Parts(NamedTuple):
    """What a part of the front end needs of those that stand above it: a scope brings it along."""

    block: Callable[[Scope, list[ast.stmt]], list[tree.Stmt]]
    reduction: Callable[[Scope, ast.Call], Value]  # in its functional form
    fetched: Callable[[Scope, ast.Call], Value]  # what an atomic gives
    helper: Callable[[Scope, ast.Call], Called]
    ordering: Callable[[Scope, ast.Call], Called]  # of the language's own helpers
    unique: Callable[[str], str]  # a name for the tree that nothing else has
    own: Callable[[str], str]  # the same, for a name of a helper: itself where that may be


class Scope:
    """One function, the kernel or one instance of a helper. It is built several times: until the types of its
    names settle, then once more with `final`, which reports what is wrong with them and gives the tree."""

    def __init__(
        self, module: Module, function: ast.FunctionDef, parts: Parts, home: str = "top", caller: Scope | None = None
    ):
        """home: "top" of the kernel, "helper" of a helper that is a function of the tree; else where one is called
        whose statements stand in the place of its call, by `caller`."""
        self.module, self.function, self.parts, self.home = module, function, parts, home
        self.helper, self.inlined = home == "helper" or caller is not None, caller is not None
        self.passed = dict(caller.constants) if caller else {}  # constant tuples of those around
        self.called_at: Position | None = None  # in the kernel, of a helper in the place of its call
        # Without a parallel loop it runs as one block.
        self.parallel: bool = caller.parallel if caller else module.has_parallel_loops
        self.arrays: dict[str, Array] = {}
        self.given: dict[str, Value] = {}  # scalar arguments and dimensions
        self.assigned: dict[str, ast.AST] = {}  # locals → where first assigned
        self.array_nodes: dict[str, ast.AST] = {}  # kernel arrays → where first made
        self.plain: dict[str, ast.AST] = {}  # locals that are more than indices of parallel loops
        self.before: dict[str, Joined] = {}  # what the last pass found
        self.probing = False  # whether a name counts as weak in what it is assigned itself: see `helpers.settle`
        self.renamed: dict[str, str] = {}  # locals whose name in the tree is another
        self.final = False
        self.dimensions: dict[str, str] = {}  # of a helper: the kernel's dimensions, names in the tree
        self.needs: set[str] = set()  # the dimensions among them that it reads, or who it calls
        self.begin()

    def begin(self) -> None:
        """Start a pass."""
        self.now: dict[str, Joined] = {}
        self.read_as: dict[str, set[Type]] = {}  # the types that names have been taken for in this pass
        self.assigning: set[str] = set()  # the names that the statement under way assigns
        self.state: State | None = {}  # None: never reached
        self.shadow: dict[str, str] = {}  # live indices of parallel loops and reductions → name in the tree
        self.loops: list[Loop] = []
        self.place = self.home  # or "grid" "blocks" "threads"
        self.depth = 0  # of if, for, while around, within the place
        self.before_statement: list[tree.Stmt] = []  # what the evaluation of the expression under way takes first
        self.lazy = ""  # how often it is evaluated, where that is not once
        self.locals: dict[str, str] = {}  # of the tree
        self.kernel_arrays: dict[str, tree.NewArray] = {}
        self.finished: frozenset[str] = frozenset()  # those of the parallel loops before the one at top level under way
        self.arrays = {name: a for name, a in self.arrays.items() if name not in self.array_nodes}
        self.constants: dict[str, Constants] = dict(self.passed)
        self.results: tuple[int, ast.AST] | None = None  # of a helper: how many, and where first
        self.left: tuple[str, ...] | None = None  # the names that keep them, of one that returns in loops or is inlined
        self.returned = ""  # of a helper that returns inside a loop: whether it did
        self.alone: ast.AST | None = None  # the one expression of the statement under way that may store into arrays
        self.serial = False  # whether it stands in a reduction over range, which stores nothing
        self.stores = self.acts = False  # of a helper: whether it stores into arrays; into such as others see
        self.levels: dict[int, int] = {}  # id of a statement that became part of a branch → its depth in the text

    @property
    def here(self) -> State:
        """The state, at a point that can be reached."""
        assert self.state is not None
        return self.state

    # ------------------------------------------------------------------------------------------- mistakes

    def at(self, node: ast.AST) -> Position:
        at = self.module.position(node)
        return at._replace(caller=self.called_at) if self.called_at else at

    def beyond_function(self) -> None:
        """What follows has no place in a function of the tree."""
        if self.home == "helper":
            raise NotAFunction

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> NoReturn:
        self.module.refuse(node, message, hint)

    def fault(self, node: ast.AST) -> promotion.Fault:
        """Report a mistake about types: only once they have settled. Where names of this piece of the text have a
        type that they adopted elsewhere, the hint says so."""

        def report(message: str, hint: str = "", at: Position | None = None) -> None:
            if self.final:
                adopted = "; ".join(self.adoptions(node, message))
                raise DeclarationError(message, at or self.at(node), f"{hint}; {adopted}" if adopted else hint)

        return report

    def adoptions(self, node: ast.AST, message: str, but: str = "") -> Iterator[str]:
        """"`h` is uint64 by line 12" for each name in this piece of the text whose type a message names, and which
        has it from another line."""
        node = self.module.statement_of(node)
        for name in sorted({inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} - {but}):
            known = self.before.get(name)
            if known is None or (adopted := known.adopted) is None or known.type.dtype not in message:
                continue
            line, statement = self.module.line(adopted), self.module.statement_of(adopted)
            if line == self.module.line(node):
                continue
            told = f"`{name}` is {known.type} by line {line}, `{ast.unparse(statement)}`"
            if known.widened:
                value = statement.value if isinstance(statement, ast.Assign) else statement
                number = ast.unparse(value) if isinstance(value, ast.Constant) else "…"
                told += f": write `{known.widened}({number})` there to keep {known.widened}"
            yield told

    # ---------------------------------------------------------------------------------------------- names

    def fresh(self, base: str, dtype: str) -> str:
        """A name that the text does not use, for a local of the tree."""
        if not self.final:
            return base
        name = self.parts.unique(base)
        self.locals[name] = dtype
        return name

    def read(self, node: ast.Name) -> Value:
        """The value of a name in an expression."""
        name, at = node.id, self.at(node)
        if name in self.shadow:
            return Value(tree.Var(self.shadow[name], "int64", at=at), True)
        if name in self.arrays:
            self.check_set(node)
            array = self.arrays[name]
            if array.rank == 0:
                self.refuse(node, f"`{name}` is an output scalar", f"write `{name}[()]`")
            self.refuse(
                node,
                f"`{name}` is an array: array arithmetic is not part of the kernel language",
                f"write one element, `{element(name, array)}`, in a loop",
            )
        if name in self.array_nodes:
            self.check_set(node)  # refuses: it stands in no array yet
        if name in self.assigned:
            self.check_set(node)
            known = self.type_of(name)
            return Value(tree.Var(self.renamed.get(name, name), known.dtype, at=at), known.weak)
        if name in self.given:
            given = self.given[name]
            return given._replace(expr=replace(given.expr, at=at))
        if self.helper and name in self.module.kernel.signature.symbols:
            return self.dimension(name, at)
        if name in CONSTANTS:
            return promotion.literal(CONSTANTS[name], at)
        if name in self.module.params:
            return promotion.literal(self.module.params[name], at)
        if meaning := self.module.meaning(name):
            hint = f"write `for c in {name}(n):`" if name in LOOPS else f"write `{name}(…)`"
            self.refuse(node, f"`{name}` is {meaning}, not a value", hint)
        if name in self.module.helpers:
            self.refuse(node, f"`{name}` is a helper, not a value", f"call it: `{name}(…)`")
        if name in BUILTINS:
            self.refuse(node, f"`{name}` is not part of the kernel language", BUILTINS[name])
        if self.helper and any(p.name == name for p in self.module.parameters):
            self.refuse(node, f"unknown name `{name}`", "a helper sees its arguments: pass it as one")
        own = sorted({*self.shadow, *self.arrays, *self.assigned, *self.given})
        self.refuse(node, f"unknown name `{name}`", near(name, self.visible(), f"known here: {', '.join(own)}"))

    def dimension(self, symbol: str, at: Position) -> Value:
        """In int64: one of the kernel's dimensions, or an integer argument that a local array's shape is made of. A
        helper that reads one gets it as a further argument."""
        if self.helper:
            self.needs.add(symbol)
        scalars = {p.name: p.dtype for p in self.module.parameters if not p.in_memory}
        if symbol in self.dimensions or symbol in self.module.kernel.signature.symbols or symbol not in scalars:
            return Value(tree.Var(self.dimensions.get(symbol, symbol), "int64", at=at), True)
        given: tree.Expr = tree.Var(symbol, scalars[symbol], at=at)
        return Value(given if given.type == "int64" else tree.Convert(given, "int64", at=at), True)

    def visible(self) -> set[str]:
        names = {*self.shadow, *self.arrays, *self.assigned, *self.given, *CONSTANTS, *self.module.params}
        return names | FUNCTIONS.keys() | self.module.helpers.keys() | WORDS | self.module.types.keys()

    def type_of(self, name: str) -> Type:
        settled = self.before.get(name)
        known = settled or self.now.get(name)
        anew = settled is None or self.probing and name in self.assigning
        type_ = (anew and known.weak or known.type) if known else Type("int64", True)
        self.read_as.setdefault(name, set()).add(type_)
        return type_

    def check_set(self, node: ast.Name) -> None:
        name = node.id
        fixed = name in self.arrays and name not in self.array_nodes
        if fixed or self.state is None:
            return
        state = self.state.get(name)
        if state is None:
            self.refuse(node, f"`{name}` is read before it is set", f"set it before this line: `{name} = …`")
        if isinstance(state, Unreadable):
            self.refuse(node, state.message, state.hint)

    def join(self, name: str, type_: Type, node: ast.AST, result: int = 0) -> Type:
        """Note an assignment of a value of this type; the type that the name has. With `result`, the name is the
        helper's and the value which of its results it is."""
        key = result_key(name, result) if result else name
        known = self.now.setdefault(key, Joined({}, type_))
        first = known.types.get(type_, node)
        if first is not node and self._by_itself(name, first) and not self._by_itself(name, node):
            first = node  # which is a cause; the other is a consequence
        types = {**known.types, type_: first}
        found = promotion.of_name(types)
        if found is None:
            if self.final and promotion.of_name(self.before[key].types) is None:
                self._contradiction(name, type_, self.before[key], result)
            found = promotion.common(known.type, type_)
        known.types, known.type = types, found
        return self.type_of(key)

    def _by_itself(self, name: str, node: ast.AST) -> bool:
        """Whether an assignment of the name reads it."""
        statement = self.module.statement_of(node)
        if not isinstance(statement, ast.Assign):
            return isinstance(statement, ast.AugAssign)
        return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(statement.value))

    def _contradiction(self, name: str, type_: Type, known: Joined, result: int) -> NoReturn:
        node, weak = known.types[type_], [known.weak] if known.weak else []
        others = [t for t in known.types if t != type_]
        other = next((t for t in others if promotion.of_name((*weak, t, type_)) is None), others[0])
        both = f"{type_} here and {other} on line {self.module.line(known.types[other])}"
        message = f"helper `{name}` returns {both}" if result else f"`{name}` is {both}: a name has one type"
        hint = f"convert one of them, `{_concrete(other, type_)}(…)`{'' if result else ', or use two names'}"
        if type_.rank == other.rank == 1 and not (type_.weak or other.weak):
            both_held = promotion.common(type_, other)
            if both_held.rank == 1:
                narrow = node if other == both_held else known.types[other]
                hint = f"the wider type holds both: write `{both_held}(…)` on line {self.module.line(narrow)}"
            else:
                message += "" if result else ", and no integer type holds both"
                hint = "convert one of them: int64(…) or uint64(…)"
        notes = (*self.adoptions(node, str(type_), name), *self.adoptions(known.types[other], str(other), name))
        raise DeclarationError(message, self.at(node), "; ".join((hint, *dict.fromkeys(notes))))

    def join_result(self, position: int, type_: Type, node: ast.AST) -> Type:
        """The same for one of a helper's results."""
        return self.join(self.function.name, type_, node, position + 1)

    def result_types(self) -> list[Type]:
        count = self.results[0] if self.results else 0
        return [self.type_of(result_key(self.function.name, k + 1)) for k in range(count)]

    # ----------------------------------------------------------------------------------------- what is set

    def maybe(self, name: str) -> Unreadable:
        node = self.assigned.get(name) or self.array_nodes.get(name)
        where = f"line {self.module.line(node)} sets it" if node else "it is set"
        return Unreadable(
            f"`{name}` may not be set here: {where} under a condition, or in a loop that may not run",
            f"set it before, on every way that leads here: `{name} = …`",
        )

    @contextmanager
    def apart(self, why: str) -> Iterator[list[tree.Stmt]]:
        """A part of an expression that is evaluated only sometimes, or again and again, and the statements that its
        evaluation takes first. No reduction of a parallel loop can stand inside another one."""
        before, lazy = self.before_statement, self.lazy
        self.before_statement, self.lazy = [], lazy if lazy.startswith("inside") else why or lazy
        yield self.before_statement
        self.before_statement, self.lazy = before, lazy


def result_key(name: str, position: int) -> str:
    return f"{name} {position}"  # no name of the text has a blank


def _concrete(a: Type, b: Type) -> str:
    strong = [t.dtype for t in (a, b) if not t.weak]
    return strong[0] if strong else "float64"


def element(name: str, array: Array) -> str:
    return f"{name}[{', '.join('ijklmnop'[: array.rank]) if array.rank <= 8 else '…'}]" if array.rank else f"{name}[()]"


def merge(a: State | None, b: State | None, maybe: Callable[[str], Unreadable]) -> State | None:
    """The state where two ways meet. `maybe(name)` says why a name is set on one of them only."""
    if a is None or b is None:
        return b if a is None else a
    result: State = {}
    for name in a.keys() | b.keys():
        left, right = a.get(name), b.get(name)
        if left is not None and left == right:
            result[name] = left
        elif isinstance(one := left if isinstance(left, Unreadable) else right, Unreadable):
            result[name] = one
        else:
            result[name] = maybe(name)
    return result
