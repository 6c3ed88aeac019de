"""What the walk through a kernel with symbolic values knows at one point of the text, see `symbolic`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import partial, reduce
from typing import Hashable, Iterator, Sequence

from ..artifact.dimensions import Operation, Tree
from ..artifact.signature import Parameter
from ..errors import Position
from ..ir import tree as t
from . import affine
from .accesses import Access, Accesses, Scope, Value
from .affine import Atom, Poly
from .aliases import alike
from .ranges import Ranges, of_type

Environment = dict[str, Value]


class State(ABC):
    """`environment` has the value of each name at this point of the text."""

    def __init__(self, tree: t.KernelTree):
        self.tree = tree
        stored = {
            node.array for s in tree.body for node in t.walk(s) if isinstance(node, (t.Store, t.Atomic, t.Scatter))
        }
        atoms: dict[int, Atom] = {}
        self.ranges = Ranges(atoms)
        self.found = Accesses([], atoms, [], {}, self.ranges, frozenset(stored))
        arrays = [p for p in tree.parameters if p.is_array]
        alike_ones = {b.name for a in arrays for b in arrays if a.name in stored and alike(a, b)}
        self.watched = stored | alike_ones | tree.arrays.keys()  # the arrays whose indices matter
        self.thorough = True  # whether conditions are asked if arithmetic may wrap, which takes long
        self.helpers = {helper.name: helper for helper in tree.helpers}
        self.environment: Environment = {}
        self.arrays: dict[str, str] = {}  # in a helper: parameter → the kernel's array
        self.scopes: tuple[Scope, ...] = ()
        self.conditions: list[Value] = []  # of what holds here: `truth` of each
        self.leaving = 0  # statements so far that leave the list they stand in
        self.at: Position | None = None
        self.path: tuple[int, ...] = ()
        self.by_one = False
        self.returned: list[list[list[Value]]] = []  # of the helper being walked
        self.accumulated: dict[str, list[Value]] = {}
        self.raises: dict[int, frozenset[str]] = {}  # by statement: see `counts.raised`
        self.raised: frozenset[str] = frozenset()
        # (dividend, divisor) → quotient and rest
        self.divisions: dict[tuple[Hashable, Hashable], tuple[Poly, Poly]] = {}
        for symbol in tree.symbols:
            self.environment[symbol] = Value(affine.unknown(self.new(symbol, "int64", natural=True)))
        for one, other in (("rows", "size"), ("size", "rows")):  # all `...` of a call have one shape
            if one in self.environment:
                self.environment[other] = self.environment[one]
        for p in tree.parameters:
            if not p.in_memory:
                if p.name in self.environment:
                    continue  # a dimension, which an array may have said before
                self.environment[p.name] = Value(affine.unknown(self.new(p.name, p.dtype)))
            else:
                self.found.extents[p.name] = tuple(map(self.extent, kernel_dims(p)))
                self.ranges.exists(self.found.extents[p.name])
        for array in tree.arrays.values():
            self.found.extents[array.name] = tuple(map(self.extent, array.shape))
            self.found.made[array.name] = array.kind

    def new(self, name: str, dtype: str = "", natural: bool = False, scopes: tuple[Scope, ...] | None = None) -> Atom:
        """An unknown of a dtype; without one, of any integer type."""
        least, most = of_type(dtype)
        scopes = self.scopes if scopes is None else scopes
        atom = Atom(len(self.found.atoms), name, scopes, natural or least >= 0, least, most)
        self.found.atoms[atom.id] = atom
        return atom

    def extent(self, dim: Tree) -> Poly | None:
        """The size of one dim as a polynomial: a symbol, a number, or what is computed of them."""
        if isinstance(dim, str):
            return self.environment[dim].poly if dim in self.environment else None
        if not isinstance(dim, Operation):
            return affine.constant(int(dim))
        if dim.op not in ("+", "-", "*", "//", "%", "min", "max"):
            return None
        known = [part for part in map(self.extent, dim.operands) if part is not None]
        if len(known) < len(dim.operands):
            return None
        if dim.op in ("min", "max"):
            return reduce(partial(self.extreme, dim.op), known)
        a, b = known
        if dim.op in ("//", "%"):
            return self.divided(a, b, dim.op)
        return affine.multiply(a, b) if dim.op == "*" else affine.add(a, b, 1 if dim.op == "+" else -1)

    def guards(self) -> Value:
        return Value(
            {},
            frozenset().union(*(c.varies for c in self.conditions)),
            frozenset().union(*(c.loads for c in self.conditions)),
        )

    def record(self, node: t.Access, indices: Sequence[Value]) -> Access:
        access = Access(
            number=len(self.found.all), kind=type(node).__name__.lower(),
            array=self.arrays.get(node.array, node.array), indices=tuple(map(self.place, indices)),
            at=node.at or self.at, scopes=self.scopes, under=tuple(self.conditions), guards=self.guards(),
            path=self.path, by_one=self.by_one, raised=self.raised,
        )  # fmt: skip
        self.found.all.append(access)
        return access

    @contextmanager
    def assuming(self, condition: Value) -> Iterator[None]:
        self.conditions.append(condition)
        yield
        self.conditions.pop()

    @abstractmethod
    def divided(self, a: Poly, b: Poly, op: str, dtype: str = "int64") -> Poly | None:
        """A quotient or rest, see `symbolic_values.Values`."""

    @abstractmethod
    def extreme(self, op: str, a: Poly, b: Poly) -> Poly:
        """The lesser or the greater of two, as an unknown with what that says of it."""

    @abstractmethod
    def place(self, value: Value) -> Poly:
        """An index of an array, see `symbolic_values.Values`."""

    @abstractmethod
    def block(self, body: tuple[t.Stmt, ...], path: tuple[int, ...] | None) -> bool:
        """Walk statements, see `symbolic.Walk`."""


def kernel_dims(parameter: Parameter) -> tuple[Tree, ...]:
    """The dims of an array as the kernel sees it: `T[...]` flat, the leading dims of `T[..., n]` as one."""
    dims = parameter.dims or ()
    if not parameter.ellipsis:
        return dims
    return ("rows", *dims) if dims else ("size",)
