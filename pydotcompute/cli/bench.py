"""Measure something against something known in the same run.

  pydotcompute bench --subject calls            what a call costs, against NumPy's
  pydotcompute bench --subject start --limit 1.25 6
  pydotcompute bench --subject functions --function exp -t cpu:x86-64-v3
  pydotcompute bench --subject declared --json > then.json; pydotcompute bench --subject declared --compare then.json
  pydotcompute bench --subject declared --tune  write templates/tuned.yaml: the fastest values of params

What is measured is named by --subject, never by a bare word: those are for names of kernels, and a project may call
one 'build'. Kernels of the project in DIR are measured by 'kernels', 'threads', 'declared' and 'build'; 'calls',
'start' and those for CUDA measure pydotcompute's own, which have to be built.

subjects:
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import Any

from ..bench import SUBJECTS, compare, one_thread
from .arguments import add_common, add_targets, check_names, file_name, print_json, project_root
from .terminal import say

__doc__ = (__doc__ or "") + "\n".join(f"  {name:14}{subject.summary}" for name, subject in SUBJECTS.items())
MOST = 10**15  # of what is given as a whole number
# options of some subjects alone: what each is called on the command line
SPECIAL = {
    "directory": "-C", "targets": "-t", "functions": "--function", "kernels": "--kernel", "elements": "--elements",
    "limit": "--limit", "tune": "--tune", "plot": "--plot",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)
    parser.set_defaults(directory=None)
    parser.add_argument("--subject", required=True, help="what to measure")
    parser.add_argument("--rounds", type=_positive, help="how often each figure is taken")
    add_targets(parser, "for this target; repeatable")
    parser.add_argument(
        "--function", dest="functions", metavar="NAME", action="append", help="this function; repeatable (default: all)"
    )
    parser.add_argument(
        "--kernel", dest="kernels", metavar="KERNEL", action="append", help="this kernel; repeatable (default: all)"
    )
    parser.add_argument("--elements", type=_positive, help="how many elements arrays have (default: 10⁸)")
    parser.add_argument(
        "--tune", action="store_true", default=None,
        help="find the fastest values of the params that kernels list under tune, and write templates/tuned.yaml",
    )  # fmt: skip
    parser.add_argument(
        "--plot", metavar="FILE", type=file_name, help="draw the roofline, and bars by peer: FILE.png or FILE.svg"
    )
    parser.add_argument(
        "--compare", metavar="OLD.json", type=file_name, help="beside the figures that --json gave then"
    )
    parser.add_argument(
        "--threshold", type=_times, default=1.2, help="fail where something is so many times slower (default: 1.2)"
    )
    parser.add_argument(
        "--limit", nargs=2, type=float, metavar=("TIMES", "MIB"), help="fail above these: wall time, memory"
    )


def run(options: argparse.Namespace) -> int:
    from importlib import import_module

    from ..errors import BackendNotAvailableError
    from . import UsageError

    one_thread()
    check_names([options.subject], SUBJECTS, "subject", "pydotcompute bench")
    subject = SUBJECTS[options.subject]
    given = {name: value for name in SPECIAL if (value := getattr(options, name)) is not None}
    _check_options(options.subject, given)
    tune, plot = given.pop("tune", False), given.pop("plot", None)
    if tune and (options.compare or plot):
        raise UsageError("--tune gives no figures to compare or to draw: measure them without it")
    if plot:
        _check_plot(plot)
    module = import_module(f"..bench.{'tune' if tune else subject.module}", __package__)
    if "functions" in given:
        check_names(given["functions"], module.RANGES, "function", "pydotcompute bench --subject functions")
    lists = ("targets", "functions", "kernels")
    settings = {name: given.get(name, []) for name in subject.options if name in lists} | given
    if "directory" in subject.options:
        options.directory = options.directory or "."
        settings["directory"] = project_root(options)
    if "kernels" in given:
        what = f"pydotcompute bench --subject {options.subject}"
        check_names(given["kernels"], module.names(settings["directory"]), "kernel", what)
    columns, before = module.COLUMNS, None
    if options.compare:
        try:
            before = compare.Before(options.compare, options.subject)
        except OSError as error:
            raise UsageError(f"--compare {options.compare}: {error.strerror}") from None
        except ValueError as error:
            raise UsageError(f"--compare {error}") from None
        columns = (*columns, compare.COLUMN)
    if options.rounds:
        settings["rounds"] = options.rounds
    rows: list[dict[str, Any]] = []
    # What is measured may print: declared inputs and references.
    talk = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    try:
        with talk:
            for row in module.measure(**settings):
                if before:
                    before.judge(row, options.threshold)
                if not options.json:
                    _print(columns, row, first=not rows)
                rows.append(row)
    except BackendNotAvailableError as error:
        say(f"nothing was measured: {error}")
        return 1
    if options.json:
        print_json({"version": 1, "subject": options.subject, "columns": columns, "figures": rows})
    if plot:
        from ..bench.plot import draw

        draw(rows, plot)
    for row in rows:
        if "failed" in row:
            say(row["failed"])
    return 1 if any("failed" in row for row in rows) else 0


def _check_options(name: str, given: dict[str, Any]) -> None:
    from . import UsageError

    for option in given:
        if option not in (*SUBJECTS[name].options, *SUBJECTS[name].more):
            of = ", ".join(n for n, subject in SUBJECTS.items() if option in (*subject.options, *subject.more))
            raise UsageError(f"{SPECIAL[option]} does not apply to --subject {name}; it is for {of}")


def _check_plot(path: str) -> None:
    """Said before anything is measured, which may take minutes."""
    from importlib.util import find_spec

    from ..artifact.remedies import not_installed
    from ..bench.plot import FORMATS
    from ..errors import CompilerNotInstalledError
    from . import UsageError

    if os.path.splitext(path)[1][1:] not in FORMATS or os.path.isdir(path):
        raise UsageError(f"--plot {path}: expected a file that ends with {' or '.join(f'.{one}' for one in FORMATS)}")
    if not os.path.isdir(folder := os.path.dirname(path) or "."):
        raise UsageError(f"--plot {path}: there is no folder {folder}")
    if find_spec("matplotlib") is None:
        raise CompilerNotInstalledError(not_installed("--plot", "matplotlib", "bench"))


def _positive(text: str) -> int:
    if not text.isdecimal() or not 0 < (value := int(text[:20])) <= MOST:  # of hundreds of digits the first tell
        raise argparse.ArgumentTypeError(f"{text[:30]!r} is not a whole number from 1 to {MOST:,}")
    return value


def _times(text: str) -> float:
    try:
        if (value := float(text)) > 0:
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is no number of times")


def _print(columns: tuple[str, ...], row: dict[str, Any], first: bool) -> None:
    """A line as soon as it is known: the first column is the widest, the others are as wide as their names."""
    widths = [30, *(max(len(name), 13) for name in columns[1:])]
    for cells in ([*columns] if first else None, [_text(row.get(name)) for name in columns]):
        if cells:
            aligned = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
            print("  ".join(aligned).rstrip(), flush=True)


def _text(value: Any) -> str:
    """Three digits of a number that is not whole, or all before the point."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
