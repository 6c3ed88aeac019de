"""Running the cases: every built artifact against what is expected of it, failures as values."""

from __future__ import annotations

import shlex
import warnings
from functools import cache
from typing import Callable, Iterator, NamedTuple, Sequence

import numpy as np

from .. import declare
from ..cache import manifest
from ..declare.model import Declaration, Kernel, Specialisation
from ..runtime import kernel as runtime
from ..runtime.library import KernelLibrary, load
from . import draw, faults
from .cases import cases_of, is_quick, leaves_rounding_open
from .expected import Expected
from .isolate import Death, Unit, isolated
from .judge import cannot_run, findings, served_by_vendor

VENDOR = ":vendor"
SEEDS = 1000  # apart: the seeds of two cases of one artifact


class Failure(NamedTuple):
    """One way in which one case of one artifact does not hold."""

    case: str  # "n=17", with " strided", " misaligned" or " special"
    seed: int
    what: str  # one line
    command: str  # repeats just this case


class Verdict(NamedTuple):
    """One artifact: how many cases ran and what failed, or why it was not run."""

    kernel: str
    specialisation: str
    target: str  # "cpu:vendor": what other calls of the backend than those of a pinned target may go to
    cases: int
    worst: float  # the largest error over its tolerance
    failures: tuple[Failure, ...]
    not_run: str


def check(
    root: str, kernels: Sequence[str] = (), targets: Sequence[str] = (), *, specialisation: str | None = None,
    seed: int = 0, only: str | None = None, quick: bool = False,
) -> Iterator[Verdict]:  # fmt: skip
    """Hold every built artifact of these kernels, specialisation and targets (default: all) to what is expected of it.

    Builds nothing, and refuses what a failed or unfinished build left behind: its source is no longer the one here.
    Calls that a vendor's function serves are held to the same. `only` is one case as a failure prints it; `quick`
    takes small sizes alone, and the references. Raises DeclarationError; KernelNotBuiltError where nothing is built.
    """
    declaration = declare.load(root)
    built = _load(root)
    stale = {entry[:3]: entry[3] for entry in manifest.stale_artifacts(manifest.read(*manifest.find(root)))}
    units = []
    for name in kernels or declaration.kernels:
        kernel = declaration.kernels[name]
        names = {s.name: s.targets for s in built[name].specializations} if name in built else {}
        for chosen in kernel.specialisations:
            if specialisation not in (None, str(chosen)):
                continue
            found = names.get(str(chosen), ())
            wanted = []
            for target in (t for t in found if not targets or t in targets or t.removesuffix("+bounds") in targets):
                if reason := stale.get((name, str(chosen), target)):
                    yield _stale(root, kernel, chosen, target, seed, reason)
                else:
                    wanted.append(target)
            if kernel.vendor:
                vendors = dict.fromkeys(target.partition(":")[0] + VENDOR for target in found)
                wanted += [vendor for vendor in vendors if not targets or vendor in targets]
            if wanted:
                units.append(Unit(kernel, chosen, tuple(wanted)))
            elif not found:
                yield Verdict(name, str(chosen), "", 0, 0.0, (), "not built")
    plan = _Plan(declaration, seed, only, quick)
    yield from isolated(units, plan.verdicts, plan.dead)


def _stale(root: str, kernel: Kernel, specialisation: Specialisation, target: str, seed: int, reason: str) -> Verdict:
    build = shlex.join(["pydotcompute", "build", kernel.name, "-C", root])
    again = _command(root, kernel, specialisation, target)
    failure = Failure("-", seed, f"the artifact is stale ({reason}); run: {build}", again)
    return Verdict(kernel.name, str(specialisation), target, 0, 0.0, (failure,), "")


def built_targets(root: str) -> tuple[str, ...]:
    """What the targets of `check` can be: those of the built artifacts, and the vendors' of their backends. Raises
    KernelNotBuiltError where nothing is built."""
    built = _load(root)
    found = dict.fromkeys(t for name in built for s in built[name].specializations for t in s.targets)
    plain = dict.fromkeys(target.removesuffix("+bounds") for target in found)
    return (*(plain | found), *dict.fromkeys(target.partition(":")[0] + VENDOR for target in found))


