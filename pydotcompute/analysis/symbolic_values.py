"""Symbolic values of expressions: integers as polynomials, comparisons as what holds if they are true or false."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Iterable

from ..ir import tree as t
from . import affine
from .accesses import Value
from .affine import Constraint, Poly
from .ranges import MOST, bits_of, is_integer, of_type, widens
from .steps import never_wraps
from .symbolic_state import State

Extreme = Callable[[Iterable[int]], int]  # min or max
_MOST = 4  # polynomials of a higher degree are not looked into
_BOUNDS = {"sign": (-1, 1), "popcount": (0, 64), "clz": (0, 64)}  # of functions of integers
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class Values(State):
    """The half of `symbolic.Walk` that looks at expressions."""

    def value(self, e: t.Expr) -> Value:
        match e:
            case t.Const():
                if e.type.startswith(("int", "uint")):
                    return Value(affine.constant(e.whole))
                false = () if e.type != "bool" or e.value else (Constraint(()),)
                true = () if e.type != "bool" or not e.value else (Constraint(()),)
                return Value(self.opaque(), truth=false, falsity=true, always=not true)
            case t.Var():
                return self.environment.get(e.name) or Value(self.opaque(e.name))
            case t.Load():
                return self.load(e)
            case t.Unary():
                return self.unary(e)
            case t.Binary():
                return self.binary(e)
            case t.Compare():
                return self.compare(e)
            case t.BoolOp():
                return self.logical(e)
            case t.Select():
                return self.select(e)
            case t.Convert():
                return self.converted(self.value(e.operand), e.operand.type, e.type)
            case t.Call():
                return self.call(e)
            case t.CallHelper():
                return self.helper(e)[0]
        raise TypeError(f"no expression of the typed tree: {e!r}")

    def opaque(self, name: str = "", dtype: str = "") -> Poly:
        return affine.unknown(self.new(name, dtype))

    def derived(self, name: str, *polys: Poly, dtype: str = "") -> affine.Atom:
        """An unknown that is a function of these: it has one value wherever they have."""
        bound = {scope for a in affine.atoms_of(polys) for scope in self.found.atoms[a].scopes}
        return self.new(name, dtype, scopes=tuple(scope for scope in self.scopes if scope in bound))

    def is_natural(self, poly: Poly) -> bool:
        """Known to be at least 0."""
        return self.ranges.least(poly) >= 0

    def never_negative(self, poly: Poly) -> bool:
        """The same, by the conditions that hold here too."""
        if self.is_natural(poly):
            return True
        below = affine.at_least(affine.constant(-1), poly)
        here = [c for v in self.conditions for c in v.truth]
        return affine.impossible([below, *here, *self.ranges.facts([below, *here])], self.found.atoms)

    def computed(self, parts: list[Value], dtype: str = "", poly: Poly | None = None) -> Value:
        """A value computed from these; without a polynomial, one that is not looked into."""
        here = poly is not None and any(part.here for part in parts)
        if poly is None:
            poly = affine.unknown(self.derived("", *(part.poly for part in parts), dtype=dtype))
        return Value(
            poly,
            frozenset().union(*(part.varies for part in parts)),
            frozenset().union(*(part.loads for part in parts)),
            here=here,
        )

    def facts(self, values: Iterable[Value], *cases: Iterable[Constraint], here: bool = False) -> list[Constraint]:
        """One of the cases, said of what these values make. Facts hold wherever somebody asks; of a value that is so
        only under conditions, or what is said of it `here`, they hold unless one of these does not."""
        if here or any(value.here for value in values):
            cases += tuple(v.falsity for v in self.conditions if v.truth and not v.always)
        return alternatives(*cases)

    def arithmetic(self, parts: list[Value], dtype: str, poly: Poly, once: Poly | None = None) -> Value:
        """A value that is this polynomial modulo the width of its type: the polynomial itself where it is known to stay
        in the type, else an unknown. `once`: what it is up to one turn around the width, said of the unknown."""
        least, most = of_type(dtype)
        if self.ranges.within(poly, least, most):
            return replace(self.computed(parts, dtype, poly), here=False)
        if self.held_within(poly, least, most):
            return replace(self.computed(parts, dtype, poly), here=True)
        result = self.computed(parts, dtype)
        turn = 1 << bits_of(dtype)
        if once is not None or self.ranges.within(poly, least - turn, most + turn):
            self.turned(parts, result.poly, poly if once is None else once, least, most)
        return result if dtype.startswith("u") else replace(result, modular=(poly, bits_of(dtype)))

    def turned(self, parts: list[Value], result: Poly, poly: Poly, least: int, most: int) -> None:
        """The result, an unknown, is the polynomial brought into a type by at most one turn."""
        turn, constant = most - least + 1, affine.constant
        cases: list[tuple[Constraint, ...]] = [(affine.equal(result, poly), *affine.between(poly, least, most))]
        if self.ranges.most(poly) > most:
            cases.append((affine.equal(affine.add(result, constant(turn)), poly),
                          affine.at_least(poly, constant(most + 1))))  # fmt: skip
        if self.ranges.least(poly) < least:
            cases.append((affine.equal(affine.add(result, constant(-turn)), poly),
                          affine.at_least(constant(least - 1), poly)))  # fmt: skip
        (number,) = affine.atoms_of([result])
        self.found.atoms[number].facts += self.facts(parts, *cases)
        self.found.atoms[number].turns = True

    def is_above(self, poly: Poly, least: int) -> bool:
        """Known to be more than the least value of its type."""
        return self.ranges.least(poly) > least or self.held_within(poly, least + 1, MOST)

    def held_within(self, poly: Poly, least: int, most: int) -> bool:
        """The conditions that hold here keep the polynomial between the two."""
        here = [c for v in self.conditions for c in v.truth]
        if not here or not self.thorough:
            return False
        facts = self.ranges.facts([*here, affine.at_least(poly, {})])
        outside = (
            affine.at_least(poly, affine.constant(most + 1)),
            affine.at_least(affine.constant(least - 1), poly),
        )
        return all(affine.impossible([each, *here, *facts], self.found.atoms) for each in outside)

    def number(self, value: Value, bits: int) -> Poly:
        """What a value is modulo 2 ** bits."""
        return value.modular[0] if value.modular and value.modular[1] >= bits else value.poly

    def place(self, value: Value) -> Poly:
        """An index of an array; if the arithmetic that gives it wraps only after it has left the array, which is an
        error, then as if it did not."""
        return value.modular[0] if value.modular and never_wraps(self, *value.modular) else value.poly

    def converted(self, operand: Value, source: str, target: str) -> Value:
        if widens(source, target):
            return operand
        if is_integer(source) and is_integer(target):
            return self.arithmetic([operand], target, self.number(operand, bits_of(target)))
        if source == "bool" and is_integer(target):
            return self.chosen([operand], target, operand, affine.constant(1), {})
        return self.computed([operand], target)

    def chosen(self, parts: list[Value], dtype: str, condition: Value, then: Poly, otherwise: Poly) -> Value:
        """An integer made of these parts that is the one where a condition holds, and the other where it does not."""
        result = self.computed(parts, dtype)
        (number,) = affine.atoms_of([result.poly])
        atom = self.found.atoms[number]
        atom.facts += self.facts(
            parts,
            (*condition.truth, affine.equal(result.poly, then)),
            (*condition.falsity, affine.equal(result.poly, otherwise)),
        )
        self.bounded(atom, min, max, then, otherwise)
        return result

    def load(self, e: t.Load) -> Value:
        outer, self.thorough = self.thorough, self.arrays.get(e.array, e.array) in self.watched
        indices = [self.value(index) for index in e.indices]
        self.thorough = outer
        access = self.record(e, indices)
        varies = frozenset().union(*(index.varies for index in indices))
        if access.array in self.found.stored or access.array in self.tree.arrays:
            varies |= frozenset(self.scopes)
        loads = frozenset((access.number,)).union(*(index.loads for index in indices))
        return Value(self.opaque(e.array, e.type), varies, loads)

    def unary(self, e: t.Unary) -> Value:
        operand = self.value(e.operand)
        if e.op == "not":
            return Value(self.opaque(), operand.varies, operand.loads, operand.falsity, operand.truth)
        if e.op == "-" and is_integer(e.type):
            return self.arithmetic([operand], e.type, affine.add({}, self.number(operand, bits_of(e.type)), -1))
        return self.computed([operand], e.type)

    def binary(self, e: t.Binary) -> Value:
        left, right = self.value(e.left), self.value(e.right)
        if e.type == "bool" and e.op in ("&", "|"):
            return self.joined("and" if e.op == "&" else "or", left, right)
        if not is_integer(e.type):
            return self.computed([left, right], e.type)
        poly = self.ring(e, left, right)
        if poly is not None:
            once = affine.add(left.poly, right.poly, 1 if e.op == "+" else -1) if e.op in ("+", "-") else None
            return self.arithmetic([left, right], e.type, poly, once)
        a, b, by = left.poly, right.poly, affine.constant_of(right.poly)
        if e.op in ("//", "%"):
            poly = self.divided(a, b, e.op, e.type)
        elif e.op == "<<" and self.is_natural(a):
            poly = self.shifted(a, b, e.type)
        elif e.op == ">>" and by is not None and 0 <= by < bits_of(e.type):
            poly = self.divided(a, affine.constant(1 << by), "//")
        elif e.op == "&" and by is not None and by > 0 and not by & (by + 1):
            poly = self.divided(a, affine.constant(by + 1), "%")
        return self.computed([left, right], e.type, poly)

    def ring(self, e: t.Binary, left: Value, right: Value) -> Poly | None:
        """What commutes with taking it modulo the width of the type: sums, differences, products."""
        bits = bits_of(e.type)
        a, b, by = self.number(left, bits), self.number(right, bits), affine.constant_of(right.poly)
        if e.op in ("+", "-"):
            return affine.add(a, b, 1 if e.op == "+" else -1)
        if e.op == "*" and affine.degree(a) + affine.degree(b) <= _MOST:
            return affine.multiply(a, b)
        if e.op == "<<" and by is not None and 0 <= by < bits:
            return affine.multiply(a, affine.constant(1 << by))
        return None

    def divided(self, a: Poly, b: Poly, op: str, dtype: str = "int64") -> Poly | None:
        """a // b or a % b as an unknown quotient or rest, with what the division says of them; b = 0 gives 0."""
        by = affine.constant_of(b)
        if (by is not None and by <= 0) or affine.degree(b) > 1:
            return None
        if not self.is_natural(b) and self.ranges.least(a) <= of_type(dtype)[0]:
            return None  # the least number of a type by -1 is itself
        key = frozenset(a.items()), frozenset(b.items())
        if key not in self.divisions:
            quotient, rest = self.derived("quotient", a, b), self.derived("rest", a, b)
            quotient.natural = self.is_natural(a) and self.is_natural(b)
            rest.natural = self.is_natural(b)
            quotient.index = rest.index = True
            low, high = self.ranges.least(a), self.ranges.most(a)
            far = max(abs(low), abs(high))
            quotient.least, quotient.most = (low // by, high // by) if by is not None else (-far, far)
            rest.least, rest.most = min(self.ranges.least(b) + 1, 0), max(self.ranges.most(b) - 1, 0)
            if low >= 0:
                rest.most = min(rest.most, high)
            if rest.natural:
                rest.below = b if self.ranges.least(b) > 0 else affine.add(b, affine.constant(1))  # by 0 it is 0
            q, r = affine.unknown(quotient), affine.unknown(rest)
            one = affine.constant(1)
            exact = affine.equal(affine.add(affine.multiply(b, q), r), a)
            above = [exact, affine.at_least(b, affine.add(r, one)), affine.at_least(r, {}), affine.at_least(b, one)]
            facts = above
            if by is None:
                nothing = [affine.equal(x, {}) for x in (b, q, r)]
                below = [exact, affine.at_least(r, affine.add(b, one)), affine.at_least({}, r),
                         affine.at_least({}, affine.add(b, one))]  # fmt: skip
                facts = alternatives(above, nothing, *([] if self.is_natural(b) else [below]))
            quotient.facts += facts
            rest.facts += facts
            self.divisions[key] = q, r
        return self.divisions[key][op == "%"]

    def shifted(self, a: Poly, b: Poly, dtype: str) -> Poly | None:
        """a << b for a natural a and a b that is not known: at least a, or 0 where the count is outside the width."""
        bits, most = bits_of(dtype), of_type(dtype)[1]
        highest = self.ranges.most(a) << min(max(self.ranges.most(b), 0), bits)
        if highest > most:
            return None
        atom = self.derived("", a, b, dtype=dtype)
        atom.natural, atom.least, atom.most = True, 0, highest
        shifted = affine.unknown(atom)
        last = affine.constant(bits - 1)
        inside = (affine.at_least(b, {}), affine.at_least(last, b), affine.at_least(shifted, a))
        above = (affine.at_least(b, affine.constant(bits)), affine.equal(shifted, {}))
        below = (affine.at_least(affine.constant(-1), b), affine.equal(shifted, {}))
        atom.facts += alternatives(inside, above, below)
        return shifted

    def compare(self, e: t.Compare) -> Value:
        left, right = self.value(e.left), self.value(e.right)
        parts = self.computed([left, right], "bool")
        if not is_integer(e.left.type):
            return parts
        truth = (relation(e.op, left.poly, right.poly),)
        falsity = (relation(_NEGATED[e.op], left.poly, right.poly),)
        return Value(parts.poly, parts.varies, parts.loads, truth, falsity)

    def logical(self, e: t.BoolOp) -> Value:
        left = self.value(e.left)
        reached = left.truth if e.op == "and" else left.falsity
        with self.assuming(Value({}, left.varies, left.loads, reached)):
            right = self.value(e.right)
        return self.joined(e.op, left, right)

    def joined(self, op: str, left: Value, right: Value) -> Value:
        parts = self.computed([left, right], "bool")
        if op == "and":
            either, both = alternatives(left.falsity, right.falsity), left.truth + right.truth
            return Value(parts.poly, parts.varies, parts.loads, both, tuple(either))
        either, both = alternatives(left.truth, right.truth), left.falsity + right.falsity
        return Value(parts.poly, parts.varies, parts.loads, tuple(either), both)

    def select(self, e: t.Select) -> Value:
        condition = self.value(e.condition)
        with self.assuming(condition):
            then = self.value(e.then)
        refused = Value({}, condition.varies, condition.loads, condition.falsity)
        with self.assuming(refused):
            otherwise = self.value(e.otherwise)
        parts = [condition, then, otherwise]
        if is_integer(e.type):
            return self.chosen(parts, e.type, condition, then.poly, otherwise.poly)
        return self.computed(parts, e.type)

    def bounded(self, atom: affine.Atom, low: Extreme, high: Extreme, *polys: Poly) -> None:
        """The unknown is between the `low` of what is least of these and the `high` of what is most."""
        atom.least = max(atom.least, low(map(self.ranges.least, polys)))
        atom.most = min(atom.most, high(map(self.ranges.most, polys)))
        atom.natural = atom.natural or atom.least >= 0

    def call(self, e: t.Call) -> Value:
        parts = [self.value(argument) for argument in e.arguments]
        if not is_integer(e.type):
            return self.computed(parts, e.type)
        if e.function == "where":
            return self.chosen(parts, e.type, parts[0], parts[1].poly, parts[2].poly)
        a = parts[0].poly
        if e.function in ("min", "max"):
            return self.computed(parts, poly=self.extreme(e.function, a, parts[1].poly, e.type, parts))
        result = self.computed(parts, e.type)
        (number,) = affine.atoms_of([result.poly])
        atom = self.found.atoms[number]
        if e.function == "abs" and self.is_above(a, of_type(e.type)[0]):  # which is its own absolute value
            atom.facts += self.facts(
                parts,
                (affine.at_least(a, {}), affine.equal(result.poly, a)),
                (affine.at_least({}, a), affine.equal(result.poly, affine.add({}, a, -1))),
                here=self.ranges.least(a) <= of_type(e.type)[0],
            )
            atom.most = min(atom.most, max(-self.ranges.least(a), self.ranges.most(a)))
            atom.least, atom.natural = 0, True
        elif e.function in _BOUNDS:
            least, most = _BOUNDS[e.function]
            self.bounded(atom, min, max, affine.constant(least), affine.constant(min(most, of_type(e.type)[1])))
        return result

    def extreme(self, op: str, a: Poly, b: Poly, dtype: str = "int64", parts: Iterable[Value] = ()) -> Poly:
        atom = self.derived("", a, b, dtype=dtype)
        result = affine.unknown(atom)
        for part in (a, b):
            low, high = (part, result) if op == "max" else (result, part)
            atom.facts += self.facts(parts, (affine.at_least(high, low),))
        atom.facts += self.facts(parts, (affine.equal(result, a),), (affine.equal(result, b),))
        least = min if op == "min" else max
        self.bounded(atom, least, least, a, b)
        return result

    def helper(self, e: t.CallHelper) -> list[Value]:
        """The results of a helper, walked with the values of its arguments."""
        helper = self.helpers[e.helper]
        environment, arrays, given = {}, {}, []
        for parameter, argument in zip(helper.parameters, e.arguments):
            if isinstance(argument, t.ArrayName):
                arrays[parameter.name] = self.arrays.get(argument.name, argument.name)
            else:
                environment[parameter.name] = self.value(argument)
                given.append(environment[parameter.name])
        saved = self.environment, self.arrays, self.at, self.path, self.leaving
        self.environment, self.arrays = environment, arrays
        self.returned.append([])
        self.block(helper.body, None)
        self.environment, self.arrays, self.at, self.path, self.leaving = saved
        returned = self.returned.pop()
        if len(returned) == 1:
            return returned[0]
        return [
            self.computed([*(values[k] for values in returned), *given], dtype) for k, dtype in enumerate(helper.types)
        ]


def alternatives(*groups: Iterable[Constraint]) -> list[Constraint]:
    """`affine.either` as facts: none where it says nothing."""
    one = affine.either(*groups)
    return [one] if one else []


def relation(op: str, a: Poly, b: Poly) -> Constraint:
    one = affine.constant(1)
    match op:
        case "<":
            return affine.at_least(b, affine.add(a, one))
        case "<=":
            return affine.at_least(b, a)
        case ">":
            return affine.at_least(a, affine.add(b, one))
        case ">=":
            return affine.at_least(a, b)
        case "==":
            return affine.equal(a, b)
    return affine.unequal(a, b)
