"""Hold every built artifact that can run here to its reference and to the interpreter. Builds nothing.

  pydotcompute check                        all kernels, all targets that this machine runs
  pydotcompute check softmax -t cpu:x86-64-v3
  pydotcompute check --bundle DIR --require cpu:x86-64-v3 --require cuda:sm_90

Sizes: none, one, odd, prime, around vector widths and block sizes, large, and those declared. Besides ordinary
values: NaN, infinities and -0.0, to which the reference is held as well (unless the kernel says special: false),
denormals and extremes, views that are not contiguous, arrays that begin where no vector would, guards around whatever a
kernel writes and between elements that do not touch, elements that it should have written, two runs that differ in what
outputs held before, and the interpreter in three orders. Code for a CPU checks
the indices that are not proved to be inside, that of 'pydotcompute build --bounds' every index: where such artifacts
are built, they are checked too. Calls that a vendor's BLAS serves are the target cpu:vendor, or cuda:vendor. Failures
with one cause are one finding: the smallest case, how many others there are, the line, and the command that repeats it.

An artifact whose source has changed since it was built fails. What cannot run here, or is not built, is listed as not
run. Cases that would take too long, by what smaller ones took, are left out, and listed; those of declared sizes never
are. The exit code is 1 if anything failed, or if no case ran of a kernel that is named, of any where none is.

With --bundle nothing runs, and nothing but NumPy is needed: each choice of types and params must have an artifact for
every required target, and each object must be what the manifest says. The exit code is 1 if there is a hole."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Collection

from .arguments import add_common, add_targets, check_names, file_name, of_loading, print_json, project_root
from .terminal import count, paint, say, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", metavar="KERNEL", nargs="*", help="only these (default: all)")
    add_common(parser)
    add_targets(parser, "only artifacts for this target; repeatable", [])
    parser.add_argument("--specialization", help="only this one, e.g. T=float32")
    parser.add_argument("--seed", type=_seed, default=0, help="draw other inputs: a number from 0 (default: 0)")
    parser.add_argument("--quick", action="store_true", help="small sizes alone, and references before the interpreter")
    parser.add_argument("--bundle", metavar="DIR", type=file_name, help="look for holes in this bundle instead")
    parser.add_argument(
        "--require", metavar="TARGET", action="append", default=[], help="of a bundle: a target that all must have"
    )
    parser.add_argument("--case", help="only this case, as a failure prints it")


def run(options: argparse.Namespace) -> int:
    from . import UsageError

    if options.bundle is not None:
        return _check_bundle(options)
    if options.require:
        raise UsageError("--require is asked of a bundle: name it with --bundle DIR")
    from .. import declare
    from ..cache.checks import objects
    from ..cache.layout import PROJECT_CACHE
    from ..check.run import built_targets, check
    from ..check.verdict import counted, grouped
    from ..targets.registry import checked

    root = project_root(options)
    declaration = checked(declare.load(root, keep_going=True), keep_going=True)
    of_loading()  # what every program that loads kernels refuses is refused here, before anything runs
    check_names(options.kernels, {**declaration.kernels, **declaration.refused}, "kernel", declaration.path)
    refused = {k: e for k, e in declaration.refused.items() if k in (options.kernels or declaration.refused)}
    for text in dict.fromkeys(map(str, refused.values())):
        say(text)
    kernels = [name for name in options.kernels if name not in refused]
    if options.kernels and not kernels:
        return 1
    if options.specialization is not None:
        of = [declaration.kernels[name] for name in kernels or declaration.kernels]
        known: Collection[str] = {str(s): None for kernel in of for s in kernel.specialisations}
        check_names([options.specialization], known, "specialization", f"{declaration.path} of these kernels")
    if options.targets:
        known = built_targets(root)
        check_names(options.targets, known, "target", f"what is built here: {', '.join(known)}")
    verdicts: list[Any] = []
    before = objects(os.path.join(root, *PROJECT_CACHE))
    for verdict in check(
        root, kernels, options.targets, specialisation=options.specialization, seed=options.seed,
        only=options.case, quick=options.quick, slow=_say_slow,
    ):  # fmt: skip
        if not options.json and verdicts and verdicts[-1].kernel != verdict.kernel:
            _print_findings(verdicts)
        verdicts.append(verdict)
        if not options.json:
            _print(verdict)
    if options.case is None:
        _keep(root, verdicts, before)
    failed = [v for v in verdicts if v.failures]
    idle = [v for v in verdicts if v.not_run]
    found = grouped(verdicts)
    if options.json:
        rows = {"artifacts": [_row(v) for v in verdicts], "findings": [_finding(f) for f in found]}
        print_json({"version": 1, **rows})
    elif verdicts:
        _print_findings(verdicts)
    cases, artifacts = sum(v.cases for v in verdicts), len(verdicts) - len(idle)
    told = f", {counted(len(found), 'finding')}" if found else ""
    out = sum(len(v.left_out) for v in verdicts)
    last = f"{len(idle)} not run" + (f", {counted(out, 'case')} left out" if out else "")
    (say if failed or refused else tell)(
        f"{counted(cases, 'case')} of {counted(artifacts, 'artifact')}, {len(failed)} failed{told}, {last}"
    )
    ran = {v.kernel for v in verdicts if v.cases}
    return 1 if failed or refused or not ran or set(options.kernels) - ran else 0


def _keep(root: str, verdicts: list[Any], before: dict[tuple[str, str, str], str]) -> None:
    """What `pydotcompute report` shows of it: that an artifact is out of date is no verdict on its bytes."""
    from time import time

    from ..cache.checks import Checked, keep
    from ..cache.layout import PROJECT_CACHE

    found = {
        (v.kernel, v.specialisation, v.target): Checked(
            time(), v.cases, len(v.failures), v.failures[0].what if v.failures else ""
        )
        for v in verdicts
        if v.cases
    }
    keep(os.path.join(root, *PROJECT_CACHE), found, before)


def _check_bundle(options: argparse.Namespace) -> int:
    from ..cache import manifest
    from ..cache.layout import MANIFEST, PROJECT_CACHE
    from ..check.holes import holes
    from ..targets.registry import canonical, problem
    from . import UsageError

    if options.targets or options.case or options.specialization:
        raise UsageError("nothing runs of a bundle: --bundle goes with --require, kernels and --json alone")
    for target in options.require:
        if found := problem(target):
            raise UsageError("; ".join(filter(None, found)))
    path = os.path.join(project_root(options), options.bundle)
    bundled, cached = (os.path.isfile(os.path.join(path, *at, MANIFEST)) for at in ((), PROJECT_CACHE))
    if cached and not bundled:
        root = os.path.normpath(path)
        raise UsageError(f"{root} is a project, not a bundle; make one: pydotcompute build --bundle DIR -C {root}")
    check_names(options.kernels, manifest.read(*manifest.find(path)), "kernel", path)
    number, missing = holes(path, map(canonical, options.require), options.kernels)
    if options.json:
        print_json({"version": 1, "artifacts": number, "holes": [hole._asdict() for hole in missing]})
    else:
        print("\n".join(map(str, missing)), end="\n" if missing else "")
    told = f" with {', '.join(options.require)} for all" if options.require and not missing else ""
    (say if missing or not number else tell)(f"{path}: {count(number, 'artifact')}, {count(missing, 'hole')}{told}")
    return 1 if missing or not number else 0


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _say_slow(unit: Any, target: str, case: str, seconds: float) -> None:
    say(f"{_name(unit.kernel.name, unit.specialisation, target)}: in the case {case} for {seconds:.0f} s")


def _name(kernel: str, specialisation: object, target: str) -> str:
    return " ".join(filter(None, (kernel, str(specialisation), target)))


def _print(v: Any) -> None:
    from ..check.verdict import counted

    name = _name(v.kernel, v.specialisation, v.target)
    if v.not_run:
        print(f"{paint('not run', 'yellow', sys.stdout)}  {name}: {v.not_run}", flush=True)
        return
    cases = counted(v.cases, "case") + (f" ({v.unheld} with no values to compare)" if v.unheld else "")
    if v.failures:
        wrong = len({failure.case for failure in v.failures})
        print(f"{paint('FAILED', 'red', sys.stdout)}   {name}: {wrong} of {cases}", flush=True)
    else:
        ok = paint("ok", "green", sys.stdout)
        trusted = ", indices not checked (unchecked: true)" * v.unchecked
        print(f"{ok}       {name}: {cases}, error {v.worst:.2g} of what is allowed{trusted}", flush=True)
    for why in dict.fromkeys(why for _, why in v.left_out):
        out = [case for case, other in v.left_out if other == why]
        more = f" and {len(out) - 3} more" if len(out) > 3 else ""
        print(f"  left out ({why}): {'; '.join(out[:3])}{more}", flush=True)


def _print_findings(verdicts: list[Any]) -> None:
    """Those of the kernel that the last verdicts are of: each in its smallest case, with all that is known of it."""
    from ..check.places import marked
    from ..check.verdict import RAISED, counted, grouped

    last = verdicts[-1].kernel
    for finding in grouped(v for v in verdicts if v.kernel == last):
        first = finding.first
        print(f"  {first.case}, seed {first.seed}: {first.what}")
        if finding.others:
            few = ", ".join(finding.artifacts[:3]) + (", …" if len(finding.artifacts) > 3 else "")
            of = f", of {counted(len(finding.artifacts), 'artifact')}: {few}" if len(finding.artifacts) > 1 else ""
            print(f"    and {counted(finding.others, 'more case')} like it{of}")
        if first.at:
            lines = marked(first.at).splitlines()
            head = lines[0] + (f", {first.note}" if first.note else "")
            print("\n".join(f"    {line}" for line in (head, *lines[1:])))
        if first.agree is not None:
            unchecked = " (which does not check this index)" * first.cause.startswith(RAISED)
            print(f"    interpreter and machine code {'agree' if first.agree else f'differ{unchecked}'}")
        print(f"    repeat: {first.command}")
    sys.stdout.flush()


def _finding(finding: Any) -> dict[str, Any]:
    first = finding.first
    place = {"path": first.at.path, "line": first.at.line, "column": first.at.column} if first.at else {}
    return {
        "kernel": finding.kernel, "case": first.case, "seed": first.seed, "what": first.what, "others": finding.others,
        "artifacts": list(finding.artifacts), **place, "interpreter_agrees": first.agree, "command": first.command,
    }  # fmt: skip


def _row(v: Any) -> dict[str, Any]:
    return {
        "kernel": v.kernel, "specialization": v.specialisation, "target": v.target,
        "status": "not run" if v.not_run else "failed" if v.failures else "ok", "reason": v.not_run,
        "cases": v.cases, "cases_without_values": v.unheld, "unchecked": v.unchecked,
        "left_out": [{"case": case, "reason": why} for case, why in v.left_out],
        "worst": v.worst if v.worst < float("inf") else None,
        "failures": [{"case": f.case, "seed": f.seed, "what": f.what, "command": f.command} for f in v.failures],
    }  # fmt: skip
