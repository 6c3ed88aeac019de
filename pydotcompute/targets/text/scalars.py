"""Operations on values as text: the arithmetic of the kernel language, in whatever a dialect offers for it."""

from __future__ import annotations

from ...ir.dtypes import COMPLEX, FLOATS, INTEGER_BITS
from ..names import Names
from .dialect import Dialect
from .layout import Layout

_EXACT_INTEGERS = ("floor", "ceil", "trunc", "round", "conj", "real")
_EMULATED = {"+": "plus", "-": "minus", "*": "times", "/": "divided"}
_COMPARED = {  # the function that says it or its contrary, and whether of the operands swapped
    "==": ("same", False), "!=": ("same", False), "<": ("below", False), ">": ("below", True), ">=": ("below", False),
    "<=": ("below", True),
}  # fmt: skip
_CERTAIN = {  # the same of floats, of which NaN is neither below nor above
    **_COMPARED, ">=": ("upto", True), "<=": ("upto", False),
}  # fmt: skip
_BOOLS = {"+": "||", "|": "||", "*": "&&", "&": "&&", "^": "!=", "-": "!="}


class Scalars:
    """Texts of operations on operands of one dtype; `needed` collects what the language lacks and a file must define:
    (name, dtype) → the name of its function."""

    def __init__(self, dialect: Dialect, names: Names):
        self.dialect, self.names = dialect, names
        self.needed: dict[tuple[str, str], str] = {}
        self.texts: list[list[str]] = []  # of those functions, what they call before them
        self.features: set[str] = set()
        self.layout = Layout()
        self.updated: frozenset[str] = frozenset()  # dtypes of elements that atomics update, in any of the kernels

    # ---------------------------------------------------------------------------------------------- functions

    def call(self, name: str, dtype: str, *arguments: str) -> str:
        """A call of a function of the language's, or of one of the library's."""
        own = self.dialect.functions.get((name, dtype))
        return f"{own or self.define(name, dtype)}({', '.join(arguments)})"

    def define(self, name: str, dtype: str) -> str:
        key = name, dtype
        if key not in self.needed:
            made = self.names.fresh(f"{name}_{dtype}")
            text = self.dialect.library[name](self, dtype, made)
            self.needed[key] = made
            self.texts.append(text)
        return self.needed[key]

    def type(self, dtype: str) -> str:
        return self.dialect.types[dtype]

    def constant(self, value, dtype: str) -> str:
        if dtype in COMPLEX:
            part, value = COMPLEX[dtype], complex(value)
            return self.dialect.pair(dtype, *(self.dialect.constant(x, part) for x in (value.real, value.imag)))
        return self.dialect.constant(value, dtype)

    # --------------------------------------------------------------------------------------------- operators

    def unary(self, op: str, dtype: str, x: str) -> str:
        if op == "not":
            return f"(!{x})" if dtype == "bool" else self.compare("==", dtype, x, self.constant(0, dtype))
        if op == "~":
            return f"(!{x})" if dtype == "bool" else self.narrow(dtype, f"~{x}")
        if dtype in self.dialect.emulated:
            return self.call("negative", dtype, x)
        if dtype in INTEGER_BITS:
            negated = self.dialect.negated
            if dtype in self.dialect.wrapping:
                return negated(dtype, x)
            return self.wrapped(dtype, negated(self.wide(dtype), self.unsigned(dtype, x)))
        return f"(-{x})"

    def narrow(self, dtype: str, text: str) -> str:
        """The result of an integer operation that may have been done in a wider type."""
        return f"({text})" if INTEGER_BITS[dtype] >= 32 else self.dialect.cast(dtype, text, dtype)

    def unsigned(self, dtype: str, text: str) -> str:
        """An integer in the unsigned type in which its arithmetic wraps."""
        return self.dialect.cast(self.wide(dtype), text, dtype) if self.wide(dtype) != dtype else text

    def wide(self, dtype: str) -> str:
        return "uint64" if INTEGER_BITS[dtype] == 64 else "uint32"

    def wrapped(self, dtype: str, text: str) -> str:
        """Back from there."""
        return self.dialect.cast(dtype, text, self.wide(dtype)) if self.wide(dtype) != dtype else f"({text})"

    def binary(self, op: str, dtype: str, x: str, y: str, count: int | None = None) -> str:
        """count: of a shift, where it is known."""
        if dtype == "bool":
            return f"({x} {_BOOLS[op]} {y})"
        if dtype in self.dialect.emulated and op in _EMULATED:
            return self.call(_EMULATED[op], dtype, x, y)
        if dtype in INTEGER_BITS:
            if op in "+-*" and op != "**":
                return self.wrapped(dtype, f"{self.unsigned(dtype, x)} {op} {self.unsigned(dtype, y)}")
            if op in "&|^":
                return self.narrow(dtype, f"{x} {op} {y}")
            if op in ("<<", ">>") and dtype not in self.dialect.emulated and 0 <= (count or -1) < INTEGER_BITS[dtype]:
                by = self.constant(count, "uint32")
                if op == "<<":
                    return self.wrapped(dtype, f"{self.unsigned(dtype, x)} << {by}")
                return self.narrow(dtype, f"{x} >> {by}")
            named = {"//": "floordiv", "%": "mod", "<<": "shl", ">>": "shr", "**": "power"}[op]
            return self.call(named, dtype, x, y)
        if op in ("//", "%"):
            return self.call({"//": "floordiv", "%": "mod"}[op], dtype, x, y)
        if op == "**":
            return self.call("pow", dtype, x, y)
        if dtype in COMPLEX and op in "*/":
            return self.call({"*": "mul", "/": "div"}[op], dtype, x, y)
        return f"({x} {op} {y})"

    def fused(self, dtype: str, x: str, y: str, z: str) -> str:
        """x * y + z, rounded once."""
        return self.call("fma", dtype, x, y, z)

    def compare(self, op: str, dtype: str, x: str, y: str) -> str:
        if dtype in COMPLEX:
            same = self.call("same", dtype, x, y)
            return same if op == "==" else f"(!{same})"
        ordered = dtype != "bool" or op in ("==", "!=") or self.dialect.orders_bools
        if dtype in self.dialect.emulated or not ordered:
            function, swapped = _COMPARED[op]
            found = self.call(function, dtype, *((y, x) if swapped else (x, y)))
            return f"(!{found})" if op in ("!=", "<=", ">=") else found
        if dtype in self.dialect.doubtful:
            function, swapped = _CERTAIN[op]
            found = self.call(function, dtype, *((y, x) if swapped else (x, y)))
            return f"(!{found})" if op == "!=" else found
        return f"({x} {op} {y})"

    # ------------------------------------------------------------------------------------------- conversions

    def convert(self, text: str, source: str, target: str) -> str:
        """float → int truncates, saturates, NaN gives 0; int → int wraps; → bool is != 0; complex → real drops."""
        if source == target:
            return text
        if source in COMPLEX:
            part = COMPLEX[source]
            real, imaginary = (f"{text}.{k}" for k in "xy")
            if target in COMPLEX:
                parts = [self.convert(one, part, COMPLEX[target]) for one in (real, imaginary)]
                return self.dialect.pair(target, *parts)
            if target == "bool":
                return f"({self.truth(part, real)} || {self.truth(part, imaginary)})"
            return self.convert(real, part, target)
        if target in COMPLEX:
            part = COMPLEX[target]
            return self.dialect.pair(target, self.convert(text, source, part), self.constant(0, part))
        if target == "bool":
            return self.truth(source, text)
        if target in INTEGER_BITS and source in FLOATS:
            return self.call(f"saturate_{target}", source, text)
        if source in self.dialect.emulated or target in self.dialect.emulated:
            return self.call(f"to_{target}", source, text)
        return self.dialect.cast(target, text, source)

    def truth(self, dtype: str, text: str) -> str:
        """Whether a number is not 0; NaN is not."""
        if dtype in self.dialect.doubtful:
            return self.call("truth", dtype, text)
        return self.compare("!=", dtype, text, self.constant(0, dtype))

    @property
    def index(self) -> str:
        """The dtype of what the printer itself counts."""
        return self.dialect.index

    def counted(self, text: str) -> str:
        """What the printer has counted, as an integer of the user's."""
        return self.convert(text, self.index, "int64")

    # ---------------------------------------------------------------------------------------- listed functions

    def function(self, name: str, dtype: str, result: str, arguments: list[str]) -> str:
        """A listed function on operands of `dtype` (of `where`: the last two)."""
        if name == "where":
            return self.dialect.choose(dtype, *arguments)
        if name == "complex_of":
            return self.dialect.pair(result, *arguments)
        if dtype in COMPLEX:
            return self._of_complex(name, dtype, arguments)
        if dtype in INTEGER_BITS or dtype == "bool":
            return self._of_integers(name, dtype, result, arguments)
        x = arguments[0]
        if name in ("conj", "real"):
            return x
        if name == "imag":
            return self.constant(0, dtype)
        if name == "isnan":
            return self.call("isnan", dtype, x)
        return self.call(name, dtype, *arguments)

    def _of_complex(self, name: str, dtype: str, arguments: list[str]) -> str:
        x = arguments[0]
        if name in ("real", "imag"):
            return f"{x}.{'x' if name == 'real' else 'y'}"
        if name == "conj":
            return self.call("conj", dtype, x)
        if name == "abs":
            return self.call("hypot", COMPLEX[dtype], f"{x}.x", f"{x}.y")
        return self.call(name, dtype, *arguments)

    def _of_integers(self, name: str, dtype: str, result: str, arguments: list[str]) -> str:
        x = arguments[0]
        if name in ("isnan", "isinf", "isfinite"):
            return self.constant(name == "isfinite", "bool")
        if name == "of_bits":
            return self.call(name, result, x)
        if name == "imag":
            return self.constant(0, dtype)
        if name in _EXACT_INTEGERS or name == "abs" and (dtype == "bool" or dtype.startswith("u")):
            return x
        if name == "pow":
            return self.binary("**", dtype, arguments[0], arguments[1])
        if dtype == "bool":
            if name in ("min", "max"):
                return self.binary("&" if name == "min" else "|", dtype, arguments[0], arguments[1])
            return self.convert(x if name == "popcount" else f"(!{x})", "bool", result)
        text = self.call(name, dtype, *arguments)
        return self.convert(text, dtype, result) if name in ("popcount", "clz") else text

    # --------------------------------------------------------------------------------------------- reductions

    def combine(self, op: str, dtype: str, x: str, y: str) -> str:
        """Two partial values of a reduction as one."""
        if op in ("min", "max"):
            return self.function(op, dtype, dtype, [x, y])
        symbol = {"sum": "+", "prod": "*", "any": "|", "all": "&", "and": "&", "or": "|", "xor": "^"}[op]
        return self.binary(symbol, dtype, x, y)
