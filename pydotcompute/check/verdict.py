"""What a check says: of each artifact a verdict, of each case that does not hold a failure, with what repeats it."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from ..builder.plan import BOUNDS
from ..declare.model import Declaration, Kernel, Specialisation


class Failure(NamedTuple):
    """One way in which one case of one artifact does not hold."""

    case: str  # "n=17", with " strided", " misaligned" or " special"
    seed: int
    what: str  # one line
    command: str  # repeats just this case


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
