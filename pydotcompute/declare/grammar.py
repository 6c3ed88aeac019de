"""The grammar of one argument or output of a signature, `name: inout strided T[..., n + 1] = 0`, with its places."""

from __future__ import annotations

import re
from typing import Callable, NamedTuple, Sequence

from ..artifact.signature import Parameter
from ..errors import DeclarationError
from .fills import check_fill
from .names import dtype_problem, near
from .possible import Params

QUALIFIERS = ("inout", "strided", "broadcast")
ORDERS = ((), ("inout",), ("strided",), ("inout", "strided"), ("broadcast",))
_NOUNS = {"in": ("an argument", "arguments"), "out": ("an output", "outputs"), "temp": ("scratch", "scratch")}
INT64_MAX = 2**63 - 1
TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>[0-9]+)|(?P<op>\.\.\.|->|.)|(?P<end>$))", re.DOTALL)
WRITE = 'write "(x: float32[n]) -> (out: float32[n])"'
WRITE_TEMP = WRITE[:-1] + ' temp (q: float32[n])", if a call is to have scratch'


class Token(NamedTuple):
    kind: str  # "name" "number" "op" "end"
    text: str
    offset: int

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


class Dim(NamedTuple):
    value: str | int
    token: Token  # where it begins
    end: int
    length: Token | None = None  # of `<= n: count`


class Written(NamedTuple):
    """A parameter and where its parts stand."""

    parameter: Parameter
    token: Token
    dims: tuple[Dim, ...]


