"""How long the programs take beside Numba with `fastmath` of the same bodies, on one thread.

    python -m tests.programs [PROGRAM…] [-t cpu:x86-64-v3] [--seconds 0.05] [--fast] [--json]

Both are called in turn with the same arguments, which are drawn anew; the figures are the least of each, in µs, and their
ratio, below 1 where ours is faster. What both give is compared. The last lines: how many take more than 1.2 times as long,
and the geometric mean. --fast: with `fastmath: [fast]` in the declarations, the permission that Numba has, instead of
what is promised of the order of sums and of roundings. Exit code 1: results differ.
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
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np

from pydotcompute import declare
from pydotcompute.bench import own
from pydotcompute.bench.same_body import call_of
from pydotcompute.check import comparable, draw
from pydotcompute.check.judge import compared
from pydotcompute.declare.model import Kernel
from pydotcompute.runtime.library import KernelLibrary

ROOTS = [str(Path(__file__).parent), str(Path(__file__).parent / "ported")]
LOST = 1.2
LEAST = 10  # calls of each


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
    parser.add_argument("-t", "--target", default="cpu:x86-64-v3")
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
        (specialisation,) = kernel.specialisations
        (dims,) = kernel.sizes["bench"]
        case = draw.draw(kernel, specialisation, dims, np.random.default_rng(0), root)
        drawn, given = {**case.arguments, **case.outputs}, []
        for _ in range(2):
            given.append({name: np.array(v) if isinstance(v, np.ndarray) else v for name, v in drawn.items()})
        calls = (partial(library[kernel.name], **given[0]), call_of(library[kernel.name], given[1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Numba's, of reflected lists and the like
            taken = _taken(calls, [partial(_restore, kernel, own_, case.arguments) for own_ in given], seconds)
        got, theirs = (comparable.seen(kernel, {p.name: g[p.name] for p in kernel.signature.written}) for g in given)
        wrong = [compared(kernel, name, got[name], theirs[name], "Numba")[0] for name in got]
        yield Figure(kernel.name, *(t * 1e6 for t in taken), "; ".join(filter(None, wrong)))


def _restore(kernel: Kernel, given: dict[str, Any], drawn: dict[str, Any]) -> None:
    for p in kernel.signature.inputs:
        if p.role == "inout":
            given[p.name][...] = drawn[p.name]


def _taken(
    calls: tuple[Callable[[], Any], ...], restore: list[Callable[[], None]], seconds: float
) -> tuple[float, ...]:
    """The least time of each, in turn."""
    least = [float("inf")] * len(calls)
    for call, before in zip(calls, restore):  # Numba compiles
        before()
        call()
    end, rounds = perf_counter() + seconds, 0
    while perf_counter() < end or rounds < LEAST:
        rounds += 1
        for k, (call, before) in enumerate(zip(calls, restore)):
            before()
            started = perf_counter()
            call()
            least[k] = min(least[k], perf_counter() - started)
    return tuple(least)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
