"""Every access of a kernel to an array: where, at which indices, under which conditions, in which loops.

The kernel is walked once (`symbolic.collect`), in order, with symbolic values: an index is a polynomial over loop
indices, dimensions, scalars and values that the walk does not look into. Helpers are walked at each call. Arithmetic
that may wrap in its type is not looked into either, see `ranges`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Hashable

from ..errors import Position
from ..ir import tree as t
from . import affine
from .affine import Atom, Constraint, Poly
from .ranges import Ranges


@dataclass(eq=False)
class Scan:
    """A scan of a parallel loop. rise: what its update adds, if that is a sum of what is never negative."""

    name: str
    dtype: str
    before: Atom  # what an iteration finds
    bounded: bool = False  # it is known not to wrap
    rise: Poly | None = None
    most: int = 0  # that an iteration adds
    under: tuple[Value, ...] = ()  # where its update stands, see `Access`


@dataclass(eq=False)
class Scope:
    """One loop of the kernel, parallel or sequential."""

    kind: str  # "grid" "blocks" "threads" "for" "while"
    node: t.Parallel | t.For | t.While | t.Reduce
    indices: tuple[Atom, ...] = ()  # of a parallel loop; the counter of a `for`; no two iterations have the same
    counts: tuple[Poly, ...] = ()
    values: tuple[Poly, ...] = ()  # of a parallel loop: what each index is by these counters
    scans: dict[str, Scan] = field(default_factory=dict)

    @property
    def parallel(self) -> bool:
        return self.kind in ("grid", "blocks", "threads")


@dataclass(frozen=True)
class Value:
    """What is known of a value: as an integer, as a condition, and what it was computed from."""

    poly: Poly
    varies: frozenset[Scope] = frozenset()  # the loops between whose iterations it may differ
    loads: frozenset[int] = frozenset()  # the numbers of the loads that it was computed from
    truth: tuple[Constraint, ...] = ()  # what holds if it is True,
    falsity: tuple[Constraint, ...] = ()  # and if it is False;
    always: bool = False  # and whether it is known to be True
    modular: tuple[Poly, int] | None = None  # where `poly` is unknown, (p, bits): it is p modulo 2 ** bits
    here: bool = False  # whether it is `poly` only where the conditions around it hold, which keep that from wrapping


@dataclass(eq=False)
class Access:
    number: int  # in the order of the text, a statement's loads before its store
    kind: str  # "load" "store" "atomic" "scatter"
    array: str
    indices: tuple[Poly, ...]
    at: Position | None
    scopes: tuple[Scope, ...]
    under: tuple[Value, ...]  # all hold wherever it happens; it does wherever all of them do
    guards: Value  # what the conditions around it were computed from
    path: tuple[int, ...]  # of the statement of the block that it belongs to, see `barriers`
    by_one: bool  # in a store or atomic of a block outside `threads`: done by one thread
    op: str = ""  # of an atomic
    value: Value | None = None  # of a store, atomic or scatter
    literal: t.Const | None = None
    result: int | None = None  # of an atomic: the unknown that is what the element held before
    raised: frozenset[str] = frozenset()  # the scans that an iteration updates which does this

    @property
    def conditions(self) -> list[Constraint]:
        """What is known of `under`."""
        return [constraint for value in self.under for constraint in value.truth]

    def within(self, scope: Scope) -> bool:
        return scope in self.scopes

    @property
    def threads(self) -> Scope | None:
        return next((scope for scope in self.scopes if scope.kind == "threads"), None)


@dataclass
class Accesses:
    all: list[Access]
    atoms: dict[int, Atom]
    parallels: list[Scope]  # outermost first, in the order of the text
    extents: dict[str, tuple[Poly | None, ...]]
    ranges: Ranges
    stored: frozenset[str] = field(default_factory=frozenset)  # arrays that are written anywhere
    made: dict[str, str] = field(default_factory=dict)  # the kernel's own arrays → "shared" "private" "local"

    def fresh(self, like: Atom, scopes: tuple[Scope, ...]) -> Atom:
        atom = Atom(len(self.atoms), like.name, scopes, like.natural, like.least, like.most, like.index)
        atom.turns = like.turns
        self.atoms[atom.id] = atom
        return atom

    def inside(self, access: Access) -> list[Constraint]:
        """That the indices are within the array: anything else is an error of the program."""
        found = []
        for index, extent in zip(access.indices, self.extents.get(access.array, ())):
            found.append(affine.at_least(index, {}))
            if extent is not None:
                found.append(affine.at_least(extent, affine.add(index, affine.constant(1))))
        return found


Cases = list[list[Constraint]]  # at least one holds
Way = list[Cases]  # of each a case holds; where there are several, not the first case of all of them
ANYHOW: Way = [[[]]]


def may_meet(found: Accesses, a: Access, b: Access, shared: tuple[Scope, ...], ways: list[Way]) -> bool:
    """May `a` and `b` touch the same element, `b` in another pass through the loops than `a`?

    The loops in `shared` are in the same iteration for both. `ways`: descriptions, each complete, of how the other
    loops' iterations differ; the unknowns of `b` are written there as by `second`.
    """
    names = Renaming(found, shared)
    system = [*a.conditions, *found.inside(a)]
    system += [c.mapped(names.poly) for c in (*b.conditions, *found.inside(b))]
    differences = [affine.add(x, names.poly(y), -1) for x, y in zip(a.indices, b.indices)]
    system += [affine.equal(difference, {}) for difference in differences]
    ways = [[[[c.mapped(names.second) for c in case] for case in cases] for cases in way] for way in ways]

    if any(found.atoms[a].turns for a in affine.atoms_of(p for c in system for p in c.polys())):
        system += found.ranges.facts(system)

    def apart(more: list[Constraint]) -> bool:
        return any(_none(way, more + system, found, len(way) > 1) for way in ways)

    if apart([]):
        return False
    cases = [*names.quotients(), *_digits(found, differences)]
    return not (cases and apart(cases))


def _none(way: Way, given: list[Constraint], found: Accesses, alike: bool) -> bool:
    """Is no choice of cases possible? One list after the other: what is impossible by then is so with any of the rest.
    alike: of the lists before, the first cases were taken."""
    for k, case in enumerate(way[0]):
        first = alike and k == 0
        if not first and affine.impossible(given + case, found.atoms):
            continue
        if way[1:]:
            if not _none(way[1:], given + case, found, first):
                return False
        elif not first:
            return False
    return True


def _digits(found: Accesses, differences: list[Poly]) -> list[Constraint]:
    """Of differences like (i - j) · n + …, three cases for what stands before n, a dimension or a number: less than 0,
    0, greater. The prover knows whole numbers only by such cases."""
    cases: dict[Hashable, Poly] = {}
    for difference in differences:
        radices = {a for m in difference if len(m) > 1 for a in m if not found.atoms[a].index}
        digits = [affine.slope(difference, radix) for radix in sorted(radices)]
        for number in sorted({abs(c) for m, c in difference.items() if m and abs(c) > 1}, reverse=True):
            digits.append({m: c // number for m, c in difference.items() if m and c % number == 0})
        cases |= {frozenset(digit.items()): digit for digit in digits if digit}
    return [
        Constraint(((("==", digit),), *affine.unequal(digit, {}).alternatives)) for digit in list(cases.values())[:3]
    ]


class Renaming:
    """Gives each unknown that is bound inside the loops that are not shared a second name."""

    def __init__(self, found: Accesses, shared: tuple[Scope, ...]):
        self.found, self.shared = found, shared
        self.names: dict[int, int] = {}

    def atom(self, number: int) -> int:
        self._name(number)
        return self.names.get(number, number)

    def _name(self, number: int) -> None:
        """Name it, and what its facts mention, and so on: no recursion, for facts are nested as deep as a kernel has
        statements that depend on one another."""
        made: list[tuple[Atom, Atom]] = []
        waiting = [iter((number,))]
        while waiting:
            number = next(waiting[-1], -1)
            if number < 0:
                waiting.pop()
            elif number not in self.names and not set(self.found.atoms[number].scopes).issubset(self.shared):
                atom = self.found.atoms[number]
                second = self.found.fresh(atom, atom.scopes)
                self.names[number] = second.id
                made.append((atom, second))
                polys = (poly for fact in atom.facts for poly in fact.polys())
                waiting.append(a for poly in polys for monomial in poly for a in monomial)
        for atom, second in made:
            second.facts = [fact.mapped(self.poly) for fact in atom.facts]

    def quotients(self) -> list[Constraint]:
        """Of quotients, three cases: less, equal, greater. The prover knows whole numbers only by such cases."""
        pairs = [(first, second) for first, second in self.names.items() if self.found.atoms[first].name == "quotient"]
        return [
            Constraint(((("==", {(a,): 1, (b,): -1}),), *affine.unequal({(a,): 1}, {(b,): 1}).alternatives))
            for a, b in pairs[:2]
        ]

    def poly(self, poly: Poly) -> Poly:
        return {tuple(sorted(map(self.atom, monomial))): c for monomial, c in poly.items()}

    def second(self, poly: Poly) -> Poly:
        """A polynomial of a case: unknowns of the second access are written as -1 - number."""
        return {
            tuple(sorted(self.atom(-1 - a) if a < 0 else a for a in monomial)): c for monomial, c in poly.items()
        }


def second(atom: Atom) -> Poly:
    """In the cases of `may_meet`: this unknown, as the second access has it."""
    return {(-1 - atom.id,): 1}


def less(a: Atom, b: Atom) -> list[Constraint]:
    """`a` of the first access is less than `b` of the second."""
    return [affine.at_least(second(b), affine.add(affine.unknown(a), affine.constant(1)))]


def greater(a: Atom, b: Atom) -> list[Constraint]:
    return [affine.at_least(affine.unknown(a), affine.add(second(b), affine.constant(1)))]


def same(a: Atom, b: Atom) -> list[Constraint]:
    return [affine.equal(affine.unknown(a), second(b))]


def other_iteration(scope: Scope) -> list[Way]:
    """The first access and the second are in different iterations of a parallel loop."""
    return different(scope.indices, scope.indices)


def different(a: tuple[Atom, ...], b: tuple[Atom, ...]) -> list[Way]:
    """These indices differ: some one is less or greater, whatever the others are; or, in more cases, said of each."""
    coarse = [relation(x, y) for x, y in zip(a, b) for relation in (less, greater)]
    fine = [[relation(x, y) for relation in (same, less, greater)] for x, y in zip(a, b)]
    return [[coarse]] if len(a) == 1 else [[coarse], fine]


def same_iteration(scope: Scope) -> list[Constraint]:
    return [constraint for atom in scope.indices for constraint in same(atom, atom)]
