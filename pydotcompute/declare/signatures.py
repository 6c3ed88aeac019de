"""The grammar of signatures: `(a: T, x: inout T[n]) -> (out: T[n + 1] = 0)`."""

from __future__ import annotations

import re
from typing import Callable, Mapping, NamedTuple, Sequence

from ..errors import DeclarationError, Position
from ..signature import DTYPES, Parameter, Signature
from . import expressions
from .fills import check_fill
from .names import name_problem, near

QUALIFIERS = ("inout", "strided", "broadcast")
ORDERS = ((), ("inout",), ("strided",), ("inout", "strided"), ("broadcast",))
INT64_MAX = 2**63 - 1
TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>[0-9]+)|(?P<op>\.\.\.|->|.)|(?P<end>$))", re.DOTALL)
WRITE = 'write "(x: float32[n]) -> (out: float32[n])"'


class Token(NamedTuple):
    kind: str  # "name" "number" "op" "end"
    text: str
    offset: int

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


class Parsed(NamedTuple):
    signature: Signature
    offsets: dict[str, int]  # of each parameter's name in the text


def parse_signature(
    text: str,
    types: Mapping[str, Sequence[str]] | None = None,
    params: Sequence[str] = (),
    spot: Callable[[int], Position] | None = None,
) -> Parsed:
    """Parse and check a signature: grammar, names, dtypes, bound symbols.

    `types` are the kernel's type variables and their dtypes, `params` the names of its compile-time constants.
    `spot` says where a character of `text` stands in the user's file. Raises DeclarationError.
    """
    spot = spot or (lambda offset: Position("signature", 1, offset + 1, text))
    reader = _Reader(text, dict(types or {}), tuple(params), spot)
    inputs = reader.group("in")
    outputs: list[_Written] = []
    if reader.peek.text == "->":
        reader.next()
        outputs = reader.group("out")
    if reader.peek.kind != "end":
        raise reader.fail(reader.peek, f"expected {'the end' if outputs else repr('->')}, found {reader.peek}", WRITE)
    written = [*inputs, *outputs]
    symbols = _check_names(reader, written)
    parameters = tuple(w.parameter for w in written)
    offsets = {w.parameter.name: w.token.offset for w in written}
    return Parsed(Signature(print_signature(parameters), parameters, symbols), offsets)


def print_signature(parameters: Sequence[Parameter]) -> str:
    """The signature of these parameters, as a user would write it."""

    def one(p: Parameter) -> str:
        words = [word for word in ("inout" if p.role == "inout" else "", p.layout) if word not in ("", "C")]
        dims = "" if p.dims is None else "[" + ", ".join([*(["..."] if p.ellipsis else []), *map(str, p.dims)]) + "]"
        fill = "" if p.fill is None else f" = {p.fill}"
        return f"{p.name}: {' '.join([*words, p.dtype])}{dims}{fill}"

    inputs = ", ".join(one(p) for p in parameters if p.role != "out")
    outputs = ", ".join(one(p) for p in parameters if p.role == "out")
    return f"({inputs}) -> ({outputs})"


class _Dim(NamedTuple):
    value: str | int
    token: Token  # where it begins
    end: int


class _Written(NamedTuple):
    """A parameter and where its parts stand."""

    parameter: Parameter
    token: Token
    dims: tuple[_Dim, ...]


