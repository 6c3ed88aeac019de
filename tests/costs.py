"""What safety costs the kernels of this repository on a CPU: by instructions, counted by valgrind, and by time.

    python -m tests.costs checks [KERNEL…] [--target cpu:x86-64-v3]     indices that are not proved to be inside are checked,
                                                                        or not, by `unchecked: true`
    python -m tests.costs polls                                         calls look whether they are to end, or do not

Where both make the same bytes there is nothing to measure: the cost is 1. All others are called at the sizes that they
declare under `bench`, and at the largest that `check` draws, with and without in turn, on one thread; the ratio is that
of the least times. Exit code 1: more than AIMS by instructions, or by time where there is no valgrind.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple
from unittest import mock

import numpy as np

from pydotcompute import declare
from pydotcompute.artifact import abi
from pydotcompute.calls import arguments, arrays, words
from pydotcompute.check import sizes
from pydotcompute.check.cases import elements
from pydotcompute.check.draw import draw
from pydotcompute.declare.model import Kernel, Specialisation
from pydotcompute.targets import registry
from pydotcompute.targets.cpu import innermost_loops, interruptions, slices
from pydotcompute.targets.cpu.innermost_loops import InnermostLoops
from tests.targets.built import Built, compiled
from tests.targets.cpu.compiled import load

ROOT = str(Path(__file__).resolve().parents[1])
AIMS = {"checks": (1.03, 1.25), "polls": (1.01, 1.05)}  # the geometric mean over all; any one
SECONDS, ROUNDS = 0.5, 20  # of calls that are timed: at least


class Case(NamedTuple):
    """A call of machine code with and without what is measured."""

    kernel: Kernel
    specialisation: Specialisation
    dims: dict[str, int]
    both: tuple[Built, Built]

    @property
    def name(self) -> str:
        return f"{self.kernel.name} {self.specialisation}"


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.costs", description=__doc__.partition("\n")[0])
    parser.add_argument("subject", choices=[*AIMS])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--target", default="cpu:x86-64-v3")
    options = parser.parse_args(given)
    cases, ratios = [], {}
    for kernel in declare.load(ROOT).kernels.values():
        for specialisation in kernel.specialisations if kernel.name in (options.kernels or [kernel.name]) else ():
            both = variants(options.subject, kernel, specialisation, options.target)
            new = [Case(kernel, specialisation, dims, both) for dims in measured(kernel, specialisation)]
            ratios[new[0].name] = [(1.0, 1.0)]
            if both[0].data != both[1].data:
                ratios[new[0].name] = []
                cases += new
    for case, counted in zip(cases, instructions(cases)):
        times = in_turn(*(prepared(case, built) for built in case.both))
        ratios[case.name].append((counted, times))
        where = ", ".join(f"{name}={n}" for name, n in case.dims.items())
        print(f"{case.name:36} {where:36} instructions {counted:.4f}  time {times:.4f}", flush=True)
    return judged(ratios, *AIMS[options.subject])


def judged(ratios: dict[str, list[tuple[float, float]]], aim: float, most: float) -> int:
    print(f"{len(ratios)} specialisations, {sum(each == [(1.0, 1.0)] for each in ratios.values())} of one code")
    missed = False
    for k, what in enumerate(("instructions", "time")):
        each = {name: mean([row[k] for row in rows]) for name, rows in ratios.items()}
        worst = max(each, key=each.__getitem__)
        print(f"{what}: {mean([*each.values()]):.4f} in the geometric mean, at most {each[worst]:.3f}, of {worst}")
        missed |= not k and (mean([*each.values()]) > aim or each[worst] > most)
    return int(missed)


def variants(subject: str, kernel: Kernel, specialisation: Specialisation, target: str) -> tuple[Built, Built]:
    """With, and without."""
    def made(kernel: Kernel) -> Built:
        rendered = declare.render(kernel, specialisation, "cpu", ROOT, registry.raw_modules())
        return compiled(target, kernel, specialisation, rendered)

    own = made(kernel)
    with without_polls() if subject == "polls" else nullcontext():
        return own, made(replace(kernel, unchecked=True) if subject == "checks" else kernel)


@contextmanager
def without_polls() -> Iterator[None]:
    """Calls that end after a fault, and do not look for signals."""

    def loop(self: Any, s: Any, write: Callable[[], None]) -> None:
        self.around.append(interruptions._Watch(""))
        write()
        self.around.pop()

    @contextmanager
    def whole(self: Any, loop: Any, start: str, stop: str, made: Any = InnermostLoops._pieces) -> Iterator[Any]:
        with made(self, loop, start, stop) if self.faults.any else nullcontext((start, stop)) as found:
            yield found

    looks = "br i1 %none, label %whose, label %ended"
    assert looks in slices._TEMPLATE
    with (
        mock.patch.object(interruptions.Interruptions, "loop", loop),
        mock.patch.object(InnermostLoops, "_pieces", whole),
        mock.patch.object(innermost_loops, "leave_if_interrupted", lambda writer, condition="": None),
        mock.patch.object(slices, "_TEMPLATE", slices._TEMPLATE.replace(looks, looks.replace("whose", "go_on"))),
    ):
        yield


def measured(kernel: Kernel, specialisation: Specialisation) -> list[dict[str, int]]:
    largest = max(sizes.cases(kernel, specialisation, 0), key=elements)
    return [*({n: int(v) for n, v in dims.items()} for dims in kernel.sizes.get("bench", ())), largest]


def prepared(case: Case, built: Built) -> Callable[[], Any]:
    """A call with words that are filled already, on arrays of its own."""
    drawn = draw(case.kernel, case.specialisation, case.dims, np.random.default_rng(0), ROOT)
    record, by_name = built.record, {**drawn.arguments, **drawn.outputs}
    given, chosen = arguments.assign(record.name, record.signature, record.params, (), by_name)
    call = arguments.check(record, given, chosen, arrays)
    values, _ = call.complete()
    parameters = built.specialisation.parameters
    layout, total = abi.slots(parameters, record.signature.symbols)
    block, kept = words.fill(layout, total, parameters, values, call.dims, call.leading)
    run = load(built.data).run

    def once(keeps: Any = (kept, values, drawn)) -> None:
        assert run(block) == 0

    return once


def in_turn(one: Callable[[], Any], other: Callable[[], Any]) -> float:
    """How many times as long the first takes."""
    least, end, rounds = [float("inf"), float("inf")], time.perf_counter() + SECONDS, 0
    one(), other()
    while rounds < ROUNDS or time.perf_counter() < end:
        for k, call in sorted(enumerate((one, other)), reverse=bool(rounds % 2)):
            started = time.perf_counter()
            call()
            least[k] = min(least[k], time.perf_counter() - started)
        rounds += 1
    return least[0] / least[1]


def instructions(cases: list[Case]) -> Iterator[float]:
    """How many times as many instructions the first of both takes: of each case. All in one process, whose start takes
    a minute under valgrind."""
    if not cases:
        return
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/cases", "wb") as file:
            pickle.dump([(*c[:3], tuple(replace(b, tree=None) for b in c.both)) for c in cases], file)
        # All that ctypes calls is counted, and written where it calls the next time.
        callgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=ffi_call", "--dump-before=ffi_call"]
        code = "import sys, tests.costs; tests.costs.call(sys.argv[1])"
        command = [*callgrind, f"--callgrind-out-file={folder}/out", sys.executable, "-c", code, folder]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        texts = [Path(f"{folder}/{name}").read_text() for name in Path(f"{folder}/counted").read_text().split()]
        counts = [int(found[1]) for text in texts if (found := re.search(r"^totals: (\d+)", text, re.M))]
    for one, other in zip(counts[::2], counts[1::2], strict=True):
        yield one / other


def call(folder: str) -> None:
    """Each case, with and without, where instructions are counted; and in which files that stands."""
    counted = []
    with open(f"{folder}/cases", "rb") as file:
        for each in pickle.load(file):
            for built in (case := Case(*each)).both:
                once = prepared(case, built)
                before = sum(name.startswith("out.") for name in os.listdir(folder))
                once()
                counted.append(f"out.{before + 2}")
    ctypes.CDLL(None).labs(0)
    Path(f"{folder}/counted").write_text("\n".join(counted))


def mean(ratios: list[float]) -> float:
    """The geometric one."""
    return exp(sum(map(log, ratios)) / len(ratios))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
