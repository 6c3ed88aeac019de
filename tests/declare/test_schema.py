"""The JSON Schema and the loader's table are one: they agree on documents that nobody wrote by hand."""

import copy
import json

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from pydotcompute import declare
from pydotcompute.declare import document
from pydotcompute.declare.table import DECLARATION
from pydotcompute.errors import DeclarationError

SCHEMA = jsonschema.Draft202012Validator(declare.schema())
WHOLE = {
    "version": 1,
    "targets": ["cpu:x86-64-v3", "cuda:sm_90a"],
    "kernels": {
        "k": {
            "doc": "d", "signature": "()", "types": {"T": ["float32", "bool"]}, "params": {"N": [1, 2.5], "M": True},
            "requires": ["n == 1"], "body": "y = 1", "family": {"add": {"OP": "+"}, "sub": {"OP": -1}},
            "launch": {"block": [1, "N"], "grid": 4}, "fastmath": ["contract"], "reference": ["x", "y"],
            "tolerance": {"float32": 1e-6}, "inputs": {"x": {"low": -3, "high": "n"}},
            "sizes": {"check": [{"n": 0}], "bench": []}, "work": {"bytes": "n", "operations": 3}, "special": False,
        },
        "t": {"signature": "()", "template": "t.py.j2", "tolerance": 0, "inputs": "a.py:f", "reference": "x",
              "launch": {"block": 1024}},
    },
}  # fmt: skip

scalars = st.sampled_from(
    [None, True, False, 0, 1, -1, 2, 1.0, 1.5, 1e6, 1024, 1025, 2**63, "", "x", "if", "e", "float32", "float31",
     "cpu:native", "cuda:sm_", "contract", "a-b", "__a", "_a", "kernel", "none", "exp", "7"]
)  # fmt: skip
values = scalars | st.lists(scalars, max_size=4) | st.dictionaries(scalars.map(str), scalars, max_size=2)
keys = st.sampled_from("doc body template T n low block lambda exp _k kernels float64".split())


def paths(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*at, key))


@st.composite
def changed(draw):
    """The whole declaration, with one to three things replaced, taken away, added or renamed."""
    result = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([p for p in paths(result) if p]))
        parent = result
        for key in way:
            parent = parent[key]
        how = draw(st.sampled_from(["replace", "delete", "add", "rename"]))
        if how == "replace":
            parent[last] = draw(values)
        elif how == "delete":
            del parent[last]
        elif isinstance(parent, list):
            parent.append(draw(scalars))
        elif how == "add":
            parent[draw(keys)] = draw(values)
        else:
            parent[draw(keys)] = parent.pop(last)
    return result


def by_loader(data) -> bool:
    read = document.Document("f", json.dumps(data))
    try:
        DECLARATION.check(read, document.parse(read))
    except DeclarationError as error:
        assert error.at.line == 1 and 1 <= error.at.column <= len(read.text)
        return False
    return True


def test_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(declare.schema())
    assert SCHEMA.is_valid(WHOLE) and by_loader(WHOLE)


@settings(deadline=None)
@given(changed())
def test_agree(data):
    assert SCHEMA.is_valid(data) == by_loader(data)


def test_every_key_is_described():
    kernel = declare.schema()["properties"]["kernels"]["additionalProperties"]
    assert len(kernel["properties"]) == 21
    assert all(part["description"] for part in kernel["properties"].values())
