"""How long the programs take beside Numba with `fastmath` of the same bodies, on one thread.

    python -m tests.programs [PROGRAM…] [-t cpu:x86-64-v3] [--seconds 0.05] [--fast] [--json]

Both are called in turn with the same arguments. These are several draws, of 1 MiB together at most: of one alone a
processor soon knows the way of each branch, and foretells what no program could know. The figures are the mean of the
least of each draw, in µs, and their ratio, below 1 where ours is faster. What both give is compared. The last lines:
how many take more than 1.2 times as long, and the geometric mean. --fast: with `fastmath: [fast]` in the declarations,
the permission that Numba has, instead of what is promised of the order of sums and of roundings. Exit code 1: results
differ.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from functools import partial
from math import exp, log
from pathlib import Path
from time import perf_counter
from typing import Any, Iterator, NamedTuple

import numpy as np

from pydotcompute import declare
from pydotcompute.backends.cpu import levels
from pydotcompute.bench import own
from pydotcompute.bench.same_body import call_of
from pydotcompute.check import comparable, draw
from pydotcompute.check.judge import compared
from pydotcompute.declare.model import Kernel
from pydotcompute.runtime.library import KernelLibrary

ROOTS = [str(Path(__file__).parent / folder) for folder in ("", "ported", "others")]
LOST = 1.2
LEAST = 10  # calls of each with each draw
DRAWS, BYTES = 32, 1 << 20


class Figure(NamedTuple):
    name: str
    ours: float  # µs
    numba: float
    differs: str

    @property
    def ratio(self) -> float:
        return self.ours / self.numba


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("-t", "--target", default=levels.usual_target(), help="default: the highest of this processor")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each program")
    parser.add_argument("--fast", action="store_true", help="declare fastmath: [fast]")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    figures = [figure for root in ROOTS for figure in _measured(root, given)]
    if missing := {*given.programs} - {figure.name for figure in figures}:
        parser.error(f"no program is called {', '.join(sorted(missing))}")
    figures.sort(key=lambda figure: -figure.ratio)
    if given.json:
        print(json.dumps([figure._asdict() | {"ratio": figure.ratio} for figure in figures]))
    else:
        print(f"{'program':20} {'ours':>9} {'Numba':>9}  ratio")
        for figure in figures:
            print(f"{figure.name:20} {figure.ours:9.1f} {figure.numba:9.1f} {figure.ratio:6.2f}  {figure.differs}")
        lost = sum(figure.ratio > LOST for figure in figures)
        mean = exp(sum(log(figure.ratio) for figure in figures) / len(figures))
        print(f"{lost} of {len(figures)} above {LOST}; the geometric mean {mean:.2f}")
    return any(figure.differs for figure in figures)


def _measured(declared: str, given: argparse.Namespace) -> list[Figure]:
    """The figures of one declaration's programs, of those that are asked for."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "project")
        own.copy(declared, root)
        if given.fast:
            file = Path(root, "kernels.yaml")
            file.write_text(file.read_text().replace("\n    body: |", "\n    fastmath: [fast]\n    body: |"))
        kernels = declare.load(root).kernels.values()
        chosen = [kernel for kernel in kernels if not given.programs or kernel.name in given.programs]
        if not chosen:
            return []
        (library,) = own.built(root, [given.target], *(kernel.name for kernel in chosen))
        return list(_figures(chosen, library, given.seconds, root))


def _figures(chosen: list[Kernel], library: KernelLibrary, seconds: float, root: str) -> Iterator[Figure]:
    for kernel in chosen:
        draws = [first := _Drawn(kernel, library, 0, root)]
        draws += [_Drawn(kernel, library, n, root, first) for n in range(1, min(DRAWS, BYTES // (first.bytes + 1)))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Numba's, of reflected lists and the like
            ours, theirs = _taken(draws, seconds)
        differs = dict.fromkeys(wrong for drawn in draws for wrong in drawn.differences())
        yield Figure(kernel.name, ours * 1e6, theirs * 1e6, "; ".join(differs))


class _Drawn:
    """One draw of a kernel's arguments, and the calls with copies of it: ours, and Numba's."""

    def __init__(self, kernel: Kernel, library: KernelLibrary, number: int, root: str, like: _Drawn | None = None):
        """like: whose compiled function to take."""
        (specialisation,) = kernel.specialisations
        (dims,) = kernel.sizes["bench"]
        case = draw.draw(kernel, specialisation, dims, np.random.default_rng(number), root)
        self.kernel, self.drawn = kernel, case.arguments
        everything = {**case.arguments, **case.outputs}
        self.bytes = sum(v.nbytes for v in everything.values() if isinstance(v, np.ndarray))
        self.given: list[dict[str, Any]] = [
            {name: np.array(v) if isinstance(v, np.ndarray) else v for name, v in everything.items()} for _ in range(2)
        ]
        mine, theirs = self.given
        numbas: Any = call_of(library[kernel.name], theirs)
        if like:
            numbas = partial(like.calls[1].func, *numbas.args)
        self.calls: tuple[Any, Any] = (partial(library[kernel.name], **mine), numbas)

    def restore(self, given: dict[str, Any]) -> None:
        for p in self.kernel.signature.inputs:
            if p.role == "inout":
                given[p.name][...] = self.drawn[p.name]

    def differences(self) -> Iterator[str]:
        written = self.kernel.signature.written
        got, theirs = (comparable.seen(self.kernel, {p.name: g[p.name] for p in written}) for g in self.given)
        for name in got:
            if wrong := compared(self.kernel, name, got[name], theirs[name], "Numba")[0]:
                yield wrong


def _taken(draws: list[_Drawn], seconds: float) -> tuple[float, float]:
    """The mean of the least times of each, in turn."""
    least = [[float("inf")] * 2 for _ in draws]
    for call in draws[0].calls:  # Numba compiles
        call()
    end, rounds = perf_counter() + seconds, 0
    while perf_counter() < end or rounds < LEAST:
        rounds += 1
        for drawn, best in zip(draws, least):
            for k, (call, given) in enumerate(zip(drawn.calls, drawn.given)):
                drawn.restore(given)
                started = perf_counter()
                call()
                best[k] = min(best[k], perf_counter() - started)
    ours, theirs = (sum(times) / len(draws) for times in zip(*least))
    return ours, theirs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
