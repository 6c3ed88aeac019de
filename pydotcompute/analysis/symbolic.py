"""The walk through a kernel with symbolic values that gathers its accesses: statements here, what
loops make of locals in `symbolic_locals`, expressions in `symbolic_values`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from ..ir import tree as t
from . import affine, counts, earlier, required
from .accesses import Accesses, Scan, Scope, Value
from .affine import Poly
from .earlier import assigned
from .ranges import bits_of, is_integer
from .symbolic_locals import Locals
from .symbolic_state import Environment


def collect(tree: t.KernelTree) -> Accesses:
    """Every access of the kernel to an array."""
    walk = Walk(tree)
    walk.block(tree.body, ())
    return walk.found


class Walk(Locals):
    """The walk itself."""

    def __init__(self, tree: t.KernelTree):
        super().__init__(tree)
        self.conditions += map(self.value, required.conditions(tree))

    # --------------------------------------------------------------------------------------------- statements

    def block(self, body: tuple[t.Stmt, ...], path: tuple[int, ...] | None) -> bool:
        """Walk statements; path: of the list they stand in, None inside `threads` or a helper. True: the end of the
        list is never reached. A condition that led to leaving the list holds, negated, for the rest of it; of a list
        that was perhaps left, nothing is known, but that it was not."""
        held = len(self.conditions)
        ends, raised = False, self.raised
        for k, statement in enumerate(body):
            if path is not None:
                self.path = (*path, k)
            self.at = statement.at or self.at
            self.raised = raised | self.raises.get(id(statement), frozenset())
            leaving = self.leaving
            ends = self.statement(statement, path) or ends
            if self.leaving > leaving:
                self.conditions.append(Value({}))
        del self.conditions[held:]
        self.raised = raised
        return ends

    def statement(self, s: t.Stmt, path: tuple[int, ...] | None) -> bool:
        match s:
            case t.Assign():
                self.environment[s.name] = self.guarded(self.value(s.value))
            case t.AssignTuple():
                for name, value in zip(s.names, self.helper(s.call)):
                    self.environment[name] = self.guarded(value)
            case t.Store() | t.Atomic() | t.Scatter():
                self.store(s)
            case t.If():
                return self.branches(s, path)
            case t.While() | t.For():
                self.loop(s, path)
            case t.Parallel():
                self.parallel(s, path)
            case t.Reduce():
                self.reduce(s)
            case t.Accumulate():
                term = self.guarded(self.value(s.value))
                self.accumulated.setdefault(s.name, []).append(term)
                if scan := next((scope.scans[s.name] for scope in self.scopes if s.name in scope.scans), None):
                    self.update(s, scan, term)
            case t.Return():
                self.returned[-1].append([self.guarded(self.value(value)) for value in s.values])
                self.leaving += 1
                return True
            case t.Break() | t.Continue():
                self.leaving += 1
                return True
        return False

    def guarded(self, value: Value) -> Value:
        """A value that is only set under conditions depends on them, too."""
        guards = self.guards()
        return Value(value.poly, value.varies | guards.varies, value.loads | guards.loads, value.truth, value.falsity,
                     value.always, value.modular, value.here)  # fmt: skip

    def store(self, s: t.Store | t.Atomic | t.Scatter) -> None:
        outside = not any(scope.kind in ("threads", "grid") for scope in self.scopes)
        self.by_one = outside and bool(self.scopes)
        indices = [self.value(index) for index in s.indices]
        value = self.value(s.value)
        access = self.record(s, indices)
        access.value, access.op = value, s.op if isinstance(s, t.Atomic) else ""
        access.literal = s.value if isinstance(s.value, t.Const) else None
        self.by_one = False
        if isinstance(s, t.Atomic) and s.result:
            atom = self.new(s.result, s.value.type)
            self.environment[s.result] = self.guarded(Value(affine.unknown(atom), frozenset(self.scopes)))
            access.result = atom.id

    def scan(self, r: t.Reduction, scope: Scope, start: Value | None) -> None:
        """What an iteration finds in a scan: anything, but not more than so many constants make."""
        atom = self.new(r.name, r.type)
        scan = scope.scans[r.name] = Scan(r.name, r.type, atom)
        update = next(u for u in counts.updates(scope.node.body) if u.name == r.name)
        if r.op == "sum" and isinstance(update.value, t.Const) and is_integer(r.type) and start is not None:
            turns: Poly = affine.constant(1)
            for count in scope.counts:
                turns = affine.multiply(turns, count)
            ends = 0, update.value.whole * max(self.ranges.most(turns), 0)
            least, most = self.ranges.least(start.poly) + min(ends), self.ranges.most(start.poly) + max(ends)
            scan.bounded = atom.least <= least and most <= atom.most  # else it may wrap
            if scan.bounded:
                atom.least, atom.most = least, most
                if update.value.whole >= 0:
                    others = affine.add(turns, affine.constant(1), -1)
                    last = affine.add(start.poly, others, update.value.whole)
                    atom.facts.append(affine.at_least(affine.unknown(atom), start.poly))
                    atom.facts.append(affine.at_least(last, affine.unknown(atom)))
            atom.natural = atom.least >= 0
        loads = start.loads if start else frozenset()
        self.environment[r.name] = Value(affine.unknown(atom), frozenset(self.scopes), loads)

    def update(self, s: t.Accumulate, scan: Scan, term: Value) -> None:
        """A scan goes on: its name holds another value from here."""
        old, dtype = self.environment[s.name], s.value.type
        if s.op != "sum" or not is_integer(dtype):
            self.environment[s.name] = self.guarded(self.computed([old, term], dtype))
            return
        if self.ranges.least(term.poly) >= 0:
            scan.rise, scan.most, scan.under = term.poly, self.ranges.most(term.poly), tuple(self.conditions)
        self.environment[s.name] = self.guarded(
            self.arithmetic([old, term], dtype, affine.add(old.poly, self.number(term, bits_of(dtype))))
        )

    @contextmanager
    def running(self, scope: Scope) -> Iterator[None]:
        """In a parallel loop the counts are at least 1, and so are the factors of a product."""
        products = [count for count in scope.counts if len(count) == 1]
        atoms = [self.found.atoms[a] for a in affine.atoms_of(products)]
        positive = [a for a in atoms if a.natural or affine.unknown(a) in products]
        saved, divisions = [(a, a.natural, a.least) for a in positive], dict(self.divisions)
        for atom in positive:
            atom.natural, atom.least = True, max(atom.least, 1)
            for index in scope.indices:
                index.facts.append(affine.at_least(affine.unknown(atom), affine.constant(1)))
        yield
        for atom, natural, least in saved:
            atom.natural, atom.least = natural, least
        self.divisions = divisions

    def branches(self, s: t.If, path: tuple[int, ...] | None) -> bool:
        condition = self.value(s.condition)
        negated = Value({}, condition.varies, condition.loads, condition.falsity, condition.truth)
        before, here = dict(self.environment), self.path
        with self.assuming(condition):
            first_ends = self.block(s.body, None if path is None else (*here, 0))
        first, self.environment = self.environment, before
        with self.assuming(negated):
            second_ends = self.block(s.orelse, None if path is None else (*here, 1))
        self.path = here
        if first_ends and second_ends:
            return True
        if first_ends or second_ends:
            self.environment = self.environment if first_ends else first
            self.conditions.append(negated if first_ends else condition)  # until the end of the list
            return False
        self.environment = self.merged(first, self.environment, condition)
        return False

    def merged(self, first: Environment, second: Environment, condition: Value) -> Environment:
        result = {}
        for name in {**first, **second}:
            a, b = first.get(name), second.get(name)
            if a is b and a is not None:
                result[name] = a
                continue
            both = [value for value in (a, b) if value is not None]
            if a and b and a.poly == b.poly:
                poly = a.poly
            else:
                atom = self.new(name, self.local_type(name))
                poly = affine.unknown(atom)
                if a and b and is_integer(self.local_type(name)):
                    then, otherwise = affine.equal(poly, a.poly), affine.equal(poly, b.poly)
                    atom.facts += self.facts((a, b), (*condition.truth, then), (*condition.falsity, otherwise))
                    self.bounded(atom, min, max, a.poly, b.poly)
            result[name] = Value(
                poly,
                condition.varies.union(*(v.varies for v in both)),
                condition.loads.union(*(v.loads for v in both)),
                here=len(both) > 1 and poly == both[0].poly and any(v.here for v in both),
            )
        return result

    def loop(self, s: t.While | t.For, path: tuple[int, ...] | None) -> None:
        here, held = self.path, len(self.conditions)
        bounds = [self.value(e) for e in (s.start, s.stop, s.step)] if isinstance(s, t.For) else []
        names, (settings, steps) = assigned((s,)), earlier.changes(s)
        before = dict(self.environment)
        scope = Scope("for" if isinstance(s, t.For) else "while", s)
        self.scopes += (scope,)
        self.forget(names, self.held(settings))
        way = None
        if isinstance(s, t.For):
            condition = Value({}, frozenset(), frozenset(), always=True)
            index = self.counted(s, scope, *bounds)
            by = affine.constant_of(bounds[2].poly)
            way = self._way(bounds[0], bounds[1], by) if by else None  # no fewer than there are turns
            for name in filter(before.__contains__, settings):  # there is a turn
                for atom in affine.atoms_of([self.environment[name].poly]):
                    self.found.atoms[atom].facts += scope.indices[0].facts
            self.stepped(steps, before, affine.unknown(scope.indices[0]) if by else None)
            if s.name not in assigned(s.body):
                self.environment[s.name] = index
        else:
            self.stepped(steps, before, None)
            condition = self.condition(s)
        with self.assuming(condition):
            self.block(s.body, None if path is None else (*here, 0))
        del self.conditions[held:]
        self.scopes = self.scopes[:-1]
        self.path = here
        after = self.environment
        self.environment = {**before}
        self.forget(names, self.held(settings))
        self.stepped(steps, before, way, ended=True)
        for name in names:
            if name in after:
                old = self.environment[name]
                self.environment[name] = Value(old.poly, old.varies, old.loads | after[name].loads)

    def condition(self, s: t.While) -> Value:
        """What holds in the loop's body."""
        return self.value(s.condition)

    def bounds(self, over: t.Range) -> tuple[Value, Value, Value]:
        return self.value(over.start), self.value(over.stop), self.value(over.step)

    def parallel(self, s: t.Parallel, path: tuple[int, ...] | None) -> None:
        here, held = self.path, len(self.conditions)
        ranges = s.ranges or (None,) * len(s.counts)
        bounds = [self.bounds(r) if r else None for r in ranges]
        turns = [self.distance(*b) if b else self.value(count).poly for b, count in zip(bounds, s.counts)]
        before = dict(self.environment)
        scope = Scope(s.kind, s, counts=tuple(turns))
        self.found.parallels.append(scope)
        self.scopes += (scope,)
        self.forget(assigned(s.body) - {reduction.name for reduction in s.reductions})
        for name, count, over in zip(s.names, scope.counts, bounds):
            atom = self.new(name, natural=True)
            atom.index = True
            scope.indices += (atom,)
            if over:
                index = self.ranged(atom, *over)
            else:
                atom.below, atom.most = count, max(self.ranges.most(count) - 1, 0)
                atom.facts.append(affine.at_least(count, affine.add(affine.unknown(atom), affine.constant(1))))
                index = affine.unknown(atom)
            scope.values += (index,)
            varies = frozenset((scope,)).union(*(v.varies for v in over or ()))
            self.environment[name] = Value(index, varies, frozenset[int]().union(*(v.loads for v in over or ())))
        self.accumulated = {**self.accumulated, **{reduction.name: [] for reduction in s.reductions}}
        for reduction in (r for r in s.reductions if r.scan):
            self.scan(reduction, scope, before.get(reduction.name))
        self.raises |= counts.raised(s.body, frozenset(scope.scans))
        with self.running(scope):
            self.block(s.body, () if s.kind == "blocks" else None)
        del self.conditions[held:]
        self.scopes = self.scopes[:-1]
        self.path, self.environment = here, before
        for reduction in s.reductions:
            terms = [*self.accumulated[reduction.name]]
            if reduction.start is None and reduction.name in before:
                terms.append(before[reduction.name])
            self.environment[reduction.name] = Value(
                affine.unknown(self.new(reduction.name, reduction.type)),
                frozenset().union(*(term.varies for term in terms)) - {scope},
                frozenset().union(*(term.loads for term in terms)),
            )


    def reduce(self, s: t.Reduce) -> None:
        """A loop that stores nothing: only what it reads matters, and what its result is made of."""
        over = self.bounds(s.range) if s.range else None
        count = self.value(s.count)
        here, before, held = self.path, dict(self.environment), len(self.conditions)
        scope = Scope("for", s)
        self.scopes += (scope,)
        self.forget(assigned(s.body))
        counter = self.new(s.name, natural=True)
        counter.index = True
        scope.indices = (counter,)
        if over:
            index = self.ranged(counter, *over)
        else:
            counter.below, counter.most = count.poly, max(self.ranges.most(count.poly) - 1, 0)
            counter.facts.append(affine.at_least(count.poly, affine.add(affine.unknown(counter), affine.constant(1))))
            index = affine.unknown(counter)
        bounds = over or (count,)
        varies = frozenset[Scope]().union(*(v.varies for v in bounds))
        loads = frozenset[int]().union(*(v.loads for v in bounds))
        self.environment[s.name] = Value(index, varies | {scope}, loads)
        self.accumulated = {**self.accumulated, s.reduction.name: []}
        self.block(s.body, None)
        del self.conditions[held:]
        self.scopes, self.path, self.environment = self.scopes[:-1], here, before
        terms = self.accumulated[s.reduction.name]
        self.environment[s.reduction.name] = Value(
            affine.unknown(self.new(s.reduction.name, s.reduction.type)),
            varies.union(*(term.varies for term in terms)) - {scope},
            loads.union(*(term.loads for term in terms)),
        )

