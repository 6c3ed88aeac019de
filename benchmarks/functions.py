"""The listed functions, one thread, in nanoseconds an element, against NumPy in the same run.

    python benchmarks/functions.py [FUNCTION…] [--target cpu:x86-64-v3]…

Builds a kernel for each function in a temporary project, for the targets named (default: cpu:x86-64-v2 and -v3), and
calls it on 10,000 numbers, which stay in the caches: the best of many rounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import timeit

import numpy as np

SIZE, ROUNDS = 10_000, 60
NUMPY = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
RANGES = {  # others: -1 to 1
    "exp": (-10, 10), "exp2": (-10, 10), "expm1": (-2, 2), "log": (0.1, 10), "log2": (0.1, 10), "log10": (0.1, 10),
    "log1p": (-0.5, 5), "sin": (-20, 20), "cos": (-20, 20), "tan": (-20, 20), "sinh": (-5, 5), "cosh": (-5, 5),
    "tanh": (-3, 3), "erf": (-3, 3), "erfc": (-3, 3), "pow": (0.1, 5), "hypot": (0.1, 5), "cbrt": (-9, 9),
    "rsqrt": (0.1, 10), "sqrt": (0.1, 10), "atan": (-5, 5), "acos": (-1, 1), "asin": (-1, 1), "atan2": (-1, 1),
}  # fmt: skip
BINARY = ("atan2", "hypot", "pow")


def declaration(names: list[str]) -> str:
    def kernels(label: str, arguments: str, call: str, chosen: list[str]) -> list[str]:
        if not chosen:
            return []
        members = ", ".join(f"{name}: {{F: {name}}}" for name in chosen)
        return [
            f"  {label}:",
            f"    family: {{{members}}}",
            f'    signature: "({arguments}) -> (out: T[...])"',
            "    types: {T: [float32, float64]}",
            "    body: |",
            "      for i in grid(size):",
            f"          out[i] = {{{{ F }}}}({call})",
        ]

    one = [name for name in names if name not in BINARY]
    two = [name for name in names if name in BINARY]
    lines = ["version: 1", "kernels:", *kernels("one", "x: T[...]", "x[i]", one)]
    return "\n".join([*lines, *kernels("two", "x: T[...], y: T[...]", "x[i], y[i]", two)]) + "\n"


def best(function, *arrays, out) -> float:
    """Nanoseconds an element."""
    return min(timeit.repeat(lambda: function(*arrays, out), number=5, repeat=ROUNDS)) / 5 / SIZE * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", choices=[*RANGES, []], metavar="FUNCTION")
    parser.add_argument("--target", action="append", metavar="TARGET")
    options = parser.parse_args()
    names, targets = options.functions or list(RANGES), options.target or ["cpu:x86-64-v2", "cpu:x86-64-v3"]
    os.environ["PYDOTCOMPUTE_THREADS"] = "1"
    import pydotcompute

    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernels.yaml"), "w") as file:
            file.write(declaration(names))
        chosen = [word for target in targets for word in ("-t", target)]
        subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", folder, *chosen], check=True)
        libraries = [pydotcompute.load(folder, target=target) for target in targets]
        columns = [target.removeprefix("cpu:") for target in targets] + ["NumPy", "NumPy / last"]
        print("ns an element".ljust(18) + "".join(column.rjust(14) for column in columns))
        generator = np.random.default_rng(0)
        for name in names:
            for dtype in ("float32", "float64"):
                arrays = [generator.uniform(*RANGES[name], SIZE).astype(dtype) for _ in range(1 + (name in BINARY))]
                out = np.empty(SIZE, dtype)
                times = [best(library[name], *arrays, out=out) for library in libraries]
                theirs = getattr(np, NUMPY.get(name, name), None)
                row = [f"{t:.2f}" for t in times]
                if theirs:
                    reference = best(theirs, *arrays, out=out)
                    row += [f"{reference:.2f}", f"{reference / times[-1]:.1f}"]
                print(f"{name:8}{dtype:10}" + "".join(cell.rjust(14) for cell in row), flush=True)


if __name__ == "__main__":
    main()