class Reader:
    """The tokens of a signature, read one parameter after the other; `fail` makes an error at one of them."""

    def __init__(self, text: str, types: dict[str, Sequence[str]], params: Params, spot: Callable):
        self.text, self.types, self.params, self.spot = text, types, params, spot
        self.tokens: list[Token] = []
        offset = 0
        while True:
            match = TOKEN.match(text, offset)
            assert match is not None and match.lastgroup is not None  # any text begins with a token
            kind = match.lastgroup
            self.tokens.append(Token(kind, match[kind], match.start(kind)))
            offset = match.end()
            if kind == "end":
                break
        self.index = 0
        self.begun = "x: float32"  # the parameter under way, up to its dimensions

    def dtypes(self, name: str) -> Sequence[str]:
        """Those that a type variable stands for, or the dtype itself."""
        return self.types.get(name, (name,))

    def taken(self, name: str) -> str:
        """What a type variable or param of this name is, or ""."""
        return "a type variable" if name in self.types else "a param" if name in self.params else ""

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

    def group(self, role: str) -> list[Written]:
        """`(parameter, …)`; a comma may end it."""
        self.expect("(", f"before the {_NOUNS[role][1]}", WRITE_TEMP if role == "temp" else WRITE)
        result = []
        while self.peek.text != ")":
            result.append(self.parameter(role))
            if role == "in" and len(result) > 1 and result[-2].parameter.fill and not result[-1].parameter.fill:
                before = result[-2].parameter.name
                message = f"'{result[-1].parameter.name}' has no default, and '{before}' before it has one"
                raise self.fail(result[-1].token, message, "put arguments with defaults last")
            if self.peek.text != ",":
                break
            self.next()
        self.expect(")", f"or ',' after {_NOUNS[role][0]}" if result else "or a name", self.after(role, result))
        return result

    def after(self, role: str, written: list[Written]) -> str:
        """What is to be written where neither `)` nor `,` follows a parameter."""
        if not written or self.peek.text in ("->", "") or written[-1].parameter.fill:
            return WRITE
        if self.peek.text in ("(", "{") and not written[-1].dims:
            return self.example
        if self.peek.text == "[":
            return f"write all dimensions together: {self.begun}[m, n]"
        return f"write a comma between two {_NOUNS[role][1]}" if self.peek.kind == "name" else WRITE

    def parameter(self, role: str) -> Written:
        name = self.next()
        if name.kind != "name":
            hint = "a name begins with a letter" if name.kind == "number" else "write x: float32[n]"
            raise self.fail(name, f"expected the name of {_NOUNS[role][0]}, found {name}", hint)
        self.expect(":", f"after '{name.text}'", f"write {name.text}: float32[n]")
        words = []
        while self.peek.kind == "name":
            words.append(self.next())
        if not words or words[-1].text in QUALIFIERS:
            after = str(words[-1]) if words else "':'"
            hint = f"write {name.text}: {words[0].text + ' ' if words else ''}float32[n]"
            raise self.fail(self.peek, f"expected a dtype after {after}, found {self.peek}", hint)
        *qualifiers, dtype = words
        self.begun = f"{name.text}: {dtype.text}"
        for word, following in zip(qualifiers, words[1:]):
            if word.text not in QUALIFIERS and dtype_problem(word.text, self.types) is None:
                hint = f"write {name.text}: {word.text}[{following.text}] for an array"
                raise self.fail(following, f"expected '[', ',' or ')' after '{word.text}', found {following}", hint)
        self.check_dtype(dtype)
        self.check_qualifiers(qualifiers, role)
        ellipsis, dims = False, None
        if self.peek.text == "[":
            ellipsis, dims = self.dims()
        names = [q.text for q in qualifiers]
        if dims is None and names:
            raise self.fail(qualifiers[0], f"a scalar cannot be {names[0]}", "only arrays, with [dimensions], can")
        if "broadcast" in names and (dims or not ellipsis):
            raise self.fail(qualifiers[0], f"broadcast goes with {dtype.text}[...] only")
        fill = None
        if self.peek.text == "=":
            equals = self.next()
            if role == "in" and dims is not None:
                raise self.fail(equals, "an array has no default", "only a scalar argument may be left out")
            fill = self.fill(dtype.text, "default" if role == "in" else "fill")
        layout = "strided" if "strided" in names else "broadcast" if "broadcast" in names else "C"
        values = None if dims is None else tuple(d.value for d in dims)
        role = "inout" if "inout" in names else role
        counts = [d.length for d in dims or () if d.length]
        if counts and (role != "out" or dims is None or dims[0].length is None or len(counts) > 1 or ellipsis):
            hint = f"write {self.begun}[<= n: {counts[-1].text}, m]" if role == "out" else f"write {self.begun}[n]"
            message = "only the first dimension of an output without '...' is trimmed to a count"
            raise self.fail(counts[-1], message, hint)
        count = counts[0].text if counts else None
        parameter = Parameter(name.text, dtype.text, values, role, ellipsis, layout, fill, count)
        return Written(parameter, name, dims or ())

    def check_dtype(self, token: Token) -> None:
        problem = dtype_problem(token.text, self.types)
        if problem and (len(token.text) == 1 or token.text.isupper()):
            hint = f"declare it: types: {{{token.text}: [float32, float64]}}"
            raise self.fail(token, f"undeclared type variable '{token.text}'", hint)
        if problem:
            raise self.fail(token, *problem)

    def check_qualifiers(self, tokens: list[Token], role: str) -> None:
        for token in tokens:
            if token.text not in QUALIFIERS:
                raise self.fail(token, f"unknown word '{token.text}' before the dtype", near(token.text, QUALIFIERS))
            if role != "in" and (role, token.text) != ("out", "strided"):
                hint = "put it among the arguments, before '->'" if role == "out" else "scratch is C-contiguous"
                raise self.fail(token, f"{_NOUNS[role][0]} cannot be {token.text}", hint)
        if tuple(t.text for t in tokens) not in ORDERS:
            together = " ".join(t.text for t in tokens)
            if tuple(sorted(t.text for t in tokens)) in ORDERS:
                raise self.fail(tokens[0], f"'{together}' is the wrong order", "write inout strided")
            hint = "write inout, strided, inout strided or broadcast"
            raise self.fail(tokens[0], f"'{together}' do not go together", hint)

    def dims(self) -> tuple[bool, tuple[Dim, ...]]:
        opened, ellipsis = self.next(), False
        dims: list[Dim] = []
        if self.peek.text == "]":
            raise self.fail(opened, "no dimensions in [ ]", "a scalar is written without brackets")
        while True:
            if self.peek.text == "...":
                dots = self.next()
                if ellipsis or dims:
                    raise self.fail(dots, "'...' stands first, and once", f"write {self.begun}[..., n]")
                ellipsis = True
            else:
                dims.append(self.dim())
            token = self.next()
            if token.text == "]":
                return ellipsis, tuple(dims)
            if token.text != ",":
                raise self.fail(token, f"expected ']' or ',' after a dimension, found {token}", self.example)

    @property
    def example(self) -> str:
        return f"write {self.begun}[n], or [m, n] for two dimensions"

    def dim(self) -> Dim:
        if self.peek.text == "<":
            return self.trimmed()
        first, start, depth = self.peek, self.index, 0
        while self.peek.kind != "end" and (depth or self.peek.text not in (",", "]", ":")):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(self.peek.text, 0)
            if depth < 0:
                break
            self.next()
        tokens = self.tokens[start : self.index]
        if not tokens or first.text == "[":
            raise self.fail(first, f"expected a dimension, found {first}", self.example)
        end = tokens[-1].offset + len(tokens[-1].text)
        if len(tokens) == 1 and first.kind == "name":
            return Dim(first.text, first, end)
        if len(tokens) == 1 and first.kind == "number":
            if len(first.text) > 19 or int(first.text) > INT64_MAX:
                raise self.fail(first, "the dimension is too large", "dimensions have 64 bits")
            return Dim(int(first.text), first, end)
        return Dim(self.text[first.offset : end], first, end)

    def trimmed(self) -> Dim:
        """`<= n: count`."""
        hint = f"write {self.begun}[<= n: count], and the output count: int64 after it"
        self.next()
        self.expect("=", "after '<'", hint)
        dim = self.dim()
        self.expect(":", "after the most elements that there may be", hint)
        count = self.next()
        if count.kind != "name":
            raise self.fail(count, f"expected the output that says how many there are, found {count}", hint)
        return dim._replace(length=count)

    def fill(self, dtype: str, noun: str) -> str:
        first, start = self.peek, self.index
        while self.peek.kind != "end" and self.peek.text not in (",", ")"):
            self.next()
        last = self.tokens[self.index - 1]
        text = self.text[first.offset : last.offset + len(last.text)] if self.index > start else ""
        return check_fill(text, noun, self.dtypes(dtype), lambda m, h="": self.fail(first, m, h))
