"""What a check says: of each artifact a verdict, of each case that does not hold a failure, and of all failures with
one cause a finding, with what repeats it."""

from __future__ import annotations

import shlex
from typing import Iterable, Mapping, NamedTuple

from ..declare.model import Declaration, Kernel, Specialisation
from ..errors import Position
from ..targets.base import BOUNDS

# Causes of wrong values in an output. The first two explain all others there.
UNWRITTEN, BEFORE, WRONG, DIFFERS, ORDER = (
    "not written", "made of what it held before", "wrong", "interpreter and machine code differ",
    "depends on the order",
)  # fmt: skip
RAISED = "an index at "  # and the place of the one that is outside its array: it explains whatever machine code does
OUTSIDE, ENDED = "outside", "the process ended"


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
    left_out: tuple[tuple[str, str], ...] = ()  # cases that were not run, each with why
    unchecked: bool = False  # whether the declaration gives up the checks of indices that are not proved to be inside


class Finding(NamedTuple):
    """What the failures of one kernel with one cause have to say."""

    kernel: str
    first: Failure  # in the smallest case
    others: int  # how many more failures there are
    artifacts: tuple[str, ...]  # which have it: "T=float32 cpu:x86-64-v3"


_Key = tuple[str, str, str]  # kernel, about, cause


def grouped(verdicts: Iterable[Verdict]) -> list[Finding]:
    """One finding for each cause, in the order in which they were found."""
    found: dict[_Key, list[tuple[Failure, str]]] = {}
    for v in verdicts:
        for failure in v.failures:
            artifact = " ".join(filter(None, (v.specialisation.strip("-"), v.target)))
            found.setdefault((v.kernel, failure.about, failure.cause), []).append((failure, artifact))
    for key in list(found):
        explaining = next((other for other in _explaining(*key, found) if other in found and other != key), None)
        if explaining:
            found[explaining] += found.pop(key)
    result = []
    for (kernel, _, cause), failures in found.items():
        own = (failure for failure, _ in failures if failure.cause in (cause, UNWRITTEN))
        first = min(own, key=lambda failure: failure.size)
        artifacts = tuple(dict.fromkeys(artifact for _, artifact in failures))
        result.append(Finding(kernel, first, len(failures) - 1, artifacts))
    return result


def _explaining(kernel: str, about: str, cause: str, found: Mapping[_Key, list[tuple[Failure, str]]]) -> list[_Key]:
    """What such failures may be an effect of, the first first. Where no case was small enough for the interpreter,
    smaller ones say whether it is to blame, or an index."""
    blind = all(failure.agree is None for failure, _ in found[kernel, about, cause])
    causes: tuple[str, ...] = ()
    if cause == UNWRITTEN:  # adding nothing to what was there
        causes = (BEFORE,)
    elif cause in (WRONG, DIFFERS, ORDER):
        causes = (BEFORE, UNWRITTEN, DIFFERS) if cause == WRONG and blind else (BEFORE, UNWRITTEN)
    raised = [key for key in found if key[0] == kernel and key[2].startswith(RAISED)]
    effects = raised if blind and cause in (WRONG, UNWRITTEN, OUTSIDE, ENDED) else []
    return effects + [(kernel, about, other) for other in causes]


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
