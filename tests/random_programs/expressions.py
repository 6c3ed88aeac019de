"""Random expressions of a wanted kind, valid by construction: types, literals that fit, indices in range."""

from __future__ import annotations

from .elements import Elements, bare
from .values import Expr, Retry, common, fits, folded, literal, rank, real_of

LONGEST = 110  # characters of an expression


class Expressions(Elements):
    """Operators and functions over them. What rounds otherwise than IEEE says is left to the statements."""

    # ----------------------------------------------------------------------------------------------- choosing

    def expr(self, kind: int, depth: int) -> Expr:
        """An expression of a kind: 0 bool, 1 integer, 2 float, 3 complex."""
        leaf, grown = _TABLE[kind]
        for _ in range(30):
            method = self.rng.choice(grown if depth > 0 and self.chance(0.7) else leaf)
            self.kind = kind
            try:
                made = getattr(self, method)(depth)
            except Retry:
                continue
            if made.rank == kind and len(made.text) < LONGEST and self.has.allows(made):
                return made
        return self.literal_of(kind)

    def of_any_kind(self, depth: int, most: int = 2) -> Expr:
        return self.expr(self.rng.choice((0, 1, 1, 2, 2, 3)[: 3 + most]), depth)

    def typed(self, dtype: str, depth: int) -> Expr:
        """A strong expression of exactly this dtype."""
        made = self.expr(rank(dtype) if self.chance(0.8) or dtype in self.has.complexes else self.rng.randint(0, 2), depth)
        return self.cast(made, dtype)

    def storable(self, dtype: str, depth: int) -> Expr:
        """What may be stored into an element of this dtype: anything that converts."""
        made = (
            self.expr(rank(dtype), depth) if self.chance(0.7) else self.of_any_kind(depth, 3 if dtype in self.has.complexes else 2)
        )
        if made.value is not None and rank(dtype) == 1 and made.rank <= 1 and not fits(made.value, dtype):
            return self.cast(made, dtype)
        return made

    def cast(self, made: Expr, dtype: str) -> Expr:
        if made.dtype == dtype and not made.weak:
            return made
        if made.rank == 3 and rank(dtype) in (1, 2):
            made = Expr(f"real({made.text})", real_of(made.dtype), made.weak)
        if made.value is not None and made.rank <= 1 and rank(dtype) == 1 and not fits(made.value, dtype):
            made = literal(7)
        return Expr(f"{self.dtype_name(dtype)}({bare(made.text)})", dtype)

    def dtype_name(self, dtype: str) -> str:
        names = [name for name, chosen in self.type_variables.items() if chosen == dtype]
        return names[0] if names and self.chance(0.5) else dtype

    # ------------------------------------------------------------------------------------- operators, any kind

    def binary(self, op: str, left: Expr, right: Expr) -> Expr:
        if self.chance(0.3):
            left, right = right, left
        value = folded(op, left, right)
        dtype, weak = common(left, right)
        if op in ("<<", "**") and value is None and left.value is not None and right.value is not None:
            raise Retry  # of more bits than numbers of the text may have
        if weak and dtype == "bool" and op not in "&|^":
            dtype = "int64"
        if op == "/" and rank(dtype) <= 1:
            dtype = "float64"
        if op == "**" and right.value is not None and right.value < 0:
            raise Retry
        if value is not None:
            if rank(dtype) == 1 and not fits(value, "int64"):
                raise Retry
            kind = literal(value)
            return Expr(f"({left.text} {op} {right.text})", kind.dtype, True, value)
        return Expr(f"({left.text} {op} {right.text})", dtype, weak)

    def choice_of(self, kind: int, depth: int) -> Expr:
        a, b = self.expr(kind, depth - 1), self.expr(kind if self.chance(0.8) else self.rng.randint(0, kind), depth - 1)
        dtype, weak = common(a, b)
        test = self.condition(depth - 1)
        if self.chance(0.5) or kind == 3:
            return Expr(f"({a.text} if {test} else {b.text})", dtype, weak)
        return Expr(f"where({bare(test)}, {bare(a.text)}, {bare(b.text)})", dtype, weak)

    def choose_0(self, depth: int) -> Expr:
        return self.choice_of(0, depth)

    def choose_1(self, depth: int) -> Expr:
        return self.choice_of(1, depth)

    def choose_2(self, depth: int) -> Expr:
        return self.choice_of(2, depth)

    def choose_3(self, depth: int) -> Expr:
        return self.choice_of(3, depth)

    def condition(self, depth: int) -> str:
        """Text where only the truth counts: a bool, or sometimes a number."""
        if self.chance(0.1):
            return self.of_any_kind(max(depth, 0)).text
        return self.expr(0, max(depth, 0)).text

    def call_helper(self, depth: int) -> Expr:
        helper = self.pick([h for h in self.helpers if len(h.results) == 1])
        return Expr(self.helper_call(helper, depth), helper.results[0])

    def helper_call(self, helper, depth: int) -> str:
        """Text of a call with arguments of the types that the helper was written for."""
        arguments = []
        for parameter in helper.parameters:
            if parameter.dims is None:
                arguments.append(bare(self.typed(parameter.dtype, max(depth - 2, 0)).text))
                continue
            found = [a for a in self.scope.arrays if a.role == "in" and a.dtype == parameter.dtype
                     and len(a.dims) == len(parameter.dims)]  # fmt: skip
            array = self.pick(found)
            if any(isinstance(d, str) and d not in self.scope.positive for d in array.dims):
                raise Retry
            arguments += [array.name, *map(str, array.dims)]
        return f"{helper.name}({', '.join(arguments)})"

    def convert(self, kind: int, depth: int) -> Expr:
        dtype = self.rng.choice([d for d in self.has.dtypes if rank(d) == kind])
        source = self.rng.choice((0, 1, 1, 2, 2, 3))
        if source == 3 and not self.has.complexes:
            raise Retry
        made = self.expr(source, depth - 1)
        if source == 3 and kind in (1, 2):
            raise Retry
        return self.cast(made, dtype) if made.dtype != dtype or made.weak else made

    # -------------------------------------------------------------------------------------------------- bools

    def compare(self, depth: int) -> Expr:
        kind = self.rng.choice((0, 1, 1, 1, 2, 2, 3))
        ops = ("==", "!=") if kind == 3 else ("<", "<=", ">", ">=", "==", "!=")
        count = 3 if self.chance(0.15) else 2
        parts = [
            self.expr(kind if self.chance(0.8) or kind == 3 else self.rng.randint(0, 2), depth - 1)
            for _ in range(count)
        ]
        if any(p.rank == 3 for p in parts):
            ops = ("==", "!=")
        if all(p.value is not None for p in parts):
            raise Retry
        for a, b in zip(parts, parts[1:]):
            if max(a.rank, b.rank) != 1:
                common(a, b)  # integers compare exactly, whatever the literal
        text = parts[0].text
        for part in parts[1:]:
            text += f" {self.rng.choice(ops)} {part.text}"
        links = [a.weak and b.weak for a, b in zip(parts, parts[1:])]
        return Expr(f"({text})", "bool", all(links))

    def logic(self, depth: int) -> Expr:
        if self.chance(0.25):
            operand = self.of_any_kind(depth - 1)
            return Expr(f"(not {operand.text})", "bool", True)
        parts = [self.expr(0, depth - 1) for _ in range(self.rng.choice((2, 2, 3)))]
        word = self.rng.choice((" and ", " or "))
        return Expr(f"({word.join(p.text for p in parts)})", "bool", all(p.weak for p in parts))

    def bits_of_bools(self, depth: int) -> Expr:
        a, b = self.expr(0, depth - 1), self.expr(0, depth - 1)
        op = self.rng.choice("&|^+*")
        if op in "+*" and (a.weak or b.weak):
            raise Retry
        if a.value is not None and b.value is not None:
            raise Retry
        return Expr(f"({a.text} {op} {b.text})", "bool", a.weak and b.weak)

    def invert_bool(self, depth: int) -> Expr:
        operand = self.expr(0, depth - 1)
        if operand.weak:
            raise Retry
        return Expr(f"(~{operand.text})", "bool")

    def classify(self, depth: int) -> Expr:
        operand = self.expr(self.rng.choice((1, 2, 2, 2)), depth - 1)
        return Expr(f"{self.rng.choice(('isnan', 'isinf', 'isfinite'))}({bare(operand.text)})", "bool", operand.weak)

    def extreme_0(self, depth: int) -> Expr:
        return self.extreme(0, depth)

    def convert_0(self, depth: int) -> Expr:
        return self.convert(0, depth)

    # ----------------------------------------------------------------------------------------------- integers

    def arithmetic_1(self, depth: int) -> Expr:
        op = self.rng.choice(("+", "-", "*", "+", "-", "*", "//", "%"))
        return self.binary(op, self.expr(1, depth - 1), self.expr(1 if self.chance(0.9) else 0, depth - 1))

    def bits(self, depth: int) -> Expr:
        a, b = self.expr(1, depth - 1), self.expr(1, depth - 1)
        if rank(common(a, b)[0]) != 1:
            b = self.cast(b, a.dtype)
        return self.binary(self.rng.choice(("&", "|", "^", "<<", ">>")), a, b)

    def power(self, depth: int) -> Expr:
        exponent = literal(self.rng.randrange(6)) if self.chance(0.5) else self.expr(1, depth - 1)
        base = self.expr(1, depth - 1)
        if rank(common(base, exponent)[0]) != 1 or exponent.value is not None and exponent.value < 0:
            raise Retry
        value, (dtype, weak) = folded("**", base, exponent), common(base, exponent)
        if value is not None or base.value is not None and exponent.value is not None:
            raise Retry
        return Expr(f"({base.text} ** {exponent.text})", dtype, weak)

    def unary_1(self, depth: int) -> Expr:
        operand = self.expr(1, depth - 1)
        if operand.value is not None:
            raise Retry
        form = self.rng.choice(("(-{})", "(~{})", "(+{})", "abs({})", "sign({})", "popcount({})", "clz({})",
            "floor({})",
                                "round({})", "real({})", "imag({})", "conj({})"))  # fmt: skip
        text = bare(operand.text) if form[1] not in "-~+" else operand.text
        return Expr(form.format(text), operand.dtype, operand.weak)

    def extreme(self, kind: int, depth: int) -> Expr:
        parts = [self.expr(kind, depth - 1) for _ in range(self.rng.choice((2, 2, 3)))]
        dtype, weak = common(*parts)
        if all(p.value is not None for p in parts):
            raise Retry
        return Expr(f"{self.rng.choice(('min', 'max'))}({', '.join(bare(p.text) for p in parts)})", dtype, weak)

    def extreme_1(self, depth: int) -> Expr:
        return self.extreme(1, depth)

    def convert_1(self, depth: int) -> Expr:
        return self.convert(1, depth)

    # ------------------------------------------------------------------------------------------------- floats

    def arithmetic_2(self, depth: int) -> Expr:
        op = self.rng.choice(("+", "-", "*", "+", "-", "*", "/", "/", "//", "%") if self.has.is_exact else "+-")
        kinds = (2, 1 if self.chance(0.3) else 2) if op != "/" else self.rng.choice(((2, 2), (1, 1), (2, 1)))
        made = self.binary(op, *(self.expr(kind, depth - 1) for kind in kinds))
        if made.value is not None and abs(made.value) == float("inf"):
            raise Retry
        return made

    def power_2(self, depth: int) -> Expr:
        return self.constant_power(2, depth, ("2", "3", "0.5", "-1", "-0.5", "1.5", "2.5", "4", "8", "-2", "0", "-3.5"))

    def power_3(self, depth: int) -> Expr:
        return self.constant_power(3, depth, ("2", "3", "4", "1", "0"))

    def constant_power(self, kind: int, depth: int, exponents: tuple[str, ...]) -> Expr:
        """What is products and a square root, to the bit."""
        if not self.has.is_exact:
            raise Retry
        base = self.expr(kind, depth - 1)
        if base.value is not None:
            raise Retry
        exponent = self.rng.choice(exponents)
        text = f"pow({bare(base.text)}, {exponent})" if kind == 2 and self.chance(0.2) else f"({base.text} ** {exponent})"
        return Expr(text, base.dtype, base.weak)

    def unary_2(self, depth: int) -> Expr:
        operand = self.expr(2, depth - 1)
        if operand.value is not None:
            raise Retry
        form = self.rng.choice(("(-{})", "(+{})", "abs({})", "sign({})", "floor({})", "ceil({})", "trunc({})",
            "round({})",
                                "sqrt({})", "sqrt({})", "real({})", "imag({})", "conj({})"))  # fmt: skip
        return Expr(form.format(bare(operand.text) if form[0] != "(" else operand.text), operand.dtype, operand.weak)

    def several_2(self, depth: int) -> Expr:
        """fma and copysign; a NaN's sign is nobody's, so the second argument of copysign is an element or literal."""
        a = self.expr(2, depth - 1)
        if self.chance(0.4):
            sign = self.pick([x for x in self.scope.arrays if x.role == "in" and x.dtype in self.has.floats])
            b = Expr(self.element(sign, 0), sign.dtype)
            dtype, weak = common(a, b)
            return Expr(f"copysign({bare(a.text)}, {b.text})", dtype, weak)
        if not self.has.is_exact:
            raise Retry
        parts = a, self.expr(2, depth - 1), self.expr(2 if self.chance(0.8) else 1, depth - 1)
        dtype, weak = common(*parts)
        return Expr(f"fma({', '.join(bare(p.text) for p in parts)})", dtype, weak)

    def extreme_2(self, depth: int) -> Expr:
        return self.extreme(2, depth)

    def convert_2(self, depth: int) -> Expr:
        return self.convert(2, depth)

    def part(self, depth: int) -> Expr:
        operand = self.expr(3, depth - 1)
        if operand.value is not None:
            raise Retry
        return Expr(f"{self.rng.choice(('real', 'imag'))}({bare(operand.text)})", real_of(operand.dtype), operand.weak)

    # ------------------------------------------------------------------------------------------------ complex

    def arithmetic_3(self, depth: int) -> Expr:
        op = self.rng.choice(("+", "-", "*", "/") if self.has.is_exact else "+-")
        return self.binary(op, self.expr(3, depth - 1), self.expr(self.rng.choice((3, 3, 2, 1)), depth - 1))

    def of_parts(self, depth: int) -> Expr:
        dtype = self.rng.choice(self.has.complexes)
        parts = [self.expr(self.rng.choice((1, 2, 2)), depth - 1) for _ in range(2)]
        return Expr(f"{self.dtype_name(dtype)}({', '.join(bare(p.text) for p in parts)})", dtype)

    def unary_3(self, depth: int) -> Expr:
        operand = self.expr(3, depth - 1)
        if operand.value is not None:
            raise Retry
        return Expr(self.rng.choice(("(-{})", "conj({})")).format(operand.text), operand.dtype, operand.weak)

    def convert_3(self, depth: int) -> Expr:
        return self.convert(3, depth)


