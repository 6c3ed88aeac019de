"""The grammar of signatures: what each form means, printing and parsing, arbitrary text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydotcompute.artifact.dimensions import Operation
from pydotcompute.declare.signatures import parse_signature, print_signature
from pydotcompute.errors import DeclarationError
from pydotcompute.artifact.signature import DTYPES, Parameter

TYPES = {"T": ("float32", "float64"), "I": ("int32", "int64")}


def parse(text):
    return parse_signature(text, TYPES, {"TILE": (32,)}).signature


@pytest.mark.parametrize(
    "text, parameter",
    [
        ("(x: T) -> ()", Parameter("x", "T", None, "in")),
        ("(x: int8[4])", Parameter("x", "int8", (4,), "in")),
        ("(x: T[m, n])", Parameter("x", "T", ("m", "n"), "in")),
        ("(x: inout T[n])", Parameter("x", "T", ("n",), "inout")),
        ("(x: strided T[n])", Parameter("x", "T", ("n",), "in", layout="strided")),
        ("(x: inout strided T[..., n])", Parameter("x", "T", ("n",), "inout", True, "strided")),
        ("(x: broadcast T[...])", Parameter("x", "T", (), "in", True, "broadcast")),
        ("( x :T [ ... ] )", Parameter("x", "T", (), "in", True)),
        ("(x: T[..., 2, n],)", Parameter("x", "T", (2, "n"), "in", True)),
        ("() -> (x: T)", Parameter("x", "T", None, "out")),
        ("() -> (x: T = -1.5)", Parameter("x", "T", None, "out", fill="-1.5")),
        ("() -> (x: bool[3] = true)", Parameter("x", "bool", (3,), "out", fill="True")),
        ("() temp (x: T[ TILE*2 ,4])", Parameter("x", "T", (Operation("*", ("TILE", 2)), 4), "temp")),
        ("() -> () temp (x: int8[3] = 7)", Parameter("x", "int8", (3,), "temp", fill="7")),
        ("() -> (x: T[ TILE*2 ,4])", Parameter("x", "T", (Operation("*", ("TILE", 2)), 4), "out")),
    ],
)
def test_one_parameter(text, parameter):
    assert parse(text).parameters == (parameter,)


@pytest.mark.parametrize(
    "text, symbols",
    [
        ("(a: T, x: T[...], y: T[...]) -> (out: T[...])", ("size",)),
        ("(x: T[..., cols]) -> (out: T[..., cols])", ("rows", "cols")),
        ("(x: T[..., n]) -> (out: T[...])", ("rows", "n", "size")),
        ("(a: T[m, k], b: T[k, n]) -> (out: T[m, n])", ("m", "k", "n")),
        ("(n: int64, value: T) -> (out: T[n])", ("n",)),
        ("(k: I, x: T[n]) -> (out: T[n - k + TILE])", ("n", "k")),
        ("(k: int64, x: T[n]) -> (out: T[n])", ("n",)),
        ("(x: T[4]) -> (out: T[4])", ()),
        ("(x: T[...]) -> (out: T[max(size, 1)])", ("size",)),
    ],
)
def test_symbols_in_order_of_first_appearance(text, symbols):
    assert parse(text).symbols == symbols


@pytest.mark.parametrize("name", ["backend", "stream"])
@pytest.mark.parametrize("text", ["({}: T)", "(x: T[n], {}: inout T[n])", "(x: T[n]) -> ({}: T[n])"])
def test_keywords_of_every_call_name_no_argument(name, text):
    with pytest.raises(DeclarationError, match=f"'{name}' cannot be the name of an argument: .* keyword of a call") as caught:
        parse(text.format(name))
    assert caught.value.at.column == text.index("{}") + 1
    assert parse(text.format(f"{name}s")).parameters


def test_text_is_printed_form():
    assert parse("( a:T,x : inout  strided T[ m,n ],)->( out:T[m  * n]=0 )").text == (
        "(a: T, x: inout strided T[m, n]) -> (out: T[m * n] = 0)"
    )


names = st.sampled_from(["a", "b", "x1", "_y", "weights", "Z"])
dtypes = st.sampled_from([*DTYPES, *TYPES])
symbol_or_number = st.sampled_from(["m", "n", "k_2"]) | st.integers(0, 2**63 - 1)


@st.composite
def parameters(draw):
    """Inputs that bind m and n, whatever else they say; dimensions over them."""
    chosen = draw(st.lists(names, unique=True, max_size=6))
    count = draw(st.integers(0, len(chosen)))
    result = [Parameter("bind", "int8", ("m", "n", "k_2"), "in"), Parameter("shape", "T", (), "in", True),
              Parameter("rows_", "T", ("n",), "in", True)]  # fmt: skip
    expressions = symbol_or_number | st.sampled_from([
        Operation("+", ("m", "n")), Operation("*", (2, "n")), "TILE", Operation("%", ("n", 3)),
        Operation("//", (Operation("min", ("m", "TILE")), 2)),
    ])  # fmt: skip
    for name in chosen[:count]:
        dims = draw(st.none() | st.lists(expressions, max_size=3).map(tuple))
        ellipsis = dims is not None and (not dims or draw(st.booleans()))
        layout = "C" if dims is None else draw(st.sampled_from(["C", "strided"]))
        layout = draw(st.sampled_from([layout, "broadcast"])) if dims == () else layout
        role = "in" if dims is None or layout == "broadcast" else draw(st.sampled_from(["in", "inout"]))
        result.append(Parameter(name, draw(dtypes), dims, role, ellipsis, layout))
    outputs = draw(st.integers(count, len(chosen)))
    for k, name in enumerate(chosen[count:], count):
        dims = draw(st.none() | st.lists(expressions, max_size=3).map(tuple))
        ellipsis = dims is not None and (not dims or draw(st.booleans()))
        dtype = draw(dtypes)
        fills = ["0", "1", "7"] if "int" in dtype or dtype == "I" else ["0", "-inf", "nan", "1e-6"]
        fills = ["True", "False"] if dtype == "bool" else fills
        role = "out" if k < outputs else "temp"
        result.append(Parameter(name, dtype, dims, role, ellipsis, fill=draw(st.none() | st.sampled_from(fills))))
    return tuple(result)


@settings(deadline=None)
@given(parameters())
def test_printed_and_parsed_again(written):
    assert parse(print_signature(written)).parameters == written


words = st.sampled_from(
    ["(", ")", "[", "]", ",", ":", "->", "=", "...", "..", "inout", "strided", "broadcast", "temp", "T", "float32", "n", "x",
     "y", "size", "rows", "exp", "0", "-1", "+", "*", " ", "\n", "max", "if", "é", "'", "#", "lambda", "9" * 30]
)  # fmt: skip


@settings(deadline=None)
@given(st.text(max_size=40) | st.lists(words, max_size=30).map("".join) | st.lists(words, max_size=30).map(" ".join))
def test_any_text_parses_or_is_refused_at_a_place(text):
    try:
        signature = parse(text)
    except DeclarationError as error:
        assert 1 <= error.at.column <= len(text) + 1
        assert str(error)
    else:
        assert parse(signature.text) == signature


@settings(deadline=None)
@given(parameters(), st.data())
def test_one_wrong_character(written, data):
    text = print_signature(written)
    k = data.draw(st.integers(0, len(text) - 1))
    changed = text[:k] + data.draw(st.sampled_from(["", "(", "]", ",", "=", "é", "x", " ", "."])) + text[k + 1 :]
    try:
        parse(changed)
    except DeclarationError as error:
        assert 1 <= error.at.column <= len(changed) + 1


def test_nested_a_thousand_times():
    with pytest.raises(DeclarationError):
        parse("(x: T[n]) -> (out: T[" + "(" * 1000 + "n" + ")" * 1000 + "])")
    with pytest.raises(DeclarationError, match="nested 150 deep"):
        parse("(x: T[n]) -> (out: T[" + "-" * 150 + "n])")
    assert parse("(x: T[n]) -> (out: T[" + "-" * 50 + "n])").outputs[0].dims[0].op == "neg"
