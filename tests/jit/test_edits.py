"""Functions that call across modules, at random: an edit that can be reached compiles anew, any other does not.

A child process imports the modules as they are written, compiles the kernel and says its result, and whether the
machine code came from the disk. What it expects is what the kernel's Python computes there.
"""

import random
import subprocess
import sys

import pytest

MODULES = ("top", "pkg.one", "pkg.two", "pkg.sub.three")
CHILD = """
import os
import sys
import numba
import numpy as np
from pydotcompute.backends import CPUBackend
numba.njit("float64(float64)")(lambda x: np.sin(x) + 1.0)  # what is slow the first time, before the processes part
for folder in sys.argv[1:]:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        continue
    sys.path.insert(0, folder)
    from top import kernel
    made = CPUBackend().compile_kernel(kernel, ("float64", "float64[::1]"))
    out, expected = np.zeros(1), np.zeros(1)
    made(3.0, out)
    kernel(3.0, expected)
    assert out[0] == expected[0], (out[0], expected[0])
    print(out[0], sum(made._cache_hits.values()), flush=True)
    os._exit(0)
"""


class Program:
    """Functions in several modules, each with a number of its own, calling some of those before it in every way that
    Numba knows; `ways` of a function: how another is reached, and with what of it."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.count = self.draw.randint(5, 8)
        order = sorted(self.draw.choice((1, 2, 3)) for _ in range(self.count - 1))  # so that no import is circular
        self.module = [*(MODULES[m] for m in order), "top"]
        self.numbers = [k + 2 for k in range(self.count)]
        self.forms = [self.draw.choice(("literal", "global", "closure", "default", "tuple", "array", "record"))
                      for _ in range(self.count)]  # fmt: skip
        self.calls: list[list[tuple[int, str]]] = []
        for k in range(self.count):
            chosen = self.draw.sample(range(k), min(k, self.draw.randint(1, 2)))
            self.calls.append([(c, self.draw.choice(self.ways(k, c))) for c in chosen])

    def ways(self, caller: int, called: int) -> list[str]:
        here = ["closure", "tuple", "jitable"]
        if self.module[caller] == self.module[called]:
            return ["name", "alias", *here]
        return ["import", "as", "chain", "module", "local", "module closure", "given", "from", *here]

    def reachable(self) -> set[int]:
        found = [self.count - 1]
        for k in found:  # grows on the way
            found += [c for c, _ in self.calls[k] if c not in found]
        return set(found)

    def files(self) -> dict[str, str]:
        names = {module: ["import numba", "import numpy as np", "from collections import namedtuple"]
                 for module in MODULES}  # fmt: skip
        for k in range(self.count):
            names[self.module[k]] += self.function(k)
        paths = {m: f"{m.replace('.', '/')}.py" for m in MODULES}
        return {**{paths[m]: "\n".join(lines) + "\n" for m, lines in names.items()},
                "pkg/__init__.py": "", "pkg/sub/__init__.py": ""}  # fmt: skip

    def function(self, k: int) -> list[str]:
        before: list[str] = []
        inside: list[str] = []  # at the start of the function's body
        free: list[tuple[str, str]] = []  # variables of a function around it
        terms: list[str] = []
        number, default = self.number(k, before, free)
        for n, (called, way) in enumerate(self.calls[k]):
            module, name = self.module[called], f"f{called}"
            if self.module[k] == module:
                whole = name
            else:
                before.append(f"import {module}")
                whole = f"{module}.{name}"
            if way == "as":
                before.append(f"import {module} as m{k}_{n}")
                whole = f"m{k}_{n}.{name}"
            elif way == "module":
                before.append(f"from {module.rpartition('.')[0]} import {module.rpartition('.')[2]} as n{k}_{n}")
                whole = f"n{k}_{n}.{name}"
            elif way == "from":
                before.append(f"from {module} import {name} as g{k}_{n}")
                whole = f"g{k}_{n}"
            elif way == "alias":
                before.append(f"a{k}_{n} = {name}")
                whole = f"a{k}_{n}"
            elif way == "local":
                inside.append(f"m{n} = {module}")
                whole = f"m{n}.{name}"
            elif way == "closure":
                free.append((f"c{n}", whole))
                whole = f"c{n}"
            elif way == "module closure":
                free.append((f"c{n}", module))
                whole = f"c{n}.{name}"
            elif way == "tuple":
                before.append(f"t{k}_{n} = ({whole}, {whole})")
                whole = f"t{k}_{n}[1]"
            elif way == "jitable":
                before += ["from numba.extending import register_jitable", "@register_jitable",
                           f"def j{k}_{n}(x):", f"    return {whole}(x) - 1"]  # fmt: skip
                whole = f"j{k}_{n}"
            if way == "given":
                before += ["from numba.extending import register_jitable", "@register_jitable",
                           f"def g{k}_{n}(m, x):", f"    return m.{name}(x)"]  # fmt: skip
                terms.append(f"g{k}_{n}({module}, x)")
            else:
                terms.append(f"{whole}(x)")
        last = k == self.count - 1
        header = "def kernel(x, out):" if last else f"def f{k}(x{default}):"
        result = f"x * {number} + {' + 2 * '.join(terms or ['0'])}"
        body = [*inside, f"out[0] = {result}" if last else f"return {result}"]
        lines = [header, *("    " + line for line in body)]
        if not last:
            lines.insert(0, "@numba.njit")
        if not free:
            return [*before, *lines]
        name = "kernel" if last else f"f{k}"
        around = ", ".join(variable for variable, _ in free)
        values = ", ".join(value for _, value in free)
        return [*before, f"def make{k}({around}):", *("    " + line for line in lines), f"    return {name}",
                f"{name} = make{k}({values})"]  # fmt: skip

    def number(self, k: int, before: list[str], free: list[tuple[str, str]]) -> tuple[str, str]:
        """How function k says its number, and what of it stands among its arguments."""
        value, form = self.numbers[k], self.forms[k]
        if form == "global":
            before.append(f"K{k} = {value}")
            return f"K{k}", ""
        if form == "closure":
            free.append(("own", str(value)))
            return "own", ""
        if form == "default" and k != self.count - 1:
            return "own", f", own={value}"
        if form == "tuple":
            before.append(f"K{k} = (1, ({value}, 5))")
            return f"K{k}[1][0]", ""
        if form == "array":
            before.append(f"K{k} = np.array([1.0, {value}])")
            return f"K{k}[1]", ""
        if form == "record":  # the values stay, and change places
            before.append(f"K{k} = namedtuple('K{k}', '{'a b' if value < 100 else 'b a'}')(3, 4)")
            return f"K{k}.a", ""
        return str(value), ""

    def edited(self, k: int) -> dict[str, str]:
        self.numbers[k] += 100
        files = self.files()
        self.numbers[k] -= 100
        return files


def run(folder, states: list[dict[str, str]], program: str = CHILD) -> list[tuple[float, int]]:
    """(result, hits) of each state of the files in turn, each in a folder and a process of its own."""
    for k, files in enumerate(states):
        for path, text in files.items():
            (folder / str(k) / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / str(k) / path).write_text(text)
    folders = [str(folder / str(k)) for k in range(len(states))]
    done = subprocess.run([sys.executable, "-B", "-c", program, *folders], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + "\n".join(f"# {path}\n{text}" for path, text in states[0].items())
    pairs = [line.split() for line in done.stdout.splitlines()]
    return [(float(value), int(hits)) for value, hits in pairs]


@pytest.mark.parametrize("seed", range(8))
def test_what_can_be_reached_is_compiled_anew_and_nothing_else(tmp_path, monkeypatch, seed):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = Program(seed)
    reachable = program.reachable()
    files = program.files()
    edits = program.draw.sample(range(program.count), min(4, program.count))
    first, *others, last = run(tmp_path, [files, *map(program.edited, edits), files])
    assert first[1] == 0 and last == (first[0], 1)
    for k, (value, hits) in zip(edits, others):
        assert (hits == 0) == (k in reachable), f"f{k}"
        assert (value != first[0]) == (k in reachable), f"f{k}"


SIGNATURE = """
import numba
@numba.njit("float64(float64)")
def g(x):
    return x * 0.1
