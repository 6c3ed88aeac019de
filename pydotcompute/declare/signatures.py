"""Signatures: `(a: T, x: inout T[n]) -> (out: T[n + 1] = 0) temp (q: T[n])` parsed, its names and symbols checked, and
printed."""

from __future__ import annotations

import re
from typing import Callable, Mapping, NamedTuple, Sequence

from ..artifact.dimensions import Tree
from ..artifact.signature import Parameter, Signature
from ..errors import Position
from . import expressions, possible
from .grammar import WRITE, WRITE_TEMP, Dim, Reader, Token, Written
from .names import OF_CALLS, name_problem, near
from .possible import Params


class Parsed(NamedTuple):
    signature: Signature
    offsets: dict[str, int]  # of each parameter's name in the text


def parse_signature(
    text: str,
    types: Mapping[str, Sequence[str]] | None = None,
    params: Params | None = None,
    spot: Callable[[int], Position] | None = None,
) -> Parsed:
    """Parse and check a signature: grammar, names, dtypes, bound symbols.

    `types` are the kernel's type variables and their dtypes, `params` its compile-time constants and their values.
    `spot` says where a character of `text` stands in the user's file. Raises DeclarationError.
    """
    spot = spot or (lambda offset: Position("signature", 1, offset + 1, text))
    reader = Reader(text, dict(types or {}), dict(params or {}), spot)
    inputs = reader.group("in")
    outputs: list[Written] = []
    if reader.peek.text == "->":
        reader.next()
        outputs = reader.group("out")
    scratch: list[Written] = []
    if reader.peek.text == "temp":
        reader.next()
        scratch = reader.group("temp")
    if reader.peek.kind != "end":
        expected = "the end" if outputs or scratch else "'->'"
        hint = WRITE_TEMP if outputs and not scratch else WRITE
        raise reader.fail(reader.peek, f"expected {expected}, found {reader.peek}", hint)
    written = [*inputs, *outputs, *scratch]
    symbols = _check_names(reader, written)
    parameters = tuple(w.parameter for w in written)
    offsets = {w.parameter.name: w.token.offset for w in written}
    return Parsed(Signature(print_signature(parameters), parameters, symbols), offsets)


def print_signature(parameters: Sequence[Parameter]) -> str:
    """The signature of these parameters, as a user would write it."""

    def one(p: Parameter) -> str:
        words = [word for word in ("inout" if p.role == "inout" else "", p.layout) if word not in ("", "C")]
        sizes = [str(dim) for dim in p.dims or ()]
        if p.length:
            sizes[0] = f"<= {sizes[0]}: {p.length}"
        dims = "" if p.dims is None else "[" + ", ".join([*(["..."] if p.ellipsis else []), *sizes]) + "]"
        fill = "" if p.fill is None else f" = {p.fill}"
        return f"{p.name}: {' '.join([*words, p.dtype])}{dims}{fill}"

    inputs = ", ".join(one(p) for p in parameters if p.is_input)
    outputs = ", ".join(one(p) for p in parameters if p.role == "out")
    scratch = ", ".join(one(p) for p in parameters if p.role == "temp")
    return f"({inputs}) -> ({outputs})" + (f" temp ({scratch})" if scratch else "")


def _check_names(reader: Reader, written: list[Written]) -> tuple[str, ...]:
    """Refuse names that clash and symbols that nothing binds; put output dims on one line, in place.

    Returns the dimension symbols in order of first appearance.
    """
    parameters = _parameters(reader, written)
    implied = _implied(reader, written)
    shaped = any(w.parameter.ellipsis and w.parameter.is_input for w in written)
    bound = dict.fromkeys(implied) if shaped else {}
    for w in written:
        for dim in w.dims if w.parameter.is_input else ():
            if isinstance(dim.value, str) and dim.value.isidentifier() and dim.value not in reader.params:
                _check_symbol(reader, dim, parameters)
                bound[dim.value] = None
    known = (*bound, *(name for name in parameters if _binds(reader, parameters[name])), *reader.params)
    symbols: dict[str, None] = {}
    for k, w in enumerate(written):
        p = w.parameter
        if p.ellipsis:
            if not shaped:
                hint = "'...' in an output needs an argument with '...'"
                raise reader.fail(w.token, f"nothing gives '{p.name}' its shape", hint)
            symbols["rows" if p.dims else "size"] = None
        values: list[Tree] = []
        for dim in w.dims:
            binds = p.is_input and dim.value in bound
            read = isinstance(dim.value, str) and not binds
            values.append(_expression(reader, dim, known, parameters) if read else dim.value)
            used = expressions.used_names(dim.value) if isinstance(dim.value, str) else []
            symbols |= {name: None for name in used if name not in reader.params}
        if w.dims:
            written[k] = w._replace(parameter=p._replace(dims=tuple(values)))
    for k, w in enumerate(written):
        if w.dims and w.dims[0].length:
            _check_count(reader, w.dims[0].length, {v.parameter.name: v.parameter for v in written[k + 1 :]})
    return tuple(symbols)


