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
from time import perf_counter
from typing import Any

from .arguments import add_common, check_names, print_json, project_root
from .terminal import Progress, paint, say, size_text, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="build these alone (default: all)")
    add_common(parser)
    parser.add_argument(
        "-t", dest="targets", metavar="TARGET", action="append",
        help="build for this target instead of those declared, e.g. cpu:x86-64-v3, cpu:native, cuda:sm_90; repeatable",
    )  # fmt: skip
    parser.add_argument("-j", dest="jobs", metavar="N", help="compile in N processes (default: one a processor)")
    parser.add_argument("-k", dest="keep_going", action="store_true", help="go on with the others when one fails")
    parser.add_argument("-n", dest="dry_run", action="store_true", help="build nothing: list what would be built")
    parser.add_argument("-v", dest="verbose", action="store_true", help="a line with time and size for each artifact")
    parser.add_argument("--explain", action="store_true", help="say why each artifact is out of date")
    parser.add_argument("--check", action="store_true", help="build nothing: exit code 1 if anything is out of date")
    parser.add_argument(
        "--bounds", action="store_true", help="make the CPU artifacts that check every index instead (+bounds)"
    )
    parser.add_argument("--timings", action="store_true", help="print what each phase and artifact took")
    parser.add_argument(
        "--bundle", metavar="DIR", help="then write what was asked for to DIR: what a wheel ships and load() takes"
    )


def run(options: argparse.Namespace) -> int:
    from ..builder.build import Project, Request, build
    from ..builder.report import as_json

    started = perf_counter()
    root = project_root(options)
    project = Project(root, say)
    settings = project.settings({"targets": options.targets, "jobs": options.jobs})
    check_names(options.kernels, project.declaration.kernels, "kernel", project.declaration.path)
    request = Request(
        tuple(options.kernels) or None, tuple(settings["targets"].value), options.bounds, settings["jobs"].value,
        options.keep_going, settings["linker"].value,
    )  # fmt: skip
    if options.check or options.dry_run:
        plan = project.plan(request)
        project.close()
        return _show_plan(project, plan, options)
    printer = _Printer(options)
    try:
        plan, outcome = build(project, request, printer)
    finally:
        printer.close()
    _say_problems(plan)
    data = as_json(plan, outcome)
    failed = data["failed"] > 0
    if options.bundle and failed:
        say(f"{options.bundle}: no bundle was made, because of the failures")
    elif options.bundle:
        _bundle(project, plan, options.bundle)
    if options.json:
        print_json(data)
    elif options.timings:
        _print_timings(project, plan, outcome)
    say(_summary(data, perf_counter() - started))
    if any(row["status"] == "skipped" for row in data["artifacts"]):
        say("stopped at the first failure; -k goes on with the other kernels")
    return 1 if failed else 0


def _say_problems(plan: Any) -> None:
    for text in dict.fromkeys(map(str, plan.failures.values())):
        say(text)
    for name in plan.impossible:
        say(f"{name}: only CUDA targets can have it (it is raw, or of float16), and none is asked for")


def _show_plan(project: Any, plan: Any, options: argparse.Namespace) -> int:
    from ..builder.build import is_settled
    from ..builder.report import as_json

    _say_problems(plan)
    if options.json:
        print_json(as_json(plan, None))
    else:
        for item in plan.stale:
            print(f"{' '.join(item.name)}: {item.reason}" if options.explain or options.check else " ".join(item.name))
    current = not plan.stale and not plan.failures
    if current and not is_settled(project, plan):
        say("the artifacts are current, the manifest is not: 'pydotcompute build' writes it")
        current = False
    say(f"{len(plan.stale)} of {len(plan.wanted)} artifacts are out of date")
    return 1 if plan.failures or (options.check and not current) else 0


class _Printer:
    """Turns the events of a build into lines."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.progress: Progress | None = None
        self.told: set[str] = set()

    def __call__(self, event: Any) -> None:
        from ..builder.outcome import Result
        from ..builder.plan import Plan

        if isinstance(event, Plan):
            self.progress = Progress(len(event.stale))
            if self.options.explain and not self.options.json:
                for item in event.stale:
                    print(f"{' '.join(item.name)}: {item.reason}")
                sys.stdout.flush()
        elif isinstance(event, Result):
            self._result(event)
        elif self.progress is not None:
            self.progress.show(str(event.job))

    def _result(self, result: Any) -> None:
        assert self.progress is not None
        name = " ".join(result.item.name)
        if result.status == "failed":
            label = paint("failed", "red", self.progress.stream)
            self.progress.finish(f"{label} {name}", keep=True)
            if result.reason not in self.told:  # one mistake fails every target of a specialisation
                self.told.add(result.reason)
                self.progress.line(result.reason)
        elif result.status != "skipped":
            label = paint(result.status, "green", self.progress.stream)
            detail = ""
            if self.options.verbose:
                detail = f"  {result.seconds:.3f} s  {size_text(result.size)}  ({result.item.reason})"
            self.progress.finish(f"{label} {name}{detail}", keep=self.options.verbose)
            if result.note:
                self.progress.line(f"{name}: {result.note}")

    def close(self) -> None:
        if self.progress is not None:
            self.progress.clear()


def _bundle(project: Any, plan: Any, folder: str) -> None:
    from ..builder.bundle import write_bundle
    from ..cache.writer import explain_os_error, read_manifest
    from ..builder.build import BuildError

    manifest, _ = read_manifest(project.cache)
    try:
        count, size = write_bundle(project.cache, manifest, {item.name for item in plan.wanted}, folder)
    except OSError as error:
        raise BuildError(explain_os_error(error, folder)) from error
    say(f"{folder}: {count} artifacts, {size_text(size)}")


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
