"""Show what becomes of a kernel, stage by stage, with the lines of kernels.yaml or its template beside the code.

  pydotcompute show softmax                            what was made of its loops, what it costs, which stages there are
  pydotcompute show softmax T=float32 -t cpu:x86-64-v3 --asm
  pydotcompute show softmax -t cuda:sm_90 --sass --loop 6
                                                       of the loop that begins in line 6 alone
  pydotcompute show softmax --source --tree            the rendered Python, then the typed tree
  pydotcompute show softmax -t cuda:sm_90 --cost       instructions of each loop by class, and for each element;
                                                       registers and occupancy, or cycles by llvm-mca
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from .arguments import add_common, print_json, project_root
from .artifact import opened
from .cost import as_json, print_costs, told
from .terminal import paint, say, tell

if TYPE_CHECKING:
    from ..builder.show import Shown
    from ..errors import Position
    from ..targets.listing import Line, Listing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from ..targets.listing import STAGES
    from ..targets.registry import every

    parser.add_argument("kernel", metavar="KERNEL", help="a kernel of kernels.yaml")
    parser.add_argument(
        "specialization", nargs="?", metavar="SPECIALIZATION", help="e.g. T=float32; default: the first of the kernel"
    )
    add_common(parser)
    parser.add_argument("-t", "--target", metavar="TARGET", help="default: the first of kernels.yaml that it has")
    parser.add_argument("--bounds", action="store_true", help="the artifact of 'build --bounds'")
    parser.add_argument("--loop", metavar="LINE", type=int, help="of the loop that begins in this line alone")
    parser.add_argument("--cost", action="store_true", help="what the loops of the machine code consist of, and take")
    group = parser.add_argument_group("stages, in the order of this list")
    told: dict[str, list[str]] = {stage: [what] for stage, what in STAGES.items()}
    for target in every():
        for stage, what in target.stages.items():
            told.setdefault(stage, []).append(f"{what} ({target.name})")
    for stage, whats in told.items():
        group.add_argument(f"--{stage}", dest="stages", action="append_const", const=stage, help=", ".join(whats))


def run(options: argparse.Namespace) -> int:
    with ExitStack() as stack:
        found = opened(
            project_root(options), options.kernel, options.specialization, options.target, stack, options.bounds
        )
        _check_stages(found, options.stages or [])
        loop = _loop(found, options.loop) if options.loop else None
        listings = {stage: found.listing(stage) for stage in found.stages if stage in (options.stages or ())}
        costs = found.costs() if options.cost else None
        remarks = () if listings or costs else (*found.remarks(), *found.checks())
        same = found.same_bytes()
    if options.json:
        print_json(_data(found, same, listings, remarks, loop) | ({"cost": as_json(costs)} if costs else {}))
        return 0
    tell(f"{found.item.kernel.name} {found.item.specialisation} for {found.item.target}: {same}")
    for stage, listing in listings.items():
        if len(listings) > 1:
            print(paint(f"== {stage}: {found.stages[stage]}", "bold", sys.stdout))
        _print(listing, loop)
    if costs:
        print_costs(costs, loop)
    elif not listings:
        _summary(found, remarks)
    return 0


def _check_stages(found: Shown, asked: list[str]) -> None:
    from . import UsageError

    for stage in asked:
        if stage not in found.stages:
            there = ", ".join(f"--{name}" for name in found.stages)
            raise UsageError(f"{found.item.target} has no --{stage} of {found.item.kernel.name}; it has {there}")


def _loop(found: Shown, line: int) -> set[tuple[str, int]]:
    from . import UsageError

    lines, others = found.loop(line)
    if not lines:
        there = f"loops begin in lines {', '.join(map(str, others))}" if others else "there is no loop"
        raise UsageError(f"--loop {line}: no loop of {found.item.kernel.name} begins in that line; {there}")
    return lines


def _within(listing: Listing, loop: set[tuple[str, int]] | None) -> list[Line]:
    return [x for x in listing.lines if loop is None or (x.at is not None and (x.at.path, x.at.line) in loop)]


def _print(listing: Listing, loop: set[tuple[str, int]] | None) -> None:
    """The code, and above each part of it the line that it comes from; `…` above what nobody wrote."""
    before: tuple[str, int] | None = None
    for line in _within(listing, loop):
        here = line.at and (line.at.path, line.at.line)
        if here != before:
            print(paint(told(line.at) if line.at else "…", "yellow", sys.stdout))
            before = here
        print(line.text)
    for note in listing.notes:
        say(note)


def _summary(found: Shown, remarks: Any) -> None:
    kernel = found.item.kernel
    print(f"{kernel.name} {kernel.signature.text}")
    if kernel.doc:
        print(f"  {kernel.doc}")
    for remark in remarks:
        if remark.at is not None:
            print(paint(f"  {told(remark.at)}", "yellow", sys.stdout))
        print(f"    {remark.text}")
    print("stages: " + ", ".join(f"--{name}" for name in found.stages))


def _data(
    found: Shown, same: str, listings: dict[str, Listing], remarks: Any, loop: set[tuple[str, int]] | None
) -> dict[str, Any]:
    def place(at: Position | None) -> dict[str, Any]:
        return {"path": at.path if at else None, "line": at.line if at else None}

    name = dict(zip(("kernel", "specialization", "target"), found.item.name))
    stages = [
        {
            "stage": stage,
            "lines": [{"text": line.text, **place(line.at)} for line in _within(listing, loop)],
            "notes": list(listing.notes),
        }
        for stage, listing in listings.items()
    ]
    told = [{**place(remark.at), "text": remark.text} for remark in remarks]
    return {"version": 1, **name, "made": same, "stages": stages, "remarks": told}
