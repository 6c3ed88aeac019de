"""What tells one function from another: each part of it that reaches its machine code, and nothing else."""

import math
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from pydotcompute.jit.fingerprint import fingerprint


def made(text, lines=0, **names):
    """The function f of a text, with these globals."""
    exec(compile("\n" * lines + text, f"some {lines} file.py", "exec"), names)
    return names["f"]


def one(v):
    return v + 1


def two(v):
    return v + 2


COMPREHENSION = "def f(x):\n    return [g(v) for v in x]"
INNER = "def f(x):\n    def inner(v):\n        return g(v)\n    return inner(x)"
INNERMOST = "def f(x):\n    return (lambda v: [g(w) for w in v])(x)"
CALL = "def f(x):\n    return g(x)"
MODULE = "def f(x):\n    return m.g(x)"
CONSTANT = "def f(x):\n    return x, c"
PAIRS = {
    "a global in a comprehension": (made(COMPREHENSION, g=one), made(COMPREHENSION, g=two)),
    "a global in an inner function": (made(INNER, g=one), made(INNER, g=two)),
    "a global in the innermost one": (made(INNERMOST, g=one), made(INNERMOST, g=two)),
    "a number in a comprehension": (made(COMPREHENSION, g=one), made(COMPREHENSION.replace("(v)", "(v + 1)"), g=one)),
    "an attribute": (made("def f(x):\n    return x.real"), made("def f(x):\n    return x.imag")),
    "an operator": (made("def f(x):\n    return x + x"), made("def f(x):\n    return x - x")),
    "a default": (made("def f(x, y=1):\n    return x"), made("def f(x, y=2):\n    return x")),
    "the name of an argument": (made("def f(x, y):\n    return x"), made("def f(x, z):\n    return x")),
    "how a helper is compiled": (made(CALL, g=numba.njit(one)), made(CALL, g=numba.njit(fastmath=True)(one))),
    "whether a helper is there": (made(CALL, g=one), made(CALL)),
    "a function of a module": (made(MODULE, m=type(math)("m")), made(MODULE, m=math)),
    "a number of another type": (made("def f(x):\n    return x + 1"), made("def f(x):\n    return x + 1.0")),
    "the sign of a zero": (made(CONSTANT, c=0.0), made(CONSTANT, c=-0.0)),
    "the shape of an array": (made(CONSTANT, c=np.ones((2, 3))), made(CONSTANT, c=np.ones((3, 2)))),
    "the type of an array": (made(CONSTANT, c=np.zeros(2, "i4")), made(CONSTANT, c=np.zeros(2, "f4"))),
    "an element of a tuple of tuples": (made(CONSTANT, c=((1, 2),)), made(CONSTANT, c=((1, 3),))),
    "how tuples are nested": (made(CONSTANT, c=((1, 2), 3)), made(CONSTANT, c=(1, (2, 3)))),
}


@pytest.mark.parametrize("what", PAIRS)
def test_different_functions(what):
    first, second = PAIRS[what]
    assert fingerprint(first) != fingerprint(second)


@pytest.mark.parametrize("text", [COMPREHENSION, INNER, INNERMOST, CALL])
def test_the_same_function_elsewhere(text):
    assert fingerprint(made(text, g=one)) == fingerprint(made(text, lines=7, g=one, other=two))


PROGRAM = """
import sys
import llvmlite.binding as llvm

if sys.argv[1]:
    found = llvm.get_host_cpu_features()
    found[sys.argv[1]] = False
    llvm.get_host_cpu_features = lambda: found

from pydotcompute.backends import CPUBackend

def kernel(x):
    return x + 1

made = CPUBackend().compile_kernel(kernel, (float,))
assert made(1.0) == 2.0
print(sum(made._cache_hits.values()))
"""


@pytest.mark.slow
def test_code_for_another_processor_is_not_taken(tmp_path):
    def taken(lacking):
        """How often machine code came from the disk, on a processor without this feature."""
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, "-c", PROGRAM, lacking]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert [taken(lacking) for lacking in ("", "", "popcnt", "popcnt", "")] == [0, 1, 0, 1, 1]