class _Reader:
    def __init__(self, text: str, types: dict[str, Sequence[str]], params: tuple[str, ...], spot: Callable):
        self.text, self.types, self.params, self.spot = text, types, params, spot
        self.tokens, offset = [], 0
        while True:
            match = TOKEN.match(text, offset)
            kind = match.lastgroup
            self.tokens.append(Token(kind, match[kind], match.start(kind)))
            offset = match.end()
            if kind == "end":
                break
        self.index = 0

    @property
    def peek(self) -> Token:
        return self.tokens[self.index]

    def next(self) -> Token:
        token = self.peek
        self.index += token.kind != "end"
        return token

    def fail(self, at: Token | int, message: str, hint: str = "") -> DeclarationError:
        return DeclarationError(message, self.spot(at if isinstance(at, int) else at.offset), hint)

    def expect(self, text: str, where: str, hint: str = "") -> Token:
        if self.peek.text != text:
            raise self.fail(self.peek, f"expected '{text}' {where}, found {self.peek}", hint)
        return self.next()

    def group(self, role: str) -> list[_Written]:
        """`(parameter, …)`; a comma may end it."""
        self.expect("(", "before the arguments" if role == "in" else "before the outputs", WRITE)
        result = []
        while self.peek.text != ")":
            result.append(self.parameter(role))
            if self.peek.text != ",":
                break
            self.next()
        self.expect(")", f"or ',' after {'an argument' if role == 'in' else 'an output'}" if result else "or a name")
        return result

    def parameter(self, role: str) -> _Written:
        name = self.next()
        if name.kind != "name":
            raise self.fail(name, f"expected the name of an {'argument' if role == 'in' else 'output'}, found {name}")
        self.expect(":", f"after '{name.text}'", f"write {name.text}: float32[n]")
        words = []
        while self.peek.kind == "name":
            words.append(self.next())
        if not words or words[-1].text in QUALIFIERS:
            after = words[-1] if words else ":"
            raise self.fail(self.peek, f"expected a dtype after {after}, found {self.peek}".replace("after :", "after ':'"))
        *qualifiers, dtype = words
        self.check_dtype(dtype)
        self.check_qualifiers(qualifiers, role)
        ellipsis, dims = False, None
        if self.peek.text == "[":
            ellipsis, dims = self.dims(role)
        names = [q.text for q in qualifiers]
        if dims is None and names:
            raise self.fail(qualifiers[0], f"a scalar cannot be {names[0]}", "only arrays, with [dimensions], can")
        if "broadcast" in names and (dims or not ellipsis):
            raise self.fail(qualifiers[0], f"broadcast goes with {dtype.text}[...] only")
        fill = None
        if self.peek.text == "=":
            equals = self.next()
            fill = self.fill(equals, role, dtype.text)
        layout = "strided" if "strided" in names else "broadcast" if "broadcast" in names else "C"
        values = None if dims is None else tuple(d.value for d in dims)
        parameter = Parameter(name.text, dtype.text, values, "inout" if "inout" in names else role, ellipsis, layout, fill)
        return _Written(parameter, name, dims or ())

    def check_dtype(self, token: Token) -> None:
        if token.text not in self.types and token.text not in DTYPES:
            known = [*self.types, *DTYPES]
            if len(token.text) <= 2:
                hint = f"declare it: types: {{{token.text}: [float32, float64]}}"
                raise self.fail(token, f"undeclared type variable '{token.text}'", hint)
            hint = near(token.text, known)
            table = f"; dtypes: {', '.join(DTYPES)}" if hint.startswith("did") else ""
            raise self.fail(token, f"unknown dtype '{token.text}'", hint + table)

    def check_qualifiers(self, tokens: list[Token], role: str) -> None:
        for token in tokens:
            if token.text not in QUALIFIERS:
                raise self.fail(token, f"unknown word '{token.text}' before the dtype", near(token.text, QUALIFIERS))
            if role == "out":
                raise self.fail(token, f"an output cannot be {token.text}", "outputs are C-contiguous")
        if tuple(t.text for t in tokens) not in ORDERS:
            together = " ".join(t.text for t in tokens)
            raise self.fail(tokens[0], f"'{together}' do not go together", "write inout, strided, inout strided or broadcast")

    def dims(self, role: str) -> tuple[bool, tuple[_Dim, ...]]:
        opened, ellipsis, dims = self.next(), False, []
        if self.peek.text == "]":
            raise self.fail(opened, "no dimensions in [ ]", "a scalar is written without brackets")
        while True:
            if self.peek.text == "...":
                dots = self.next()
                if ellipsis or dims:
                    raise self.fail(dots, "'...' stands first, and once")
                ellipsis = True
            else:
                dims.append(self.dim(role))
            token = self.next()
            if token.text == "]":
                return ellipsis, tuple(dims)
            if token.text != ",":
                raise self.fail(token, f"expected ']' or ',' after a dimension, found {token}")

    def dim(self, role: str) -> _Dim:
        first, start, depth = self.peek, self.index, 0
        while self.peek.kind != "end" and (depth or self.peek.text not in (",", "]")):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(self.peek.text, 0)
            if depth < 0:
                break
            self.next()
        tokens = self.tokens[start : self.index]
        if not tokens:
            raise self.fail(first, f"expected a dimension, found {first}")
        end = tokens[-1].offset + len(tokens[-1].text)
        if len(tokens) == 1 and first.kind == "name":
            return _Dim(first.text, first, end)
        if len(tokens) == 1 and first.kind == "number":
            if len(first.text) > 19 or int(first.text) > INT64_MAX:
                raise self.fail(first, "the dimension is too large", "dimensions have 64 bits")
            return _Dim(int(first.text), first, end)
        if role == "in":
            hint = "only an output's dimension can be an expression"
            raise self.fail(first, "an argument's dimension is a symbol or a number", hint)
        return _Dim(self.text[first.offset : end], first, end)

    def fill(self, equals: Token, role: str, dtype: str) -> str:
        if role != "out":
            raise self.fail(equals, "an argument has no fill", "only an output can be filled")
        first, start = self.peek, self.index
        while self.peek.kind != "end" and self.peek.text not in (",", ")"):
            self.next()
        last = self.tokens[self.index - 1]
        text = self.text[first.offset : last.offset + len(last.text)] if self.index > start else ""
        return check_fill(text, self.types.get(dtype, (dtype,)), lambda m, h="": self.fail(first, m, h))


