"""What locals hold in loops and after them, and the indices of loops, as symbolic values."""

from __future__ import annotations

from typing import Mapping

from ..ir import tree as t
from . import affine
from .accesses import Scope, Value
from .affine import Atom, Constraint, Poly
from .earlier import Setting, Step
from .ranges import of_type
from .symbolic_values import Values, alternatives

FAR, LARGE = 1 << 61, 16  # so many turns with steps of at most LARGE as get so FAR take years
Held = tuple[Poly, tuple[Constraint, ...]]  # a value, and what holds where a local has it


class Locals(Values):
    """The part of `symbolic.Walk` that looks at locals."""

    def local_type(self, name: str) -> str:
        """The dtype of a local of the kernel; names in helpers are not looked up."""
        return "" if self.returned else self.tree.locals.get(name, "")

    def forget(self, names: set[str], known: Mapping[str, list[Held]] = {}) -> None:
        """The names may hold anything from here on, different in every iteration of the loops around; but what is
        `known`, one of these."""
        everywhere = frozenset(self.scopes)
        for name in sorted(names):
            loads = self.environment[name].loads if name in self.environment else frozenset()
            atom = self.new(name, self.local_type(name))
            self.environment[name] = value = Value(affine.unknown(atom), everywhere, loads)
            if name in known:
                atom.facts += alternatives(*((affine.equal(value.poly, poly), *where) for poly, where in known[name]))
                self.bounded(atom, min, max, *(poly for poly, _ in known[name]))

    def held(self, settings: Mapping[str, list[Setting]]) -> dict[str, list[Held]]:
        """What locals may hold in a loop and after it: what they hold before it, or what a turn has given them.

        An index that such a turn had is an unknown of which nothing is said but where the local has that value: there
        may have been no turn."""
        found = {}
        before, conditions = self.environment, len(self.conditions)
        for name in filter(before.__contains__, settings):
            if before[name].here:
                continue
            values: list[Held] = [(before[name].poly, ())]
            for loops, value in settings[name]:
                self.environment = dict(before)
                known = set(self.found.atoms)
                counters: list[Atom] = []
                for loop in loops:
                    bounds = map(self.value, (loop.start, loop.stop, loop.step))
                    scope = Scope("for", loop)
                    self.environment[loop.name] = self.counted(loop, scope, *bounds)
                    counters += scope.indices
                given = self.value(value)
                values.append((given.poly, tuple(fact for c in counters for fact in c.facts)))
                for counter in counters:
                    counter.facts = []
                if given.here or self.found.atoms.keys() - known - {c.id for c in counters}:
                    break  # what else is unknown of it was said as if there had been such a turn
            else:
                found[name] = values
        self.environment = before
        del self.conditions[conditions:]
        return found

    def stepped(
        self, steps: Mapping[str, Step], before: Mapping[str, Value], turns: Poly | None, ended: bool = False
    ) -> None:
        """What has been added to locals in so many turns, where that is known; ended: if there were any."""
        for name, step in steps.items():
            if name not in before:
                continue
            value, first = self.environment[name].poly, before[name].poly
            (number,) = affine.atoms_of([value])
            atom = self.found.atoms[number]
            if (
                self.stopped(atom, first, step)
                or self.summed(atom, first, step, turns, ended)
                or self.slow(atom, first, step)
            ):
                atom.facts.append(_further(step, value, first))

    def stopped(self, atom: Atom, first: Poly, step: Step) -> bool:
        """Of a local which a loop looks at before it goes on: it is as it was, or one step beyond what that allows."""
        asked = step.asked
        if asked is None or not step.once:
            return False
        end = affine.add(self.value(asked.bound).poly, affine.constant(step.total - asked.more - asked.beyond))
        reached = [affine.add(p, affine.constant(more)) for p in (first, end) for more in (0, asked.more)]
        if not all(self.ranges.within(poly, *of_type(step.dtype)) for poly in reached):
            return False
        value = affine.unknown(atom)
        atom.facts += alternatives((affine.equal(value, first),), (_further(step, end, value),))
        self.bounded(atom, min, max, first, end)
        return True

    def summed(self, atom: Atom, first: Poly, step: Step, turns: Poly | None, ended: bool) -> bool:
        """Of a local to which each turn adds at most once: no further than so many turns get."""
        if turns is None or not step.once:
            return False
        last = affine.add(first, turns, step.total)
        if not self.ranges.within(affine.add(last, affine.constant(step.total)), *of_type(step.dtype)):
            return False
        value = affine.unknown(atom)
        end, some = _further(step, last, value), affine.at_least(turns, affine.constant(1))
        atom.facts += alternatives((affine.equal(value, first),), (end, some)) if ended else [end]
        self.bounded(atom, min, max, first, last)
        return True

    def slow(self, atom: Atom, first: Poly, step: Step) -> bool:
        """Of a local that would take years to get to where it wraps."""
        if step.dtype != "int64" or step.largest > LARGE or not self.ranges.within(first, -FAR, FAR):
            return False
        least, most = self.ranges.least(first), self.ranges.most(first)
        atom.least, atom.most = (least, most + FAR) if step.total >= 0 else (least - FAR, most)
        atom.natural = atom.least >= 0
        return True

    def counted(self, s: t.For, scope: Scope, start: Value, stop: Value, step: Value) -> Value:
        """The index of `range(start, stop, step)`: start + step · counter."""
        varies = start.varies | stop.varies | step.varies | {scope}
        counter = self.new(s.name, natural=True)
        counter.index = True
        scope.indices = (counter,)
        index, here = self.ranged(counter, start, stop, step), start.here or stop.here or step.here
        return Value(index, varies, start.loads | stop.loads | step.loads, here=here)

    def ranged(self, counter: Atom, start: Value, stop: Value, step: Value) -> Poly:
        """The index that starts at `start` and goes on by `step` as a polynomial over the counter of a loop, which gets
        to know how far that goes. Where nobody knows which way it goes, the counter is the index itself."""
        by, one = affine.constant_of(step.poly), affine.constant(1)
        index = affine.add(start.poly, affine.multiply(step.poly, affine.unknown(counter)))
        if by is None:
            rises = self.never_negative(step.poly)  # a step of 0 runs nothing
            if rises and not any(self.found.atoms[a].index for a in affine.atoms_of([step.poly])):
                goes_on = (affine.at_least(stop.poly, affine.add(index, one)), affine.at_least(step.poly, one))
                counter.facts += goes_on
                counter.below, counter.every = affine.add(stop.poly, start.poly, -1), step.poly
                self.conditions.append(Value({}, truth=goes_on, always=True))  # asked whether arithmetic may wrap
                return index
            index, ends = affine.unknown(counter), (start.poly, stop.poly)
            counter.least, counter.most = min(map(self.ranges.least, ends)), max(map(self.ranges.most, ends))
            counter.natural = counter.least >= 0
            up = [affine.at_least(index, start.poly), affine.at_least(stop.poly, affine.add(index, one))]
            down = [affine.at_least(start.poly, index), affine.at_least(index, affine.add(stop.poly, one))]
            counter.facts += up if rises else filter(None, [affine.either(up, down)])
            before, after = affine.add(stop.poly, one, -1), affine.add(stop.poly, one)
            counter.ends = ((start.poly,), (before,)) if rises else ((start.poly, after), (start.poly, before))
            return index
        low, high = (index, stop.poly) if by >= 0 else (stop.poly, index)
        counter.facts.append(affine.at_least(high, affine.add(low, one)))
        way = self._way(start, stop, by)
        if by:
            counter.below, counter.every = way, affine.constant(abs(by))
        counter.most = max((self.ranges.most(way) - 1) // abs(by), 0) if by else 0
        return index

    def distance(self, start: Value, stop: Value, step: Value) -> Poly:
        """The number of iterations of a range, where it has any."""
        if (by := affine.constant_of(step.poly)) in (1, -1):
            return self._way(start, stop, by)
        return affine.unknown(self.derived("count", start.poly, stop.poly, step.poly))

    @staticmethod
    def _way(start: Value, stop: Value, step: int) -> Poly:
        return affine.add(stop.poly, start.poly, -1) if step > 0 else affine.add(start.poly, stop.poly, -1)


def _further(step: Step, a: Poly, b: Poly) -> Constraint:
    """`a` is `b`, or further in the direction of the step."""
    return affine.at_least(*(a, b) if step.total >= 0 else (b, a))