"""
OVERLOAD = """
from numba.extending import overload
def g(x):
    pass
@overload(g)
def of_g(x):
    return lambda x: x * 2.0
"""
METHOD = """
from numba import types
from numba.extending import overload_method
@overload_method(types.Float, "scaled")
def scaled(x):
    return lambda x: x * 2.0
"""


@pytest.mark.parametrize(
    "other, call, edit",
    [
        (SIGNATURE, "other.g(x)", ('"float64(', '"float32(')),
        (SIGNATURE.replace('"float64(float64)"', 'fastmath={"reassoc", "nsz"}'), "other.g(x)", ("0.1", "0.2")),
        (OVERLOAD, "other.g(x)", ("2.0", "3.0")),
        (METHOD, "x.scaled()", ("2.0", "3.0")),
        ("N = (1, 2)", "other.N[0] * x", ("(1, 2)", "(2, 1)")),
        ("f = 1.0", "other.f * x", ("f = 1.0", "g = 1.0; f = 2.0")),
    ],
)
def test_what_numba_is_told_of_a_function_counts(tmp_path, monkeypatch, other, call, edit):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    top = f"""
import other
def kernel(x, out):
    out[0] = {call}
"""
    program = CHILD.replace("kernel(3.0, expected)", "made(3.0, expected)")  # Python knows no overloads
    states = [{"top.py": top, "other.py": text} for text in (other, other + "\nunused = 1\n", other.replace(*edit))]
    first, again, edited = run(tmp_path, states, program)
    assert again == (first[0], 1) and edited[1] == 0 and edited[0] != first[0]