def _check_names(reader: _Reader, written: list[_Written]) -> tuple[str, ...]:
    """Names that clash, symbols that nothing binds. Returns the dimension symbols in order of first appearance."""
    fail, parameters = reader.fail, {}
    for w in written:
        name = w.parameter.name
        if problem := name_problem(name):
            raise fail(w.token, *problem)
        for others, what in ((parameters, "an argument or output"), (reader.types, "a type variable"), (reader.params, "a param")):
            if name in others:
                raise fail(w.token, f"'{name}' is already the name of {what}", "choose another name")
        parameters[name] = w.parameter

    def integer_scalar(name: str) -> bool:
        p = parameters.get(name)
        if p is None or p.is_array or p.role != "in":
            return False
        return all("int" in dtype for dtype in reader.types.get(p.dtype, (p.dtype,)))

    implied = {("rows" if w.parameter.dims else "size"): w for w in reversed(written) if w.parameter.ellipsis}
    for name, owner in implied.items():
        shape = f"{owner.parameter.dtype}[{'..., n' if owner.parameter.dims else '...'}]"
        for w in written:
            clash = w.token if w.parameter.name == name else None
            clash = clash or next((d.token for d in w.dims if d.value == name and w.parameter.role != "out"), None)
            if clash:
                raise fail(clash, f"'{name}' already means what {shape} gives: its number of {'rows' if name == 'rows' else 'elements'}",
                           "choose another name")  # fmt: skip

    bound: dict[str, None] = {}
    if any(w.parameter.ellipsis and w.parameter.role != "out" for w in written):
        bound |= dict.fromkeys(implied)
    symbols: dict[str, None] = {}
    for w in written:
        if w.parameter.role != "out":
            for d in w.dims:
                if isinstance(d.value, str):
                    _check_symbol(reader, d, parameters, integer_scalar)
                    bound[d.value] = None
    scalars = [name for name in parameters if integer_scalar(name)]
    known = (*bound, *scalars, *reader.params)
    for k, w in enumerate(written):
        p = w.parameter
        if p.ellipsis:
            if p.role == "out" and not bound.keys() & {"size", "rows"}:
                raise fail(w.token, f"nothing gives '{p.name}' its shape", "'...' in an output needs an argument with '...'")
            symbols["rows" if p.dims else "size"] = None
        values: list[str | int] = []
        for d in w.dims:
            values.append(d.value)
            if not isinstance(d.value, str):
                continue
            if p.role == "out":
                values[-1] = _check_output_dim(reader, d, known, parameters)
            symbols |= {n: None for n in expressions.used_names(d.value) if n not in reader.params}
        if w.dims:
            written[k] = w._replace(parameter=p._replace(dims=tuple(values)))
    return tuple(symbols)


def _check_symbol(reader: _Reader, dim: _Dim, parameters: dict[str, Parameter], integer_scalar: Callable) -> None:
    name = dim.value
    if problem := name_problem(name):
        raise reader.fail(dim.token, *problem)
    if name in reader.types:
        raise reader.fail(dim.token, f"'{name}' is already the name of a type variable", "choose another name")
    if name in reader.params:
        raise reader.fail(dim.token, f"'{name}' is a param, and an argument's dimension is a symbol or a number",
                          f'write n, and requires: ["n == {name}"]')  # fmt: skip
    if name in parameters and not integer_scalar(name):
        raise reader.fail(dim.token, f"'{name}' cannot be a dimension: it is {_described(reader, parameters[name])}",
                          "an integer scalar argument can")  # fmt: skip


def _described(reader: _Reader, p: Parameter) -> str:
    if p.role == "out":
        return "an output"
    return "an array" if p.is_array else f"a scalar of type {' or '.join(reader.types.get(p.dtype, (p.dtype,)))}"


def _check_output_dim(reader: _Reader, dim: _Dim, known: tuple[str, ...], parameters: dict[str, Parameter]) -> str:
    """An output's dimension on one line, its names bound."""
    text, offset = reader.text[dim.token.offset : dim.end], dim.token.offset
    try:
        names = expressions.used_names(text)
    except SyntaxError:
        names = []  # told by the check below, with its place
    for name in names:
        if name in parameters and name not in known:
            raise reader.fail(dim.token, f"'{name}' cannot be a dimension: it is {_described(reader, parameters[name])}",
                              "an integer scalar argument can")  # fmt: skip
    expressions.check(text, "integer", known, lambda k: reader.spot(offset + k), "bound by any argument")
    return " ".join(text.split())
