"""Keys: what makes two of them equal, and which fields changed between two."""

from hypothesis import given, strategies as st

from pydotcompute.cache.keys import canonical, changes, key

FIELDS = st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=5)


@given(FIELDS, FIELDS)
def test_keys_are_equal_exactly_when_the_fields_are(a, b):
    assert (key(a) == key(b)) == (a == b)


@given(FIELDS, st.randoms())
def test_the_order_of_fields_does_not_matter(fields, random):
    names = list(fields)
    random.shuffle(names)
    assert key({name: fields[name] for name in names}) == key(fields)


def test_names_and_values_cannot_run_into_each_other():
    assert key({"a": "1:b"}) != key({"a": "1", "b": ""})
    assert key({"ab": "c"}) != key({"a": "bc"})


def test_a_key_is_the_same_in_every_process_and_version_of_python():
    assert key({"kernel": "saxpy", "target": "cpu:x86-64-v3"}) == (
        "9600d1baa472507f319072cd36acc70d8f6985b320a1db6cf4be5918339da0f9"
    )


def test_changes_name_what_differs_in_the_order_of_the_new_fields():
    old = {"source": "1", "fastmath": "[contract]", "gone": "x"}
    new = {"fastmath": "[]", "source": "1", "added": "y"}
    assert changes(old, new) == [("fastmath", "[contract]", "[]"), ("added", None, "y"), ("gone", "x", None)]


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.floats(allow_nan=False) | st.booleans(), max_size=4))
def test_canonical_text_does_not_depend_on_order(value):
    assert canonical(value) == canonical(dict(reversed(value.items())))
