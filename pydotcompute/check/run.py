"""Running the cases: every built artifact against what is expected of it, failures as values."""

from __future__ import annotations

import os
import re
from functools import cache, partial
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import numpy as np

from ..builder.build import Project
from ..cache import manifest
from ..declare.model import Declaration
from ..runtime import kernel as runtime
from ..runtime.library import KernelLibrary, reopened
from ..runtime.origin import Origin
from ..targets.base import BOUNDS
from . import draw, faults
from .cases import STREWN, Chosen, growing, is_for_reference, is_quick, leaves_rounding_open
from .expected import Expected
from .isolate import Death, Tell, Unit, isolated
from .judge import Found, cannot_run, findings, served_by_vendor
from .pace import BUDGET, Pace, clock
from .places import Places
from .scattered import scattered
from .select import VENDOR, Selection, vendor_of
from .sizes import declared
from .stale import out_of_date
from .trees import rendered_tree
from .verdict import ENDED, Failure, Verdict, check_command

SEEDS = 1000  # apart: the seeds of two cases of one artifact
LONG = "would take too long"  # why a case is left out


def check(
    root: str, kernels: Sequence[str] = (), targets: Sequence[str] = (), *, specialisation: str | None = None,
    seed: int = 0, only: str | None = None, quick: bool = False,
    slow: Callable[[Unit, str, str, float], None] = lambda *case: None,
) -> Iterator[Verdict]:  # fmt: skip
    """Hold every built artifact of these kernels, specialisation and targets (default: all) to what is expected of it.

    Builds nothing, and refuses what is not made of the source that is here now. PYDOTCOMPUTE_TARGET does not count.
    Calls that a vendor's function serves are held to the same. `only` is one case as a failure prints it; `quick`
    takes small sizes alone, and the references. `slow` is called as `isolated` says.
    Kernels whose declaration is wrong are none of them. Raises DeclarationError where that of the whole project is;
    KernelNotBuiltError where nothing is built.
    """
    opened = _opener(root)
    project = Project(root, lambda line: None, keep_going=True)
    declaration = project.declaration
    stale = out_of_date(project)
    selection = Selection(root, declaration, opened(None), stale, kernels, targets, specialisation, seed)
    units = []
    for item in selection.all():
        if isinstance(item, Unit):
            units.append(item)
        else:
            yield item
    places = cache(lambda kernel, label: Places(declaration, kernel, label))
    plan = _Plan(declaration, opened, places, seed, only, quick)
    yield from isolated(units, plan.verdicts, plan.dead, slow)
    if not targets and only is None:
        yield from selection.unbounded(units)


def built_targets(root: str) -> tuple[str, ...]:
    """What the targets of `check` can be: those of the built artifacts, and the vendors' of their backends. Raises
    KernelNotBuiltError where nothing is built."""
    built = _opener(root)(None)
    found = dict.fromkeys(t for name in built for s in built[name].specializations for t in s.targets)
    plain = dict.fromkeys(target.removesuffix("+bounds") for target in found)
    return (*(plain | found), *dict.fromkeys(map(vendor_of, found)))


def _opener(root: str) -> Callable[[str | None], KernelLibrary]:
    """The built kernels by the target that they are pinned to; None: to none, whatever the environment says."""
    folder, path = manifest.find(os.path.abspath(root))
    kernels = manifest.read(folder, path)
    return cache(lambda target: KernelLibrary(kernels, Origin(folder, path, target, False, reopened)))


