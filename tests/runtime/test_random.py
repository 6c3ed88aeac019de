"""Random argument lists: whatever is passed, a call returns or raises one of the errors of a call; it never crashes.

In a process of its own, because a crash is what this looks for. PYDOTCOMPUTE_RANDOM_LISTS=N has N lists of each layout,
each drawn from its number, which a failure names with the list: PYDOTCOMPUTE_RANDOM_LISTS=K:K+1 has that list alone.
With PYDOTCOMPUTE_VALGRIND=1 the process runs under valgrind, which finds accesses that do not crash.
"""

import os
import re
import subprocess
import sys

import pytest
from support import array, scalar, write_kernel

PROGRAM = r"""
import itertools, os, random, struct, sys
import ml_dtypes
import numpy as np
import pydotcompute

path, layout, begin, end, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
kernel = pydotcompute.load(path).k
entry = kernel._dispatcher.call
brain, NARROW = np.dtype(ml_dtypes.bfloat16), layout == "narrow"

def right(lead, scalars):
    # A call that is right, without outputs; `lead` are the leading dims of its arrays.
    if NARROW:
        b, _, _, f, _ = scalars
        return [b, f, f, *(np.zeros((*lead, 3), d) for d in ("M8[s]", "?", "u1", "f2")), np.zeros((3, 3), brain),
                np.zeros(3, "m8[ns]")]
    shape = (*lead, 3) if layout != "broadcast" else lead
    return [*scalars, np.zeros(shape, "f4"), np.zeros((3, 3), "f4"), np.zeros(3, "f4")]

kernel(*right((2,), [True, 1, 1, 1.0, 1j]))
assert type(kernel.func).__name__ == "builtin_function_or_method"

BASE = np.arange(64, dtype="f4")
TYPES = ["f4", "f4", "f4", "f4", ">f4", "f8", "i4", "O", "S3", "m8[s]", "?", "c8", "f2", "V5"]
TYPES += [brain, brain, "f2", "f2", "u1", "?", "M8[s]", "m8[ns]", "i8", "i1", ">M8[s]", "V2"] * NARROW
SHAPES = [(2, 3), (3, 3), (3,), (), (0, 3), (2, 0, 3), (1, 1, 3), (3, 0), (4, 2, 3), (64,)]
FLOATS = [0.0, -0.0, 1.0, 5e-324, 1e-40, 3.4e38, 3.5e38, 1.7e308, float("inf"), -float("inf"), float("nan")]
OTHERS = [None, np.float32(1), np.float64(2), np.int8(3), np.bool_(True), np.complex64(1), np.datetime64(1, "s"), object(), np.float16(1), brain.type(2), np.timedelta64(3, "s"),
          [], np.ndarray]
NAMES = ["b", "i", "u", "f", "g", "z", "m", "x", "y", "w", "o", "t", "n", "", "TILE"]

def integer(rng):
    return rng.choice((-1, 1)) * (rng.getrandbits(rng.choice((1, 4, 7, 8, 16, 63, 64, 65, 128))) + rng.choice((-1, 0, 1)))

def number(rng):
    bits = rng.getrandbits(64)
    return rng.choice(FLOATS) if rng.random() < 0.3 else struct.unpack("<d", struct.pack("<Q", bits))[0]

def text(rng):
    return "".join(map(chr, (rng.choice((rng.randrange(128), rng.randrange(0x110000))) for _ in range(rng.randrange(4)))))

SCALARS = (
    lambda rng: rng.random() < 0.5, integer, number, lambda rng: complex(number(rng), number(rng)), text,
    lambda rng: rng.randbytes(rng.randrange(4)), lambda rng: rng.choice(OTHERS), lambda rng: rng.randint(-2, 300),
)

def array(rng):
    kind, shape = rng.randrange(8), rng.choice(SHAPES)
    if kind < 3:
        made = np.zeros(shape, rng.choice(TYPES))
    elif kind == 3:
        made = BASE[rng.randrange(9) :: rng.choice((1, 1, 2, -1))][:9]
        if rng.random() < 0.5:
            made = made[: made.size // 3 * 3].reshape(-1, 3)
    elif kind == 4:
        strides = rng.choice(((4,), (0,), (-4,), (12,))) * len(shape)
        made = np.lib.stride_tricks.as_strided(BASE, shape, strides) if min(strides, default=0) >= 0 else BASE[8::-1]
    elif kind == 5:
        made = np.zeros(4 * int(np.prod(shape)) + 1, "u1")[1:].view("f4").reshape(shape)
    elif kind == 6:
        made = np.zeros(shape, "f4").view(np.recarray)
    else:
        made = np.zeros(shape, "f4")
        made.setflags(write=False)
    return made

def anything(rng):
    return array(rng) if rng.random() < 0.5 else rng.choice(SCALARS)(rng)

def call_of(rng):
    # A call that is right, and then up to two places where it may not be.
    lead = rng.choice(((), (2,), (0,), (4, 1)))
    single = struct.unpack("<f", rng.randbytes(4))[0]
    single = rng.uniform(-7e4, 7e4) if NARROW and rng.random() < 0.8 else single
    args = right(lead, [True, rng.randint(-128, 127), rng.getrandbits(63), single, 2j])
    if rng.random() < 0.5:
        args += [np.zeros(lead, brain), np.zeros((), "f2")] if NARROW else [np.zeros(lead, "f4"), np.zeros(())]
    kwargs = {}
    for _ in range(rng.randrange(3)):
        place = rng.randint(0, len(args) + 1)
        if place < len(args):
            args[place] = anything(rng)
        elif place == len(args):
            kwargs[rng.choice(NAMES)] = anything(rng)
        else:
            args = args[: rng.randint(0, len(args))] + [anything(rng) for _ in range(rng.randrange(3))]
    return args, kwargs

def told(value):
    if not isinstance(value, np.ndarray):
        return value
    return type(value).__name__, value.dtype.str, value.shape, value.strides, value.flags.writeable

served = refused = 0
lists, texts = set(), os.open(last, os.O_WRONLY)
for k in range(begin, end):
    args, kwargs = call_of(random.Random(f"{layout} {k}"))
    said = repr(([told(a) for a in args], {name: told(a) for name, a in kwargs.items()})).encode(errors="replace")
    lists.add(hash(said))
    os.pwrite(texts, b"%d: %-4000s" % (k, said[:4000]), 0)
    outcomes = []
    for door in (kernel, entry):
        try:
            result = door(*args, **kwargs)
            outcomes.append([np.shape(r) for r in result])
        except (TypeError, ValueError, OverflowError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1], outcomes
    if isinstance(outcomes[0], tuple):
        refused += 1
    else:
        served += 1
    if (k + 1) % 20_000 == 0:
        print(f"{layout}: {k + 1 - begin} lists", flush=True)
print(f"{layout}: {len(lists)} distinct lists, {served} served, {refused} refused")
assert end - begin < 100 or (served > 30 and refused > 30)
"""