class _Plan(NamedTuple):
    """What all units of one check share."""

    declaration: Declaration
    seed: int
    only: str | None
    quick: bool

    def verdicts(self, unit: Unit, begins: Callable[[str, str], None]) -> Iterator[Verdict]:
        """One for each target of the unit, when all its cases have run on all of them."""
        kernel, specialisation, targets = unit
        root = self.declaration.root
        calls = {target: _load(root, None if target.endswith(VENDOR) else target)[kernel.name] for target in targets}
        tallies = {target: _Tally() for target in targets}
        extremes = cache(lambda: not leaves_rounding_open(kernel, specialisation, root))
        for number, (dims, kind) in enumerate(cases_of(kernel, specialisation, self.seed)):
            label = ",".join(f"{k}={v}" for k, v in dims.items()) + (f" {kind}" if kind else "")
            if self.only is not None and self.only != label or self.quick and not is_quick(dims, kind):
                continue

            def drawn() -> draw.Case:
                rng = np.random.default_rng(self.seed * SEEDS + number)
                looks = {"strided": kind == "strided", "misaligned": kind == "misaligned"}
                looks["special"] = ("all" if extremes() else "small") if kind == "special" else ""
                with faults.of("its arguments", label):
                    return draw.draw(kernel, specialisation, dims, rng, root, **looks)

            expected = None
            for target, tally in tallies.items():
                begins(target, label)
                try:
                    case = drawn()
                    expected = expected or Expected(
                        self.declaration, kernel, specialisation, drawn(), calls[target], self.quick
                    )
                    for what, error in _found(calls[target], target, unit, case, kind, expected, tally):
                        tally.worst = max(tally.worst, error)
                        if what:
                            tally.failures.append(self._failure(unit, target, label, what))
                except faults.FaultyDeclaration as fault:
                    tally.failures.append(self._failure(unit, target, label, str(fault)))
        for target, tally in tallies.items():
            idle = tally.not_run or ("" if tally.cases or tally.failures else self._no_case())
            found = (tally.cases, tally.worst, tuple(tally.failures), idle)
            yield Verdict(kernel.name, str(specialisation), target, *found)

    def _no_case(self) -> str:
        return "no case of these sizes is allowed" if self.only is None else f"it has no case '{self.only}'"

    def _failure(self, unit: Unit, target: str, label: str, what: str) -> Failure:
        options = ("--seed", str(self.seed), "--case", label)
        return Failure(label, self.seed, " ".join(what.split()), _command(self.declaration.root, *unit[:2], target, *options))

    def dead(self, unit: Unit, death: Death) -> Verdict:
        what = f"the process ended {death.how} in this case"
        failure = self._failure(unit, death.target, death.cases[-1] if death.cases else "-", what)
        name, specialisation = unit.kernel.name, str(unit.specialisation)
        return Verdict(name, specialisation, death.target, len(death.cases), np.inf, (failure,), "")


class _Tally:
    """What was found for one artifact so far."""

    def __init__(self) -> None:
        self.cases, self.worst = 0, 0.0
        self.failures: list[Failure] = []
        self.not_run: str | None = None  # not known before the first case


def _found(
    call: runtime.Kernel, target: str, unit: Unit, case: draw.Case, kind: str, expected: Expected, tally: _Tally,
) -> Iterator[tuple[str, float]]:  # fmt: skip
    if tally.not_run is None:
        tally.not_run = cannot_run(call, target, unit.specialisation, case)
    if tally.not_run or target.endswith(VENDOR) and not served_by_vendor(call, target, unit.specialisation, case):
        return
    tally.cases += 1
    yield from findings(call, target, unit.kernel, unit.specialisation, case, kind, expected)


def _command(root: str, kernel: Kernel, specialisation: Specialisation, target: str, *more: str) -> str:
    """What repeats a check of one artifact, for a shell."""
    named = ("--specialization", str(specialisation)) if str(specialisation) else ()
    return shlex.join(["pydotcompute", "check", kernel.name, "-C", root, "-t", target, *named, *more])


def _load(root: str, target: str | None = None) -> KernelLibrary:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stale artifacts are refused one by one
        return load(root, target)