class _Plan(NamedTuple):
    """What all units of one check share."""

    declaration: Declaration
    opened: Callable[[str | None], KernelLibrary]
    places: Callable[[str, str], Places]
    seed: int
    only: str | None
    quick: bool

    def verdicts(self, unit: Unit, tell: Tell) -> Iterator[Verdict]:
        """One for each target of the unit, when all its cases have run on all of them."""
        kernel, specialisation, targets = unit
        calls = {t: self.opened(None if t.endswith(VENDOR) else t)[kernel.name] for t in targets}
        tallies = {target: _Tally() for target in targets}
        _, tree = rendered_tree(kernel, specialisation, self.declaration.root)
        extremes, loose = "small" if leaves_rounding_open(tree) else "all", scattered(tree)
        now, asked_for = clock(targets), declared(kernel)
        pace, slow = Pace(BUDGET * len(targets), now), Pace(BUDGET, now)
        for case in growing(kernel, specialisation, self.seed):
            label, kind = case.label, case.kind
            if self.only is not None and self.only != label or self.quick and not is_quick(kernel, case.dims, kind):
                continue
            asked = case.dims in asked_for
            if not asked and not pace.allows(case.size):
                for tally in tallies.values():
                    tally.left_out.append((label, LONG))
                continue
            looks = {kind: {"special": case.turn, "extreme": extremes}.get(kind, True)} if kind else {}
            drawn = partial(self._drawn, unit, case.dims, self.seed * SEEDS + case.number, label, looks)
            residues = kind in STREWN and extremes == "small"
            expected = cache(partial(self._expected, unit, drawn, calls[targets[0]], slow, loose, residues))
            since, interpreted = now(), slow.spent
            for target, tally in tallies.items():
                tell("begins", target, label)
                for found in _found(calls[target], target, unit, drawn, case, asked, expected, tally):
                    tally.failures.append(self._failure(unit, target, label, found))
                    tell("found", target, tally.failures[-1])
            pace.note(case.size * all(case.dims.values()), now() - since - (slow.spent - interpreted))
        for target, tally in tallies.items():
            idle = tally.not_run or ("" if tally.cases or tally.failures else self._no_case(tally))
            told = (tally.cases, tally.worst, tuple(tally.failures), idle)
            trusted = kernel.unchecked and not target.endswith((BOUNDS, VENDOR))
            yield Verdict(kernel.name, str(specialisation), target, *told, tally.unheld, tuple(tally.left_out), trusted)

    def _drawn(self, unit: Unit, dims: dict[str, int], seed: int, label: str, looks: dict[str, Any]) -> draw.Case:
        rng = np.random.default_rng(seed)
        with faults.of("arguments", label):
            return draw.draw(unit.kernel, unit.specialisation, dims, rng, self.declaration.root, **looks)

    def _expected(
        self, unit: Unit, drawn: Callable[[], draw.Case], call: runtime.Kernel, slow: Pace, loose: frozenset[str],
        residues: bool,
    ) -> Expected:  # fmt: skip
        told = (self.declaration, unit.kernel, unit.specialisation, drawn(), call)
        return Expected(*told, slow, loose, self.quick, residues)

    def _no_case(self, tally: _Tally) -> str:
        if tally.unmet:
            return tally.unmet
        if tally.left_out:
            return tally.left_out[0][1]
        if tally.tried:
            return "no call goes to the vendor's function at these sizes" + " (--quick)" * self.quick
        if self.only is not None:
            return f"it has no case '{self.only}'"
        return "no case of it is small enough for --quick" if self.quick else "no case of these sizes is allowed"

    def _failure(self, unit: Unit, target: str, label: str, found: Found) -> Failure:
        options = ("--seed", str(self.seed), "--case", label)
        command = check_command(self.declaration.root, *unit[:2], target, *options)
        what = " ".join(found.what.split())
        at, note = self.places(unit.kernel.name, str(unit.specialisation)).of(what, found.about)
        # Numbers, and what stands in parentheses, differ from case to case.
        cause = found.cause or re.sub(r"\([^()]*\)|[-+]?\d[\d.e+-]*", "", what)
        return Failure(label, self.seed, what, command, cause, found.about, _size(label), at, note, found.agree)

    def dead(self, unit: Unit, death: Death) -> Verdict:
        what = f"the process ended {death.how} in this case"
        found = Found(what, cause=ENDED, about=next(p.name for p in unit.kernel.signature.written))
        last = self._failure(unit, death.target, death.cases[-1] if death.cases else "-", found)
        told = (death.target, len(death.cases), np.inf, (*death.found, last), "")
        return Verdict(unit.kernel.name, str(unit.specialisation), *told)


def _size(label: str) -> tuple[float, float, float]:
    """Of a case as it is printed: its elements, whether it is of a special kind, the sum of its dimensions."""
    sizes = [float(n) for n in re.findall(r"=(\d+)", label)]
    return float(np.prod(sizes)), float(" " in label), sum(sizes)


class _Tally:
    """What was found for one artifact so far."""

    def __init__(self) -> None:
        self.tried, self.cases, self.unheld, self.worst = 0, 0, 0, 0.0
        self.failures: list[Failure] = []
        self.left_out: list[tuple[str, str]] = []  # case, why
        self.not_run: str | None = None  # not known before the first case
        self.unmet = ""  # why some sizes have no case


def _found(
    call: runtime.Kernel, target: str, unit: Unit, drawn: Callable[[], draw.Case], chosen: Chosen,
    asked: bool, expected: Callable[[], Expected], tally: _Tally,
) -> Iterator[Found]:  # fmt: skip
    """What is wrong in one case of one artifact. asked: the declaration asks for it, so that it may not be left out."""
    tally.tried += 1
    kernel, kind, before = unit.kernel, chosen.kind, (tally.cases, tally.unheld)
    try:
        case = drawn()
        if tally.not_run is None:
            tally.not_run = cannot_run(call, target, unit.specialisation, case)
        if tally.not_run or target.endswith(VENDOR) and not served_by_vendor(call, target, unit.specialisation, case):
            return
        if kind in STREWN and not expected().is_interpreted and not is_for_reference(kernel, kind):
            tally.left_out.append((chosen.label, LONG))
            return
        if kind in STREWN and not kernel.special and expected().is_refused:
            return  # such inputs do not occur, says the declaration
        tally.cases += 1
        tally.unheld += not expected().is_known
        for found in findings(call, target, kernel, unit.specialisation, case, kind, expected()):
            tally.worst = max(tally.worst, found.share)
            if found.what:
                yield found
    except faults.Unmet as unmet:
        tally.unmet = str(unmet)
        if asked:
            tally.left_out.append((chosen.label, tally.unmet))
    except MemoryError as error:
        if asked:
            tally.cases = before[0] + 1
            yield Found(f"MemoryError: {error}", about="sizes")
        else:
            tally.cases, tally.unheld = before
            tally.left_out.append((chosen.label, "there is no memory for it"))
    except faults.FaultyDeclaration as fault:
        tally.cases = before[0] + 1  # a case, though nothing of it ran
        yield Found(fault.args[0], about=fault.key)
