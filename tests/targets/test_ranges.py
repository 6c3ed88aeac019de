"""`range` is Python's, whatever its bounds: near all extremes, in every integer type, on each backend."""

from functools import cache
from itertools import islice, product

import numpy as np
import pytest
from tests.targets.cpu.compiled import Kernel, tree_of
from tests.targets.cuda.cuda_support import loop
from hypothesis import given, settings
from hypothesis import strategies as st

from pydotcompute.targets.cuda import toolchain as cuda_toolchain

MOST_TURNS = 5
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TYPES = [
    *((dtype, dtype, dtype) for dtype in INTEGERS),
    ("int64", "uint64", "int64"), ("uint64", "int64", "int8"), ("uint64", "uint64", "int64"),
    ("int8", "uint64", "uint64"), ("int64", "int64", "uint64"), ("uint32", "int64", "int16"),
]  # fmt: skip
HEADERS = {"steps": "range(a[i], b[i], c[i])", "twos": "range(a[i], b[i], 2)", "ones": "range(a[i], b[i])",
           "back": "range(a[i], b[i], -1)", "from_5": "range(5, b[i])", "from_below": "range(-5, b[i])",
           "far": "range(a[i], b[i], 4611686018427387904)", "stop": "range(b[i])"}  # fmt: skip
PYTHON = {"steps": lambda a, b, c: range(a, b, c), "twos": lambda a, b, c: range(a, b, 2),
          "ones": lambda a, b, c: range(a, b), "back": lambda a, b, c: range(a, b, -1),
          "from_5": lambda a, b, c: range(5, b), "from_below": lambda a, b, c: range(-5, b),
          "far": lambda a, b, c: range(a, b, 2**62), "stop": lambda a, b, c: range(b)}  # fmt: skip


def signature(types):
    a, b, c = types
    return f"(a: {a}[n], b: {b}[n], c: {c}[n]) -> (turns: int64[n], mixed: uint64[n])"


def body(header):
    """Counts up to MOST_TURNS turns, and mixes the indices."""
    return f"""
    for i in grid(n):
        count = 0
        mix = uint64(0)
        for k in {HEADERS[header]}:
            if count == {MOST_TURNS}:
                break
            count += 1
            mix = mix * 31 + uint64(k)
        turns[i] = count
        mixed[i] = mix
    """


def wanted(header, triple):
    turns, mix = 0, 0
    for k in islice(PYTHON[header](*triple), MOST_TURNS):
        turns, mix = turns + 1, (mix * 31 + k) % 2**64
    return turns, mix


