"""Write one page that shows the project from the inside: which artifacts are there and why others are not, what builds
took, and of each kernel its declaration, sources and instructions side by side, linked by line.

  pydotcompute report -o report.html
  pydotcompute report -o report.html -t cpu:x86-64-v3 -t cuda:sm_90    with the code for both
  pydotcompute report -o report.html --bench kernels.json              with what 'bench --json' printed there

The page is one file, and needs no network. It has the code of the first specialisation of each kernel, for the first of
its targets; it is made again from the declaration, which takes about as long as a build.
"""

from __future__ import annotations

import argparse

from .arguments import add_common, add_jobs, add_targets, check_names, file_name, print_json, project_root
from .terminal import Progress, count, say, size_text, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="of these alone (default: all)")
    add_common(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=file_name, default="report.html", help="default: report.html"
    )
    add_targets(parser, "show the code for this target; repeatable (default: the first that a kernel has)", [])
    parser.add_argument(
        "--every-specialization", action="store_true", help="show the code of every choice of types and params"
    )
    parser.add_argument(
        "--bench", metavar="FILE", type=file_name, action="append", default=[],
        help="with the figures of 'bench --json'; repeatable",
    )
    add_jobs(parser, "look at N kernels at once (default: one a processor)")


def run(options: argparse.Namespace) -> int:
    from ..builder.build import Project, Request
    from ..cache.writer import replace_regular
    from ..report.benches import read
    from ..report.page import encoded, report
    from ..targets.registry import canonical
    from . import UsageError

    project = Project(project_root(options), say, keep_going=True)
    settings = project.settings({"jobs": options.jobs})
    known = {**project.declaration.kernels, **project.declaration.refused}
    check_names(options.kernels, known, "kernel", project.declaration.path)
    targets = tuple(dict.fromkeys((*settings["targets"].value, *_targets(project, options))))
    benches = [read(path) for path in options.bench]
    request = Request(
        tuple(options.kernels) or None, targets, jobs=settings["jobs"].value, linker=settings["linker"].value
    )

    def begins(items):
        progress = Progress(len(items))

        def done(item):
            if not options.quiet and progress.rewrites:
                progress.finish(" ".join(item.name))
                if progress.done == progress.total:
                    progress.clear()

        return done

    text, states = report(
        project, request, [canonical(t) for t in options.targets], options.every_specialization, benches, begins
    )
    data = encoded(text)
    try:
        replace_regular(options.output, data)
    except ValueError as error:
        raise UsageError(f"-o {error}") from None
    if options.json:
        print_json({"version": 1, "file": options.output, "bytes": len(data), "states": states})
    else:
        shown = ", ".join(f"{number} {state}" for state, number in states.items() if number)
        tell(f"{options.output}: {count(sum(states.values()), 'artifact')} ({shown or 'none'}), {size_text(len(data))}")
    return 0


def _targets(project, options: argparse.Namespace) -> list[str]:
    """Those of -t, which need not be declared."""
    return project.settings({"targets": options.targets})["targets"].value if options.targets else []
