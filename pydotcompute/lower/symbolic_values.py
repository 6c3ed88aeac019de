"""Symbolic values of expressions: integers as polynomials, comparisons as what holds if they are true or false."""

from __future__ import annotations

from . import affine, tree as t
from .accesses import Value
from .affine import Poly

_EXACT = ("int32", "int64")  # index arithmetic in these is taken not to wrap
_MOST = 4  # polynomials of a higher degree are not looked into
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class Values:
    """The half of `symbolic.Walk` that looks at expressions."""

    def value(self, e: t.Expr) -> Value:
        match e:
            case t.Const():
                if e.type.startswith(("int", "uint")):
                    return Value(affine.constant(int(e.value)), certain=True)
                false = () if e.type != "bool" or e.value else (affine.Constraint(()),)
                true = () if e.type != "bool" or not e.value else (affine.Constraint(()),)
                return Value(self.opaque(), truth=false, falsity=true, certain=True)
            case t.Var():
                return self.environment.get(e.name) or Value(self.opaque(e.name, data=True))
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
                operand = self.value(e.operand)
                narrowed = (e.operand.type, e.type) == ("int64", "int32") and not self.any_data(operand.poly)
                if narrowed or widens(e.operand.type, e.type):
                    return operand
                return self.computed([operand])
            case t.Call():
                return self.call(e)
            case t.CallHelper():
                return self.helper(e)[0]
        raise TypeError(f"no expression of the typed tree: {e!r}")

    def opaque(self, name: str = "", data: bool = False) -> Poly:
        return affine.unknown(self.new(name, data))

    def derived(self, name: str, *polys: Poly) -> affine.Atom:
        """An unknown that is a function of these: it has one value wherever they have."""
        atoms = [self.found.atoms[a] for a in affine.atoms_of(polys)]
        bound = {scope for atom in atoms for scope in atom.scopes}
        scopes = tuple(scope for scope in self.scopes if scope in bound)
        return self.new(name, data=any(atom.data for atom in atoms), scopes=scopes)

    def is_natural(self, poly: Poly) -> bool:
        """Known to be at least 0: natural unknowns with coefficients above 0."""
        return all(c > 0 and all(self.found.atoms[a].natural for a in monomial) for monomial, c in poly.items())

    def computed(self, parts: list[Value], poly: Poly | None = None) -> Value:
        """A value computed from these; without a polynomial, one that is not looked into."""
        if poly is None:
            atom = self.derived("", *(part.poly for part in parts))
            atom.hidden = True
            poly = affine.unknown(atom)
        return Value(
            poly,
            frozenset().union(*(part.varies for part in parts)),
            frozenset().union(*(part.loads for part in parts)),
        )

    def load(self, e: t.Load) -> Value:
        indices = [self.value(index) for index in e.indices]
        access = self.record("load", e.array, tuple(index.poly for index in indices), e.at)
        varies = frozenset().union(*(index.varies for index in indices))
        if access.array in self.found.stored or access.array in self.tree.arrays:
            varies |= {scope for scope in self.scopes if scope.parallel}
        loads = frozenset((access.number,)).union(*(index.loads for index in indices))
        return Value(self.opaque(e.array, data=True), varies, loads)

    def unary(self, e: t.Unary) -> Value:
        operand = self.value(e.operand)
        if e.op == "not":
            return Value(self.opaque(), operand.varies, operand.loads, operand.falsity, operand.truth, operand.certain)
        if e.op == "-" and e.type in _EXACT:
            return self.computed([operand], affine.add({}, operand.poly, -1))
        return self.computed([operand])

    def binary(self, e: t.Binary) -> Value:
        left, right = self.value(e.left), self.value(e.right)
        poly = None
        if e.type in _EXACT:
            a, b = left.poly, right.poly
            by = affine.constant_of(b)
            if e.op in ("+", "-"):
                poly = affine.add(a, b, 1 if e.op == "+" else -1)
            elif e.op == "*" and affine.degree(a) + affine.degree(b) <= _MOST:
                poly = affine.multiply(a, b)
            elif e.op in ("//", "%"):
                poly = self.divided(a, b, e.op)
            elif e.op == "<<" and by is None and self.is_natural(a):
                poly = self.shifted(a, b, int(e.type.lstrip("int")))
            elif e.op in ("<<", ">>") and by is not None and 0 <= by < 31:
                power = affine.constant(1 << by)
                poly = affine.multiply(a, power) if e.op == "<<" else self.divided(a, power, "//")
            elif e.op == "&" and by is not None and by > 0 and not by & (by + 1):
                poly = self.divided(a, affine.constant(by + 1), "%")
        elif e.type == "bool" and e.op in ("&", "|"):
            return self.joined("and" if e.op == "&" else "or", left, right)
        return self.computed([left, right], poly)

    def divided(self, a: Poly, b: Poly, op: str) -> Poly | None:
        """a // b or a % b as an unknown quotient or rest, with what the division says of them; b = 0 gives 0."""
        by = affine.constant_of(b)
        if (by is not None and by <= 0) or affine.degree(b) > 1:
            return None
        key = frozenset(a.items()), frozenset(b.items())
        if key not in self.divisions:
            quotient, rest = self.derived("quotient", a, b), self.derived("rest", a, b)
            quotient.natural = self.is_natural(a) and self.is_natural(b)
            rest.natural = self.is_natural(b)
            quotient.index = rest.index = True
            q, r = affine.unknown(quotient), affine.unknown(rest)
            one = affine.constant(1)
            exact = affine.equal(affine.add(affine.multiply(b, q), r), a)
            above = [exact, affine.at_least(b, affine.add(r, one)), affine.at_least(r, {}), affine.at_least(b, one)]
            facts = above
            if by is None:
                nothing = [affine.equal(x, {}) for x in (b, q, r)]
                below = [exact, affine.at_least(r, affine.add(b, one)), affine.at_least({}, r),
                         affine.at_least({}, affine.add(b, one))]  # fmt: skip
                facts = [affine.either(above, nothing, *([] if self.is_natural(b) else [below]))]
            quotient.facts += facts
            rest.facts += facts
            self.divisions[key] = q, r
        return self.divisions[key][op == "%"]

    def shifted(self, a: Poly, b: Poly, bits: int) -> Poly:
        """a << b for a natural a: at least a, or 0 where the count is outside the width."""
        atom = self.derived("", a, b)
        atom.hidden = atom.natural = True
        shifted = affine.unknown(atom)
        last = affine.constant(bits - 1)
        inside = (affine.at_least(b, {}), affine.at_least(last, b), affine.at_least(shifted, a))
        above = (affine.at_least(b, affine.constant(bits)), affine.equal(shifted, {}))
        below = (affine.at_least(affine.constant(-1), b), affine.equal(shifted, {}))
        atom.facts.append(affine.either(inside, above, below))
        return shifted

    def any_data(self, *polys: Poly) -> bool:
        return any(self.found.atoms[a].data for a in affine.atoms_of(polys))

    def compare(self, e: t.Compare) -> Value:
        left, right = self.value(e.left), self.value(e.right)
        parts = self.computed([left, right])
        if e.left.type not in (*_EXACT, "uint8", "uint16", "uint32", "uint64", "int8", "int16"):
            return parts
        certain = not self.any_data(left.poly, right.poly)
        truth = (relation(e.op, left.poly, right.poly),)
        falsity = (relation(_NEGATED[e.op], left.poly, right.poly),)
        return Value(parts.poly, parts.varies, parts.loads, truth, falsity, certain)

    def logical(self, e: t.BoolOp) -> Value:
        left = self.value(e.left)
        reached = left.truth if e.op == "and" else left.falsity
        with self.assuming(Value({}, left.varies, left.loads, reached, certain=left.certain)):
            right = self.value(e.right)
        return self.joined(e.op, left, right)

    def joined(self, op: str, left: Value, right: Value) -> Value:
        parts = self.computed([left, right])
        certain = left.certain and right.certain
        if op == "and":
            one = affine.either(left.falsity, right.falsity)
            both = left.truth + right.truth
            return Value(parts.poly, parts.varies, parts.loads, both, (one,) if one else (), certain)
        one = affine.either(left.truth, right.truth)
        both = left.falsity + right.falsity
        return Value(parts.poly, parts.varies, parts.loads, (one,) if one else (), both, certain)

    def select(self, e: t.Select) -> Value:
        condition = self.value(e.condition)
        with self.assuming(condition):
            then = self.value(e.then)
        refused = Value({}, condition.varies, condition.loads, condition.falsity, certain=condition.certain)
        with self.assuming(refused):
            otherwise = self.value(e.otherwise)
        result = self.computed([condition, then, otherwise])
        if e.type in _EXACT:
            atom = self.found.atoms[next(iter(affine.atoms_of([result.poly])))]
            one = affine.either(
                (*condition.truth, affine.equal(result.poly, then.poly)),
                (*condition.falsity, affine.equal(result.poly, otherwise.poly)),
            )
            atom.facts += [one] if one else []
        return result

    def call(self, e: t.Call) -> Value:
        parts = [self.value(argument) for argument in e.arguments]
        result = self.computed(parts)
        if e.function in ("min", "max") and e.type in _EXACT:
            a, b = (part.poly for part in parts)
            atom = self.found.atoms[next(iter(affine.atoms_of([result.poly])))]
            for part in (a, b):
                low, high = (part, result.poly) if e.function == "max" else (result.poly, part)
                atom.facts.append(affine.at_least(high, low))
            one = affine.either((affine.equal(result.poly, a),), (affine.equal(result.poly, b),))
            atom.facts += [one] if one else []
            atom.natural = (all if e.function == "min" else any)(map(self.is_natural, (a, b)))
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
        saved = self.environment, self.arrays, self.at, self.path
        self.environment, self.arrays = environment, arrays
        self.returned.append([])
        self.block(helper.body, None)
        self.environment, self.arrays, self.at, self.path = saved
        returned = self.returned.pop()
        if len(returned) == 1:
            return returned[0]
        return [self.computed([*(values[k] for values in returned), *given]) for k in range(len(helper.types))]


def relation(op: str, a: Poly, b: Poly) -> affine.Constraint:
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


def widens(source: str, target: str) -> bool:
    """Every value of the one integer type is a value of the other."""
    if not (source.startswith(("int", "uint")) and target.startswith(("int", "uint"))):
        return False
    from_bits, to_bits = (int(name.lstrip("uint")) for name in (source, target))
    if source.startswith("u") == target.startswith("u"):
        return from_bits <= to_bits
    return source.startswith("u") and from_bits < to_bits
