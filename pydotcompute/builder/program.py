"""A build from a program: `pydotcompute.build(path)`, as the command builds."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Collection, NamedTuple

from ..errors import CompilationError
from .build import Project, Request, build as carry_out
from .outcome import Result
from .plan import Plan
from .refusals import left_out
from .report import as_json


class BuiltArtifact(NamedTuple):
    """What became of an artifact. status: "built", "reused", "failed", or "skipped" after an earlier failure."""

    kernel: str
    specialization: str | None
    target: str | None
    status: str
    reason: str  # why it was out of date, or why it failed
    seconds: float | None  # of its own code generation and link
    bytes: int | None
    key: str | None


def build(
    path: str | os.PathLike[str] = ".", *, kernels: Collection[str] = (), targets: Collection[str] = (),
    jobs: int | None = None, keep_going: bool = False, progress: Callable[[str], Any] | None = None,
) -> tuple[BuiltArtifact, ...]:  # fmt: skip
    """Bring the cache of the project at `path` up to date, as `pydotcompute build` does.

    kernels, targets: these alone, instead of all and of the declared ones. jobs: processes (default: the setting, one a
    processor). keep_going: build the other kernels where one fails. progress: is given a line of text for each artifact
    that is done, such as "[2/8] built saxpy T=float64 cpu:x86-64-v3"; `progress=print` shows them.

    Raises DeclarationError for a mistake in the declarations; ValueError for kernels and settings that are none;
    CompilationError with every reason where artifacts failed, after what could be made has been recorded; BuildError
    where the cache cannot be written; CompilerNotInstalledError without the build half.
    """
    from .settings import SettingError

    if isinstance(kernels, str) or isinstance(targets, str):
        raise TypeError("kernels and targets are lists of names, not one text")
    kernels, targets = tuple(kernels), tuple(targets)
    try:
        project = Project(os.fspath(path), lambda line: warnings.warn(line, stacklevel=4), keep_going=keep_going)
        values = project.settings({"targets": list(targets) or None, "jobs": jobs}, "argument")
    except SettingError as error:
        raise ValueError(str(error)) from None
    _require_known(project, kernels)
    wanted = list(values["targets"].value)
    if not targets:
        for target, reason in left_out(wanted).items():
            warnings.warn(f"left out: {target}. {reason}", stacklevel=2)
            wanted.remove(target)
    request = Request(
        kernels or None, tuple(wanted), jobs=values["jobs"].value, keep_going=keep_going,
        linker=values["linker"].value, debug_info=values["debug_info"].value, cache_size=values["cache_size"].value,
    )  # fmt: skip
    plan, outcome = carry_out(project, request, _Lines(progress or (lambda line: None)))
    found = tuple(BuiltArtifact(**row) for row in as_json(plan, outcome)["artifacts"])
    if failed := dict.fromkeys(row.reason for row in found if row.status == "failed"):
        raise CompilationError("\n".join(failed))
    return found


def _require_known(project: Project, kernels: Collection[str]) -> None:
    from ..declare.names import near

    known = [*project.declaration.kernels, *project.declaration.refused]
    for name in kernels:
        if name not in known:
            hint = near(name, known)
            raise ValueError(f"no kernel '{name}' in {project.declaration.path}" + (f"; {hint}" if hint else ""))


class _Lines:
    """Turns the events of a build into lines."""

    def __init__(self, tell: Callable[[str], Any]):
        self.tell, self.total, self.done = tell, 0, 0

    def __call__(self, event: Any) -> None:
        if isinstance(event, Plan):
            self.total = len(event.stale)
        elif isinstance(event, Result):
            self.done += 1
            self.tell(f"[{self.done}/{self.total}] {event.status} {' '.join(event.item.name)}")