def _check_count(reader: Reader, count: Token, after: dict[str, Parameter]) -> None:
    """Refuse what cannot say how many elements an output has."""
    p = after.get(count.text)
    if p is None or p.role != "out" or p.is_array or tuple(reader.dtypes(p.dtype)) != ("int64",):
        found = "there is none" if p is None else "it is no output of int64 without dimensions"
        hint = f"write -> (…, {count.text}: int64)"
        raise reader.fail(count, f"'{count.text}' has to be a later output that says how many there are: {found}", hint)


def _parameters(reader: Reader, written: list[Written]) -> dict[str, Parameter]:
    """The parameters by name; every name is free and used once."""
    parameters: dict[str, Parameter] = {}
    for w in written:
        name = w.parameter.name
        if problem := name_problem(name):
            raise reader.fail(w.token, *problem)
        if name in OF_CALLS:
            message = f"'{name}' cannot be the name of an argument: as a keyword of a call it says {OF_CALLS[name]}"
            raise reader.fail(w.token, message, "choose another name")
        taken = "an argument or output" if name in parameters else reader.taken(name)
        if taken:
            raise reader.fail(w.token, f"'{name}' is already the name of {taken}", "choose another name")
        parameters[name] = w.parameter
    return parameters


def _implied(reader: Reader, written: list[Written]) -> tuple[str, ...]:
    """The names that `...` brings, `size` and `rows`; nothing else may be called so."""
    found = []
    for w in written:
        if not w.parameter.ellipsis:
            continue
        name, meaning, dims = ("rows", "rows", "..., n") if w.parameter.dims else ("size", "elements", "...")
        for other in written:
            tokens = [other.token] if other.parameter.name == name else []
            if other.parameter.is_input:
                tokens += [dim.token for dim in other.dims if dim.value == name]
            for token in tokens:
                message = f"'{name}' already means the number of {meaning} of {w.parameter.dtype}[{dims}]"
                raise reader.fail(token, message, "choose another name")
        found.append(name)
    return tuple(dict.fromkeys(found))


def _binds(reader: Reader, p: Parameter) -> bool:
    """Whether this is an integer scalar argument, which binds the dimension of its name."""
    return not p.is_array and p.role == "in" and all("int" in dtype for dtype in reader.dtypes(p.dtype))


def _check_symbol(reader: Reader, dim: Dim, parameters: dict[str, Parameter]) -> None:
    name = dim.value
    assert isinstance(name, str)
    if problem := name_problem(name):
        raise reader.fail(dim.token, *problem)
    if taken := reader.taken(name):
        raise reader.fail(dim.token, f"'{name}' is already the name of {taken}", "choose another name")
    _refuse_other_parameters(reader, dim, name, parameters)


def _refuse_other_parameters(reader: Reader, dim: Dim, name: str, parameters: dict[str, Parameter]) -> None:
    p = parameters.get(name)
    if p is None or _binds(reader, p):
        return
    what = "an array" if p.is_array else f"a scalar of type {' or '.join(reader.dtypes(p.dtype))}"
    what = what if p.is_input else "an output" if p.role == "out" else "scratch"
    hint = "a dimension is a symbol or an integer scalar argument"
    raise reader.fail(dim.token, f"'{name}' cannot be a dimension: it is {what}", hint)


def _expression(reader: Reader, dim: Dim, known: tuple[str, ...], parameters: dict[str, Parameter]) -> Tree:
    """A dimension that is computed, its names bound."""
    text, offset = reader.text[dim.token.offset : dim.end], dim.token.offset
    try:
        names = expressions.used_names(text)
    except SyntaxError:
        names = []  # told by the check below, with its place
    for name in names:
        _refuse_other_parameters(reader, dim, name, parameters)
    unbound = next((name for name in names if name not in known), "")
    if unbound and (not known or text != unbound):
        guess = near(unbound, known) if known else ""
        hint = f"{guess} If not, " if guess.startswith("did") else ""
        hint += f"a dimension of its own binds it: y: float32[{unbound}]; so does an argument {unbound}: int64"
        if more := re.fullmatch(r"\w+ *\+ *(\d+)", text):  # as the starts of rows have
            hint += f"; or name this dimension k, and write k - {more[1]} for {unbound}"
        raise reader.fail(offset + text.index(unbound), f"'{unbound}' is not bound by any argument", hint)
    spot = lambda k: reader.spot(offset + k)  # noqa: E731
    return possible.read(text, "integer", known, spot, "bound by any argument", reader.params, least=0)
