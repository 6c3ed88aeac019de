"""Compile every artifact that is not up to date, and write what is current to build/cache/manifest.json.

An artifact is one kernel with one choice of its types and params, for one target. It is made again when something
that reaches its bytes has changed: its rendered source, its flags, its target, the version of a tool. Touching a
file or moving the project changes nothing.

  pydotcompute build                        everything
  pydotcompute build softmax -t cpu:native  one kernel, for this processor
  pydotcompute build -n --explain           what would be built, and why
  pydotcompute build --check                exit code 1 if anything is out of date; for CI

--json prints {"version": 1, "built", "reused", "failed", "artifacts": [{"kernel", "specialization", "target", "status",
"reason", "seconds", "bytes", "key"}]}; a status is built, reused, failed, skipped (after an earlier failure) or, in a
plan, stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from time import perf_counter
from typing import Any

from .arguments import add_common, add_dry_run, add_jobs, add_targets, check_names, file_name, print_json, project_root
from .terminal import Progress, count, paint, say, size_text, table, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="build these alone (default: all)")
    talk = parser.add_mutually_exclusive_group()
    add_common(parser, talk)
    add_targets(
        parser, "for this target instead of those declared, e.g. cpu:x86-64-v3, cpu:native, cuda:sm_90; repeatable"
    )
    add_jobs(parser, "compile in N processes (default: one a processor)")
    parser.add_argument(
        "-k", "--keep-going", dest="keep_going", action="store_true", help="go on with the others when one fails"
    )
    add_dry_run(parser, "build nothing: list what would be built")
    talk.add_argument(
        "-v", "--verbose", dest="verbose", action="store_true", help="a line with time and size for each artifact"
    )
    parser.add_argument("--explain", action="store_true", help="say why each artifact is out of date")
    parser.add_argument("--check", action="store_true", help="build nothing: exit code 1 if anything is out of date")
    parser.add_argument(
        "--bounds", action="store_true", help="make the CPU artifacts that check every index instead (+bounds)"
    )
    parser.add_argument(
        "--debug-info", dest="debug_info", action="store_true", default=None,
        help="with the names and lines of kernels, for debuggers and profilers",
    )  # fmt: skip
    parser.add_argument("--timings", action="store_true", help="print what each phase and artifact took")
    parser.add_argument(
        "--bundle", metavar="DIR", type=file_name,
        help="then write what was asked for to DIR: what a wheel ships, a package to import, and what load() takes",
    )  # fmt: skip
    parser.add_argument(
        "--stubs", metavar="FILE.pyi", type=_stub_file,
        help="then write type stubs to FILE.pyi: each kernel, and a class Library that has them",
    )  # fmt: skip


def _stub_file(text: str) -> str:
    if not text.endswith(".pyi"):
        raise argparse.ArgumentTypeError(f"{text!r} is no stub file: name one that ends in .pyi")
    return text


def run(options: argparse.Namespace) -> int:
    from ..builder.build import Project, Request, build
    from ..builder.report import as_json

    started = perf_counter()
    root = project_root(options)
    project = Project(root, say, keep_going=True)
    given = {"targets": options.targets, "jobs": options.jobs, "debug_info": options.debug_info}
    settings = project.settings(given)
    known = {**project.declaration.kernels, **project.declaration.refused}
    check_names(options.kernels, known, "kernel", project.declaration.path)
    targets = settings["targets"].value
    if not options.bundle and not settings["targets"].origin.startswith(("flag", "environment")):
        targets = _without_tools(targets)
    request = Request(
        tuple(options.kernels) or None, tuple(targets), options.bounds, settings["jobs"].value,
        options.keep_going, settings["linker"].value, settings["debug_info"].value, settings["cache_size"].value,
    )  # fmt: skip
    if options.check or options.dry_run:
        plan = project.plan(request)
        project.close()
        return _show_plan(project, plan, options)
    printer = _Printer(options, project)
    try:
        plan, outcome = build(project, request, printer)
    finally:
        printer.close()
    _say_problems(plan, printer.kernels)
    data = as_json(plan, outcome)
    failed = data["failed"] > 0
    if options.bundle and failed:
        say(f"{options.bundle}: no bundle was made, because of the failures")
    elif options.bundle:
        _bundle(project, plan, options.bundle)
    if options.stubs and not failed:
        from ..packaging.package import write_stubs

        tell(f"{options.stubs}: stubs of {count(write_stubs(project, plan, options.stubs), 'kernel')}")
    if options.json:
        print_json(data)
    elif options.timings:
        _print_timings(project, plan, outcome)
    tell(_summary(data, perf_counter() - started))
    if any(row["status"] == "skipped" for row in data["artifacts"]):
        if outcome.begun:
            say("stopped at the first failure; -k goes on with the other kernels")
        else:
            say("nothing is built, because of what is wrong above; -k builds the other kernels")
    return 1 if failed else 0


def _without_tools(targets: list[str]) -> list[str]:
    """The declared targets that can be made here; says once which are left out, and what to install."""
    from ..builder.refusals import left_out

    out = left_out(targets)
    for reason in dict.fromkeys(out.values()):
        say(f"left out: {', '.join(target for target in out if out[target] == reason)}. {reason}")
    return [target for target in targets if target not in out]


def _say_problems(plan: Any, told: Collection[str] = ()) -> None:
    """What is wrong with each kernel, its first error alone; told: kernels of which one was said before."""
    first = dict(plan.refused)
    for (kernel, _, _), error in plan.failures.items():
        first.setdefault(kernel, error)
    for text in dict.fromkeys(str(error) for kernel, error in first.items() if kernel not in told):
        say(text)
    for name in plan.impossible:
        say(f"{name}: no target that is built here can have it: it is raw, or of dtypes that they do not have")


def _show_plan(project: Any, plan: Any, options: argparse.Namespace) -> int:
    from ..builder.build import is_current
    from ..builder.refusals import missing_tools, read
    from ..builder.report import as_json

    refused = {} if options.check else read(plan).refused
    missing = [] if options.check else missing_tools(plan)
    _say_problems(plan)
    first = {kernel: reason for (kernel, _, _), reason in reversed(refused.items())}
    for reason in dict.fromkeys((*reversed(first.values()), *missing)):
        say(reason)
    if options.json:
        print_json(as_json(plan, None, refused))
    else:
        for item in plan.stale:
            print(f"{' '.join(item.name)}: {item.reason}" if options.explain or options.check else " ".join(item.name))
    wrong = bool(plan.failures or plan.refused or refused or missing)
    current = not plan.stale and not wrong
    if current and not is_current(plan):
        say("the artifacts are current, the manifest is not: 'pydotcompute build' writes it")
        current = False
    verb = "is" if len(plan.wanted) == 1 else "are"
    tell(f"{len(plan.stale)} of {count(plan.wanted, 'artifact')} {verb} out of date")
    return 1 if wrong or (options.check and not current) else 0


class _Printer:
    """Turns the events of a build into lines."""

    def __init__(self, options: argparse.Namespace, project: Any):
        self.options, self.project = options, project
        self.progress: Progress | None = None
        self.kernels: set[str] = set()  # those of which an error was said
        self.told: set[str] = set()

    def __call__(self, event: Any) -> None:
        from ..builder.outcome import Result
        from ..builder.plan import Plan

        if isinstance(event, Plan):
            self.progress = Progress(len(event.stale))
            if self.progress.rewrites:
                from ..builder.estimate import Estimate

                self.estimate = Estimate(event, self.project.history)
                self.progress.left = lambda: self.estimate.left
            if self.options.explain and not self.options.json:
                for item in event.stale:
                    print(f"{' '.join(item.name)}: {item.reason}")
                sys.stdout.flush()
        elif isinstance(event, Result):
            self._result(event)
        elif self.progress is not None and not self.options.quiet:
            self.progress.show(str(event.task))

    def _result(self, result: Any) -> None:
        assert self.progress is not None
        if self.progress.rewrites:
            self.estimate.done(result.item.name)
        name = " ".join(result.item.name)
        if result.status == "failed":
            label = paint("failed", "red", self.progress.stream)
            self.progress.finish(f"{label} {name}", keep=True)
            # One mistake fails every target of a specialisation, and is mostly in each of them.
            if result.reason not in self.told and result.item.kernel.name not in self.kernels:
                self.told.add(result.reason)
                self.kernels.add(result.item.kernel.name)
                self.progress.line(result.reason)
        elif result.status != "skipped":
            label = paint(result.status, "green", self.progress.stream)
            detail = ""
            if self.options.verbose:
                detail = f"  {result.seconds:.3f} s  {size_text(result.size)}  ({result.item.reason})"
            if self.options.quiet:
                self.progress.done += 1
            else:
                self.progress.finish(f"{label} {name}{detail}", keep=self.options.verbose)
            if result.note:
                self.progress.line(f"{name}: {result.note}")

    def close(self) -> None:
        if self.progress is not None:
            self.progress.clear()


def _bundle(project: Any, plan: Any, folder: str) -> None:
    from ..packaging.package import write_package

    number, size = write_package(project, plan, folder)
    tell(f"{folder}: {count(number, 'artifact')}, {size_text(size)}")


def _summary(data: dict[str, Any], seconds: float) -> str:
    parts = [f"{data[status]} {status}" for status in ("built", "reused", "failed") if data[status]]
    skipped = sum(row["status"] == "skipped" for row in data["artifacts"])
    parts += [f"{skipped} not tried"] if skipped else []
    return f"{', '.join(parts) or 'nothing to build'} in {seconds:.2f} s"


def _print_timings(project: Any, plan: Any, outcome: Any) -> None:
    """Per artifact its own seconds, then per phase those of all workers together; of reused ones, what they took."""
    rows = []
    results = {result.item.name: result for result in outcome.results}
    for item in plan.wanted:
        result = results.get(item.name)
        if result is not None and result.status == "built":
            rows.append((*item.name, f"{result.seconds:.3f} s", "built"))
        else:
            record = project.history(item.key) or {}
            seconds = record.get("seconds")
            status = result.status if result is not None else "reused"
            rows.append((*item.name, "-" if seconds is None else f"{seconds:.3f} s", status))
    project.close()
    print(table(rows, right=(3,)))
    totals: dict[str, float] = {}
    for phases in outcome.phases.values():
        for phase, seconds in phases.items():
            totals[phase] = totals.get(phase, 0.0) + seconds
    if totals:
        print()
        print(table([(phase, f"{seconds:.3f} s") for phase, seconds in totals.items()], right=(1,)))
