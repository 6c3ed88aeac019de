"""A library of 20 kernels on two dtypes, written twice from one table: declared for this package, and as functions that
Numba compiles where they are called and keeps on the disk."""

from __future__ import annotations

from pathlib import Path

DTYPES = ("float32", "float64")
ELEMENTS = {  # what becomes of two elements
    "added": "a + b", "subtracted": "a - b", "multiplied": "a * b", "divided": "a / b", "mixed": "(a + b) / 2",
    "blended": "a + (b - a) * a", "length": "sqrt(a * a + b * b)", "logistic": "b / (1 + exp(-a))",
    "decayed": "b * exp(-a)", "powers": "log(a) * b", "wave": "b * sin(a)", "turned": "a * cos(b) + b * sin(a)",
    "squashed": "tanh(a) * b", "bell": "b * exp(-a * a / 2)",
}  # fmt: skip
ROWS = {  # what is added up over the elements of two rows
    "products": "a * b", "distances": "(a - b) * (a - b)", "manhattan": "abs(a - b)", "energy": "sqrt(a * a + b * b)",
    "likelihood": "a * log(b)", "weights": "a * exp(-b)",
}  # fmt: skip
NAMES = (*ELEMENTS, *ROWS)
FIRST_CALL = """
import numpy as np
from {package}.kernels import logistic
x = np.ones(1000, "float32")
assert abs(logistic(x, x)[0] - 0.7310586) < 1e-6
"""
OF_ELEMENTS = """\
for i in {parallel}(n):
    a = x[i]
    b = y[i]
    out[i] = {expression}
"""
OF_ROWS = """\
for r in {parallel}(m):
    s = {zero}
    for c in range(n):
        a = x[r, c]
        b = y[r, c]
        s += {expression}
    out[r] = s
"""
BY_NUMBA = "import numpy as np\nfrom numba import njit\nfrom numpy import abs, cos, exp, log, sin, sqrt, tanh\n"
PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
dependencies = ["numpy", "numba"]

[tool.hatch.build.targets.wheel]
packages = ["src/{name}"]
"""


def kernels_yaml() -> str:
    """The declaration of all of them."""
    lines = ["version: 1", "kernels:"]
    for name in NAMES:
        dims, result = ("n", "n") if name in ELEMENTS else ("m, n", "m")
        lines += [
            f"  {name}:", f'    signature: "(x: T[{dims}], y: T[{dims}]) -> (out: T[{result}])"',
            f"    types: {{T: [{', '.join(DTYPES)}]}}", "    body: |", _body(name, "grid", "T(0)", 6),
        ]  # fmt: skip
    return "\n".join(lines)


def numba_package(root: Path) -> None:
    """Write a package of the folder's name, whose wheel has the same functions."""
    text = BY_NUMBA
    for name in NAMES:
        shape = "n = x.shape[0]\n    out = np.empty(n, x.dtype)"
        if name in ROWS:
            shape = "m, n = x.shape\n    out = np.empty(m, x.dtype)"
        body = _body(name, "range", "x.dtype.type(0)", 4)
        text += f"\n\n@njit(cache=True)\ndef {name}(x, y):\n    {shape}\n{body}    return out\n"
    package = root / "src" / root.name
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "kernels.py").write_text(text)
    (root / "pyproject.toml").write_text(PYPROJECT.format(name=root.name))


def _body(name: str, parallel: str, zero: str, indent: int) -> str:
    text, expression = (OF_ELEMENTS, ELEMENTS[name]) if name in ELEMENTS else (OF_ROWS, ROWS[name])
    lines = text.format(parallel=parallel, zero=zero, expression=expression).splitlines(keepends=True)
    return "".join(" " * indent + line for line in lines)