@pytest.mark.parametrize("layout", ["C", "strided", "broadcast", "narrow"])
def test_random_argument_lists_never_crash(tmp_path, layout):
    """narrow: dates, masks, images, and what is stored in 16 bits."""
    trailing = [] if layout == "broadcast" else ["n"]
    parameters = [
        scalar("b", "bool"), scalar("i", "int8"), scalar("u", "uint64"), scalar("f", "float32"),
        scalar("z", "complex128"), array("x", "float32", ..., *trailing, layout=layout), array("y", "float32", 3, 3),
        array("w", "float32", "n", role="inout"), array("o", "float32", ..., role="out"), scalar("t", "float64", "out"),
    ]  # fmt: skip
    if layout == "narrow":
        parameters = [
            scalar("b", "bool"), scalar("f", "float16"), scalar("g", "bfloat16"), array("i", "int64", ..., "n"),
            array("m", "bool", ..., "n", layout="strided"), array("u", "uint8", ..., "n"),
            array("x", "float16", ..., "n", layout="strided"), array("y", "bfloat16", 3, 3),
            array("w", "int64", "n", role="inout"), array("o", "bfloat16", ..., role="out", fill="0.1"),
            scalar("t", "float16", "out"),
        ]  # fmt: skip
    path = write_kernel(tmp_path, "k", parameters, aliases=[("o", "y")])
    (last := tmp_path / "last list").touch()
    begin, _, end = os.environ.get("PYDOTCOMPUTE_RANDOM_LISTS", "0:400").rpartition(":")
    command = [sys.executable, "-c", PROGRAM, path, layout, begin or "0", end, str(last)]
    environment = dict(os.environ)
    if os.environ.get("PYDOTCOMPUTE_VALGRIND"):
        command = ["valgrind", "--error-limit=no", "--num-callers=8", *command]
        environment |= {"PYTHONMALLOC": "malloc"}
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 0, f"list {last.read_text().strip()}\n{done.stderr[-3000:]}"
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
