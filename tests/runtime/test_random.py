"""Random argument lists: whatever is passed, a call returns or raises one of the errors of a call; it never crashes.

In a process of its own, because a crash is what this looks for. PYDOTCOMPUTE_RANDOM_LISTS=N has N lists of each layout;
with PYDOTCOMPUTE_VALGRIND=1 the process runs under valgrind, which finds accesses that do not crash.
"""

import os
import re
import subprocess
import sys

import pytest
from support import array, scalar, write_kernel

PROGRAM = r"""
import sys
import numpy as np
from hypothesis import given, settings, strategies as st, HealthCheck
from hypothesis.extra import numpy as hnp
import pydotcompute

kernel = pydotcompute.load(sys.argv[1]).k
entry = kernel._dispatcher.call
kernel(*([True, 1, 1, 1.0, 1j] + [np.zeros((2, 3), "f4"), np.zeros((3, 3), "f4"), np.zeros(3, "f4")]))
assert type(kernel.func).__name__ == "builtin_function_or_method"

BASE = np.arange(64, dtype="f4")
BASE.setflags(write=True)
dtypes = st.sampled_from(["f4", "f4", "f4", "f4", ">f4", "f8", "i4", "O", "S3", "m8[s]", "?", "c8", "f2", "V5"])
shapes = st.sampled_from([(2, 3), (3, 3), (3,), (), (0, 3), (2, 0, 3), (1, 1, 3), (3, 0), (4, 2, 3), (64,)])

@st.composite
def arrays(draw):
    kind = draw(st.integers(0, 7))
    shape = draw(shapes)
    if kind < 3:
        made = np.zeros(shape, draw(dtypes))
    elif kind == 3:
        start, step = draw(st.integers(0, 8)), draw(st.sampled_from([1, 1, 2, -1]))
        made = BASE[start:: step][:9]
        if draw(st.booleans()):
            made = made[: made.size // 3 * 3].reshape(-1, 3)
    elif kind == 4:
        strides = draw(st.sampled_from([(4,), (0,), (-4,), (12,)])) * len(shape)
        made = np.lib.stride_tricks.as_strided(BASE, shape, strides)
        if any(s < 0 for s in made.strides):
            made = BASE[:9].reshape(3, 3)
    elif kind == 5:
        made = np.zeros(4 * int(np.prod(shape)) + 1, "u1")[1:].view("f4").reshape(shape)
    elif kind == 6:
        made = np.zeros(shape, "f4").view(np.recarray)
    else:
        made = np.zeros(shape, "f4")
        made.setflags(write=False)
    return made

scalars = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.none(), st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from([np.float32(1), np.float64(2), np.int8(3), np.bool_(True), np.complex64(1), np.datetime64(1, "s")]),
    st.just(object()), st.just([]), st.just(np.ndarray), st.integers(-2, 300),
)
anything = st.one_of(scalars, arrays())
names = st.sampled_from(["b", "i", "u", "f", "z", "x", "y", "w", "o", "t", "n", "", "TILE"])

@st.composite
def calls(draw):
    # A call that is right, and then up to two places where it may not be.
    lead = draw(st.sampled_from([(), (2,), (0,), (4, 1)]))
    shape = (*lead, 3) if sys.argv[3] != "broadcast" else lead
    args = [True, draw(st.integers(-128, 127)), draw(st.integers(0, 2**63 - 1)), draw(st.floats(width=32)), 2j,
            np.zeros(shape, "f4"), np.zeros((3, 3), "f4"), np.zeros(3, "f4")]
    if draw(st.booleans()):
        args += [np.zeros(lead, "f4"), np.zeros(())]
    kwargs = {}
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(args) + 1))
        if place < len(args):
            args[place] = draw(anything)
        elif place == len(args):
            kwargs[draw(names)] = draw(anything)
        else:
            args = args[: draw(st.integers(0, len(args)))] + draw(st.lists(anything, max_size=2))
    return args, kwargs

served = refused = 0
lists = set()

@settings(max_examples=int(sys.argv[2]), deadline=None, database=None, derandomize=True,
          suppress_health_check=list(HealthCheck))
@given(calls())
def never_crashes(call):
    global served, refused
    args, kwargs = call
    lists.add(hash(repr([(type(a), getattr(a, "shape", a), getattr(a, "strides", 0)) for a in (*args, kwargs)])))
    outcomes = []
    for door in (kernel, entry):
        try:
            result = door(*args, **kwargs)
            outcomes.append([np.shape(r) for r in result])
        except (TypeError, ValueError, OverflowError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1], (args, kwargs, outcomes)
    if isinstance(outcomes[0], tuple):
        refused += 1
    else:
        served += 1

never_crashes()
print(f"{len(lists)} distinct lists, {served} served, {refused} refused")
assert served > 30 and refused > 30
"""


@pytest.mark.parametrize("layout", ["C", "strided", "broadcast"])
def test_random_argument_lists_never_crash(tmp_path, layout):
    trailing = [] if layout == "broadcast" else ["n"]
    parameters = [
        scalar("b", "bool"), scalar("i", "int8"), scalar("u", "uint64"), scalar("f", "float32"),
        scalar("z", "complex128"), array("x", "float32", ..., *trailing, layout=layout), array("y", "float32", 3, 3),
        array("w", "float32", "n", role="inout"), array("o", "float32", ..., role="out"), scalar("t", "float64", "out"),
    ]  # fmt: skip
    path = write_kernel(tmp_path, "k", parameters, aliases=[("o", "y")])
    command = [sys.executable, "-c", PROGRAM, path, os.environ.get("PYDOTCOMPUTE_RANDOM_LISTS", "400"), layout]
    environment = dict(os.environ)
    if os.environ.get("PYDOTCOMPUTE_VALGRIND"):
        command = ["valgrind", "--error-limit=no", "--num-callers=8", *command]
        environment |= {"PYTHONMALLOC": "malloc"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    assert errors_of_valgrind(done.stderr) == []


def errors_of_valgrind(text):
    """Each with its stack. Of values that nobody set Python has some; a kernel's code is of an object in a memfd. That
    the dynamic loader and marshal read whole words is known."""
    parts = re.split(r"\n\s*\n", re.sub(r"^==\d+== ?", "", text, flags=re.M))
    return [
        part for part in parts
        if (re.match(r"\s*Invalid", part) and not re.search(r"dl-load[.]c|marshal[.]c", part))
        or (re.match(r"\s*(Conditional|Use of|Syscall)", part) and "memfd:" in part)
    ]  # fmt: skip
