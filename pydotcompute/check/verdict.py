"""What a check says: of each artifact a verdict, of each case that does not hold a failure, and of all failures with
one cause a finding, with what repeats it."""

from __future__ import annotations

import shlex
from typing import Iterable, NamedTuple

from ..targets.base import BOUNDS
from ..declare.model import Declaration, Kernel, Specialisation
from ..errors import Position

# Causes of wrong values in an output. The first two explain all others there.
UNWRITTEN, BEFORE, WRONG, DIFFERS, ORDER = (
    "not written", "made of what it held before", "wrong", "interpreter and machine code differ", "depends on the order",
)  # fmt: skip


class Failure(NamedTuple):
    """One way in which one case of one artifact does not hold."""

    case: str  # "n=17", with " strided", " misaligned", " special" or " extreme"
    seed: int
    what: str  # one line
    command: str  # repeats just this case
    cause: str  # with `about` what failures have in common that are one finding: no sizes, values, types, targets
    about: str  # the output, or the key of the declaration
    size: tuple[float, float, float]  # of two cases, the one to look at first has the smaller
    at: Position | None = None  # the line that it is about
    note: str = ""  # what to know of that line
    agree: bool | None = None  # whether interpreter and machine code give the same; None: the interpreter was not asked


class Verdict(NamedTuple):
    """One artifact: how many cases ran and what failed, or why it was not run."""

    kernel: str  # empty, as the specialisation: what is said of the whole check
    specialisation: str
    target: str  # "cpu:vendor": what other calls of the backend than those of a pinned target may go to
    cases: int
    worst: float  # the largest error over its tolerance
    failures: tuple[Failure, ...]
    not_run: str
    unheld: int = 0  # cases without a value to hold theirs to: too large for the interpreter, and no reference


class Finding(NamedTuple):
    """What the failures of one kernel with one cause have to say."""

    kernel: str
    first: Failure  # in the smallest case
    others: int  # how many more failures there are
    artifacts: tuple[str, ...]  # which have it: "T=float32 cpu:x86-64-v3"


def grouped(verdicts: Iterable[Verdict]) -> list[Finding]:
    """One finding for each cause, in the order in which they were found."""
    found: dict[tuple[str, str, str], list[tuple[Failure, str]]] = {}
    for v in verdicts:
        for failure in v.failures:
            artifact = " ".join(filter(None, (v.specialisation.strip("-"), v.target)))
            found.setdefault((v.kernel, failure.about, failure.cause), []).append((failure, artifact))
    for kernel, about, cause in list(found):
        for other in _explaining(cause, found[kernel, about, cause]):
            if (kernel, about, other) in found:
                found[kernel, about, other] += found.pop((kernel, about, cause))
                break
    result = []
    for (kernel, _, cause), failures in found.items():
        first = min((failure for failure, _ in failures if failure.cause in (cause, UNWRITTEN)), key=lambda failure: failure.size)
        artifacts = tuple(dict.fromkeys(artifact for _, artifact in failures))
        result.append(Finding(kernel, first, len(failures) - 1, artifacts))
    return result


def _explaining(cause: str, failures: list[tuple[Failure, str]]) -> tuple[str, ...]:
    """The causes in the same output of which such failures are an effect. Where no case was small enough for the
    interpreter, smaller ones say whether it is to blame."""
    if cause == UNWRITTEN:  # adding nothing to what was there
        return (BEFORE,)
    if cause == WRONG and all(failure.agree is None for failure, _ in failures):
        return BEFORE, UNWRITTEN, DIFFERS
    return (BEFORE, UNWRITTEN) if cause in (WRONG, DIFFERS, ORDER) else ()


def counted(number: int, what: str) -> str:
    """1 case, 2 cases."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def check_command(root: str, kernel: Kernel, specialisation: Specialisation, target: str, *more: str) -> str:
    """What repeats a check of one artifact, for a shell."""
    named = ("--specialization", str(specialisation)) if str(specialisation) else ()
    return shlex.join(["pydotcompute", "check", kernel.name, "-C", root, "-t", target, *named, *more])


def build_command(root: str, declaration: Declaration, *kernels: str, target: str = "") -> str:
    """What builds these kernels, for a target that may not be declared."""
    plain = target.removesuffix(BOUNDS)
    other = ["-t", plain] if plain and plain not in declaration.targets else []
    bounds = ["--bounds"] if target.endswith(BOUNDS) else []
    return shlex.join(["pydotcompute", "build", *kernels, *other, *bounds, "-C", root])
