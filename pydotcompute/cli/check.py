"""Hold every built artifact that can run here to its reference and to the interpreter. Builds nothing.

  pydotcompute check                        all kernels, all targets that this machine runs
  pydotcompute check softmax -t cpu:x86-64-v3

Sizes: none, one, odd, prime, around vector widths and block sizes, large, and those declared. Besides ordinary
values: special ones (NaN, infinities, signed zeros, denormals, extremes), views that are not contiguous, arrays that
begin where no vector would, guards around whatever a kernel writes and between elements that do not touch, elements that it should have written, and the
interpreter in three orders. Calls that a vendor's BLAS serves are the target cpu:vendor, or cuda:vendor. A failure is
printed with the command that repeats it."""

from __future__ import annotations

import argparse

from .arguments import add_common, check_names, print_json, project_root
from .terminal import paint, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", metavar="KERNEL", nargs="*", help="only these (default: all)")
    add_common(parser)
    parser.add_argument(
        "-t", dest="targets", metavar="TARGET", action="append", default=[],
        help="only artifacts for this target; repeatable",
    )  # fmt: skip
    parser.add_argument("--specialization", help="only this one, e.g. T=float32")
    parser.add_argument("--seed", type=int, default=0, help="draw other inputs (default: 0)")
    parser.add_argument("--quick", action="store_true", help="small sizes alone, and references before the interpreter")
    parser.add_argument("--case", help="only this case, as a failure prints it")


def run(options: argparse.Namespace) -> int:
    from .. import declare
    from ..check.run import built_targets, check

    root = project_root(options)
    declaration = declare.load(root)
    check_names(options.kernels, declaration.kernels, "kernel", declaration.path)
    if options.specialization is not None:
        kernels = [declaration.kernels[name] for name in options.kernels or declaration.kernels]
        known = {str(s): None for kernel in kernels for s in kernel.specialisations}
        check_names([options.specialization], known, "specialization", f"{declaration.path} of these kernels")
    if options.targets:
        known = built_targets(root)
        check_names(options.targets, known, "target", f"what is built here: {', '.join(known)}")
    verdicts = []
    chosen = {"specialisation": options.specialization, "seed": options.seed, "only": options.case, "quick": options.quick}
    for verdict in check(root, options.kernels, options.targets, **chosen):
        verdicts.append(verdict)
        if not options.json:
            _print(verdict)
    failed = [v for v in verdicts if v.failures]
    idle = [v for v in verdicts if v.not_run]
    cases = sum(v.cases for v in verdicts)
    if options.json:
        print_json({"version": 1, "artifacts": [_row(v) for v in verdicts]})
    say(f"{cases} cases of {len(verdicts) - len(idle)} artifacts, {len(failed)} failed, {len(idle)} not run")
    return 1 if failed or not cases else 0


def _print(v) -> None:
    import sys

    name = f"{v.kernel} {v.specialisation} {v.target}".rstrip()
    if v.not_run:
        print(f"{paint('not run', 'yellow', sys.stdout)}  {name}: {v.not_run}", flush=True)
    elif v.failures:
        print(f"{paint('FAILED', 'red', sys.stdout)}   {name}: {len(v.failures)} findings in {v.cases} cases")
        for failure in v.failures:
            print(f"  {failure.case}, seed {failure.seed}: {failure.what}\n    repeat: {failure.command}")
        sys.stdout.flush()
    else:
        print(f"{paint('ok', 'green', sys.stdout)}       {name}: {v.cases} cases, error {v.worst:.2g} of what is allowed", flush=True)


def _row(v) -> dict:
    return {
        "kernel": v.kernel, "specialization": v.specialisation, "target": v.target,
        "status": "not run" if v.not_run else "failed" if v.failures else "ok", "reason": v.not_run,
        "cases": v.cases, "worst": v.worst if v.worst < float("inf") else None,
        "failures": [f._asdict() for f in v.failures],
    }  # fmt: skip