def near(dtype):
    """Numbers near the extremes of an integer type, and near all that is special to others."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    special = [low, high, 0, 1, -1, 7, 2**62, -(2**62), 2**63, -(2**63), 2**31, 2**32, high // 2, high // 3, low // 2]
    around = st.builds(lambda base, by: base + by, st.sampled_from(special), st.integers(-3, 3))
    return st.one_of(around, st.integers(low, high)).filter(lambda v: low <= v <= high)


def triples(types):
    """Near all extremes, but no step of 0."""
    a, b, c = map(near, types)
    return st.lists(st.tuples(a, b, c.filter(bool)), min_size=1, max_size=60)


@cache
def extremes(types):
    """Triples that are always tried: all combinations of what is most extreme."""
    lists = []
    for dtype in types:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        found = {low, low + 1, low // 2, -1, 0, 1, 3, high // 2 + 1, high - 1, high}
        lists.append(sorted(number for number in found if number >= low))
    return [triple for triple in product(*lists) if triple[2]]


def columns(types, triples):
    return {name: np.array([t[k] for t in triples], types[k]) for k, name in enumerate("abc")}


@cache
def on_cpu(types, header):
    return Kernel(tree_of(body(header), signature(types), types=""))


def check(types, header, triples, run):
    arrays = columns(types, triples)
    turns, mixed = run(arrays, len(triples))
    for triple, *found in zip(triples, turns.tolist(), mixed.tolist()):
        assert tuple(found) == wanted(header, triple), (types, HEADERS[header], triple)


def cpu(types, header):
    def run(arrays, n):
        outputs = {"turns": np.zeros(n, "int64"), "mixed": np.zeros(n, "uint64")}
        assert on_cpu(types, header)({"n": n}, 1, **arrays, **outputs) == 0
        return outputs.values()

    return run


def interpreter(types, header):
    def run(arrays, n):
        outputs = {"turns": np.zeros(n, "int64"), "mixed": np.zeros(n, "uint64")}
        on_cpu(types, header).interpret({"n": n}, **arrays, **outputs)
        return outputs.values()

    return run


@pytest.mark.parametrize("run", [cpu, interpreter], ids=["cpu", "interpreter"])
@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_steps_of_every_type(types, run):
    check(types, "steps", extremes(types), run(types, "steps"))

    @settings(max_examples=25)
    @given(triples(types))
    def drawn(triples):
        check(types, "steps", triples, run(types, "steps"))

    drawn()


@pytest.mark.parametrize("types", TYPES, ids="-".join)
def test_a_step_of_0(types):
    a, b, c = (np.array(values, dtype) for values, dtype in zip(([1, 0, 2], [5, 0, 1], [1, 0, 1]), types))
    outputs = {"turns": np.zeros(3, "int64"), "mixed": np.zeros(3, "uint64")}
    assert on_cpu(types, "steps")({"n": 3}, 1, a=a, b=b, c=c, **outputs) == 1
    with pytest.raises(ValueError, match="the step of a range is 0"):
        on_cpu(types, "steps").interpret({"n": 3}, a=a, b=b, c=c, **outputs)


@pytest.mark.parametrize("run", [cpu, interpreter], ids=["cpu", "interpreter"])
@pytest.mark.parametrize("header", [h for h in HEADERS if h != "steps"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8"])
def test_known_steps_and_starts(dtype, header, run):
    types = (dtype, dtype, "int8")
    check(types, header, extremes(types), run(types, header))

    @settings(max_examples=10)
    @given(triples(types))
    def drawn(triples):
        check(types, header, triples, run(types, header))

    drawn()


@pytest.mark.skipif(bool(cuda_toolchain.missing()), reason="needs the extra build-cuda")
@pytest.mark.parametrize(
    "types, header",
    [*((types, "steps") for types in TYPES), *((("int64",) * 3, header) for header in HEADERS if header != "steps"),
     (("uint64",) * 3, "ones"), (("uint64",) * 3, "stop")],
)  # fmt: skip
def test_in_ptx(types, header):
    built = loop(signature(types), body(header))
    check(types, header, extremes(types), lambda arrays, n: built.call(*arrays.values()))


def test_the_index_in_another_type():
    """An index that is assigned in its loop has the type of a name: it starts each turn from the range's value."""
    for dtype, value in (("uint8", 200), ("int8", -3), ("int64", 2**62), ("float32", 0.5), ("float64", 0.1)):
        text = """
        for i in grid(n):
            total = 0.0
            for k in range(-3, 300, 100):
                total += float64(k)
                k = x[i]
                total += float64(k)
            out[i] = total
        """
        kernel = Kernel(tree_of(text, f"(x: {dtype}[n]) -> (out: float64[n])", types=""))
        x, out, seen = np.array([value], dtype), np.zeros(1), np.zeros(1)
        assert kernel({"n": 1}, 1, x=x, out=out) == 0
        kernel.interpret({"n": 1}, x=x, out=seen)
        name = "uint64" if dtype[0] == "u" else dtype if dtype[0] == "f" else "int64"
        total = 0.0
        for k in range(-3, 300, 100):
            total = total + float(np.array(k).astype(name)) + float(x[0])
        assert out[0] == seen[0] == total, dtype