_LEAF = ["leaf_load", "leaf_load", "leaf_load", "leaf_scalar", "leaf_scalar"]
_TABLE = {
    0: ([*_LEAF, "leaf_literal_0"],
        [*_LEAF, "compare", "compare", "compare", "logic", "bits_of_bools", "invert_bool", "classify", "choose_0",
         "extreme_0", "convert_0", "guarded_load", "call_helper", "over_range"]),
    1: ([*_LEAF, "leaf_index", "leaf_literal_1"],
        [*_LEAF, "leaf_index", "arithmetic_1", "arithmetic_1", "arithmetic_1", "bits", "bits", "power", "unary_1",
         "extreme_1", "choose_1", "convert_1", "guarded_load", "call_helper", "over_range", "over_range"]),
    2: ([*_LEAF, "leaf_literal_2"],
        [*_LEAF, "arithmetic_2", "arithmetic_2", "arithmetic_2", "unary_2", "unary_2", "several_2", "several_2",
        "extreme_2", "power_2",
         "choose_2", "convert_2", "part", "guarded_load", "call_helper", "over_range"]),
    3: ([*_LEAF, "leaf_literal_3"],
        [*_LEAF, "arithmetic_3", "arithmetic_3", "unary_3", "power_3", "of_parts", "choose_3", "convert_3", "guarded_load", "call_helper"]),
}  # fmt: skip
