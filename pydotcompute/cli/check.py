"""Hold every built artifact that can run here to its reference and to the interpreter. Builds nothing.

  pydotcompute check                        all kernels, all targets that this machine runs
  pydotcompute check softmax -t cpu:x86-64-v3

Sizes: none, one, odd, prime, around vector widths and block sizes, large, and those declared. Besides ordinary
values: special ones (NaN, infinities, signed zeros, denormals, extremes), views that are not contiguous, arrays that
begin where no vector would, guards around whatever a kernel writes and between elements that do not touch, elements
that it should have written, and the interpreter in three orders. Compiled code checks its indices in the artifacts
of 'pydotcompute build --bounds' alone: where they are built, they are checked too. Calls that a vendor's BLAS serves
are the target cpu:vendor, or cuda:vendor. A failure is printed with the command that repeats it.

An artifact whose source has changed since it was built fails. What cannot run here, or is not built, is listed as not
run. The exit code is 1 if anything failed, or if no case ran of a kernel that is named, of any where none is."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .arguments import add_common, check_names, print_json, project_root
from .terminal import count, paint, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", metavar="KERNEL", nargs="*", help="only these (default: all)")
    add_common(parser)
    parser.add_argument(
        "-t", dest="targets", metavar="TARGET", action="append", default=[],
        help="only artifacts for this target; repeatable",
    )  # fmt: skip
    parser.add_argument("--specialization", help="only this one, e.g. T=float32")
    parser.add_argument("--seed", type=_seed, default=0, help="draw other inputs: a number from 0 (default: 0)")
    parser.add_argument("--quick", action="store_true", help="small sizes alone, and references before the interpreter")
    parser.add_argument("--case", help="only this case, as a failure prints it")


def run(options: argparse.Namespace) -> int:
    from .. import declare
    from ..check.run import built_targets, check

    root = project_root(options)
    declaration = declare.load(root)
    _check_settings()
    check_names(options.kernels, declaration.kernels, "kernel", declaration.path)
    if options.specialization is not None:
        kernels = [declaration.kernels[name] for name in options.kernels or declaration.kernels]
        known = {str(s): None for kernel in kernels for s in kernel.specialisations}
        check_names([options.specialization], known, "specialization", f"{declaration.path} of these kernels")
    if options.targets:
        known = built_targets(root)
        check_names(options.targets, known, "target", f"what is built here: {', '.join(known)}")
    verdicts = []
    for verdict in check(
        root, options.kernels, options.targets, specialisation=options.specialization, seed=options.seed,
        only=options.case, quick=options.quick, slow=_say_slow,
    ):  # fmt: skip
        verdicts.append(verdict)
        if not options.json:
            _print(verdict)
    failed = [v for v in verdicts if v.failures]
    idle = [v for v in verdicts if v.not_run]
    if options.json:
        print_json({"version": 1, "artifacts": [_row(v) for v in verdicts]})
    cases = sum(v.cases for v in verdicts)
    ran = count(len(verdicts) - len(idle), "artifact")
    say(f"{count(cases, 'case')} of {ran}, {len(failed)} failed, {len(idle)} not run")
    ran = {v.kernel for v in verdicts if v.cases}
    return 1 if failed or not ran or set(options.kernels) - ran else 0


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _check_settings() -> None:
    """What every program that loads kernels refuses is refused here, before anything runs."""
    from ..runtime import settings
    from . import UsageError

    try:
        settings.target(None)
        settings.threads()
    except ValueError as error:
        raise UsageError(str(error)) from None


def _say_slow(unit: Any, target: str, case: str, seconds: float) -> None:
    say(f"{_name(unit.kernel.name, unit.specialisation, target)}: in the case {case} for {seconds:.0f} s")


def _name(kernel: str, specialisation: object, target: str) -> str:
    return " ".join(filter(None, (kernel, str(specialisation), target)))


def _print(v: Any) -> None:
    name = _name(v.kernel, v.specialisation, v.target)
    if v.not_run:
        print(f"{paint('not run', 'yellow', sys.stdout)}  {name}: {v.not_run}", flush=True)
        return
    cases = count(v.cases, "case") + (f" ({v.unheld} with no values to compare)" if v.unheld else "")
    if v.failures:
        print(f"{paint('FAILED', 'red', sys.stdout)}   {name}: {count(v.failures, 'finding')} in {cases}")
        for failure in v.failures:
            print(f"  {failure.case}, seed {failure.seed}: {failure.what}\n    repeat: {failure.command}")
        sys.stdout.flush()
    else:
        ok = paint("ok", "green", sys.stdout)
        print(f"{ok}       {name}: {cases}, error {v.worst:.2g} of what is allowed", flush=True)


def _row(v: Any) -> dict[str, Any]:
    return {
        "kernel": v.kernel, "specialization": v.specialisation, "target": v.target,
        "status": "not run" if v.not_run else "failed" if v.failures else "ok", "reason": v.not_run,
        "cases": v.cases, "cases_without_values": v.unheld, "worst": v.worst if v.worst < float("inf") else None,
        "failures": [f._asdict() for f in v.failures],
    }  # fmt: skip
