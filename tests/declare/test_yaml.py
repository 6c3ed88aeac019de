"""YAML 1.2 core scalars, and the place of every character of a string in every style."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pydotcompute.declare import document
from pydotcompute.declare.scalars import places


def value(text):
    return document.parse(document.Document("f", f"key: {text}\n")).value["key"].value


@pytest.mark.parametrize(
    "text, expected",
    [
        ("9" * 308, 10**308 - 1), ("9" * 309, "9" * 309), ("0x" + "f" * 300, "0x" + "f" * 300),
        ("1e-6", 1e-6), ("1E+2", 100.0), ("12", 12), ("-3", -3), ("+3", 3), ("007", 7), ("0o17", 15), ("0x1F", 31),
        (".5", 0.5), ("5.", 5.0), ("-.5e3", -500.0), (".inf", float("inf")), ("-.INF", -float("inf")),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        # strings, whatever YAML 1.1 says of them
        ("on", "on"), ("off", "off"), ("yes", "yes"), ("n", "n"), ("1_000", "1_000"), ("1:30", "1:30"),
        ("tRUE", "tRUE"),
        ("0b11", "0b11"), ("-0x1", "-0x1"), ("2026-11-20", "2026-11-20"), ("=", "="), ("+", "+"), (".", "."),
        ("1e", "1e"), ("e5", "e5"), ("nan", "nan"), ("inf", "inf"), ('"12"', "12"), ("'true'", "true"), ("NULL ", None),
    ],
)  # fmt: skip
def test_core_scalars(text, expected):
    found = value(text)
    assert found == expected and type(found) is type(expected)


def test_nan():
    assert value(".NaN") != value(".NaN")


texts = st.text(st.sampled_from("ab(:'\"\\#-{é\t\n .,"), max_size=60)


def lines_at(source, here):
    line, column = here
    return source.lines[line - 1][column - 1 :]


@settings(deadline=None)
@given(texts, st.sampled_from(["'", '"', "|", ">", None]), st.integers(8, 80))
def test_every_character_has_its_place(text, style, width):
    """Of what YAML writes in a style: each character but white space and escapes stands where it is said to be."""
    written = yaml.dump({"k": {"key": text}}, default_style=style, width=width, allow_unicode=True)
    read = document.Document("f", written)
    root = document.parse(read)
    node = root.value["k"].value["key"]
    assert node.text == text
    found = places(read.lines, node)
    assert len(found) == len(text) + 1
    assert found == sorted(found)
    for char, (line, column) in zip(text, found, strict=False):
        assert 1 <= line <= len(read.lines) and 1 <= column <= len(read.lines[line - 1]) + 1
        rest = lines_at(read, (line, column))
        if char not in " \t\n" and not rest.startswith("\\"):
            assert rest.startswith(char)


@pytest.mark.parametrize(
    "written, text, place",
    [
        ("key: plain text", "text", (1, 12)),
        ("key: plain\n  text", "text", (2, 3)),
        ("key: 'it''s text'", "text", (1, 13)),
        ('key: "\\x41 \\u0042 text"', "text", (1, 19)),
        ('key: "a \\\n   b text"', "text", (2, 6)),
        ('key: "a\n\n   b text"', "text", (3, 6)),
        ("key: |  # a comment\n  one\n    text\n", "text", (3, 5)),
        ("key: |2\n    one\n  text\n", "text", (3, 3)),
        ("key: >+\n  one\n  two\n\n    more text\n", "text", (5, 10)),
        ("key:\n  - {key: [a, 'text']}", "text", (2, 16)),
    ],
)
def test_place_of_a_word(written, text, place):
    read = document.Document("f", written)
    node = document.parse(read).value["key"]
    while not isinstance(node.value, str):
        node = node.value[-1] if isinstance(node.value, list) else node.value["key"]
    assert places(read.lines, node)[node.text.index(text)] == place


def test_operators_of_a_family():
    assert [item.value for item in value("[+, -, /, '*', \"**\"]")] == ["+", "-", "/", "*", "**"]


written = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]) | st.sampled_from('\n\t"\\'))


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | written,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(written, inner, max_size=3),
        max_leaves=8,
    )
)
def test_json_is_read_as_json(data):
    """JSON is YAML 1.2: the same values, numbers and all."""
    read = document.Document("f", json.dumps({"key": data}, ensure_ascii=False))
    assert document.plain(document.parse(read)) == {"key": json.loads(json.dumps(data))}
