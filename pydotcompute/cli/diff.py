"""Compare two artifacts: the fields of their keys, then their sources, then their instructions by line of the source.

  pydotcompute diff softmax@cpu:x86-64-v3 @cpu:x86-64-v4               two targets
  pydotcompute diff 'matmul[T=float32,TILE=16]' '[T=float32,TILE=32]'  two params
  pydotcompute diff softmax --with ../other                            the same of two projects
  pydotcompute diff exp@cuda:sm_80 log                                 two kernels
  pydotcompute diff softmax --built --with ../yesterday/build/cache    what was built, without any source: two caches

An artifact is KERNEL[SPECIALIZATION]@TARGET. What the first leaves out is the first that is declared; what the second
leaves out is what the first has. Exit code 0: they are the same; 1: they differ, or something failed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

from .arguments import add_common, file_name, print_json, project_root
from .artifact import built, opened
from .cost import told
from .terminal import paint, tell

if TYPE_CHECKING:
    from ..builder.compare import Built, Difference
    from ..errors import Position

_NAME = re.compile(r"(\w*)(?:\[([^\]]*)\])?(?:@(.+))?")
STAGES = {"source": "rendered source", "tree": "typed tree", "lowered": "lowered source"}


class Name(NamedTuple):
    kernel: str
    specialization: str | None
    target: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="KERNEL, KERNEL[SPECIALIZATION], KERNEL[SPECIALIZATION]@TARGET")
    parser.add_argument(
        "new", metavar="NEW", nargs="?", default="", help="the same, or a part of it: [SPECIALIZATION], @TARGET"
    )
    add_common(parser)
    parser.add_argument("--with", dest="other", metavar="DIR", type=file_name, help="NEW is of the project in DIR")
    parser.add_argument(
        "--built", action="store_true",
        help="compare what was built, as it lies in the caches, or bundles, of both: declarations are not read",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ..builder.compare import compare
    from . import UsageError

    old = _named(options.old)
    new = _named(options.new)
    if not old.kernel:
        raise UsageError(f"{options.old}: the first begins with the name of a kernel, such as softmax@cpu:x86-64-v3")
    if not options.new and options.other is None:
        raise UsageError("there is nothing to compare with: name a second one, such as @cpu:x86-64-v4, or --with DIR")
    new = Name(new.kernel or old.kernel, *(b if b is not None else a for a, b in zip(old[1:], new[1:])))
    root = project_root(options)
    if options.other and not os.path.isdir(options.other):
        raise UsageError(f"--with {options.other}: there is no such folder")
    if options.built:
        from ..builder.compare import compare_built

        one, other = built(root, *old), built(options.other or root, *new)
        found = compare_built(one, other)
        names = [side.record[:3] for side in (one, other)]
        said = [_as_built(side) for side in (one, other)]
    else:
        with ExitStack() as stack:
            first, second = opened(root, *old, stack), opened(options.other or root, *new, stack)
            found = compare(first, second)
            names, said = [side.item.name for side in (first, second)], [side.same_bytes() for side in (first, second)]
    if options.json:
        print_json(_data(names, said, found))
    else:
        for label, name, same in zip(("old", "new"), names, said):
            tell(f"{label}: {' '.join(name)}: {same}")
        _print(found)
    return 0 if found.same else 1


def _as_built(side: Built) -> str:
    stale = f", which was out of date ({side.record.stale})" if side.record.stale else ""
    lost = "" if side.fields else "; of its key nothing is remembered"
    return f"the object {side.record.object[:12]} of {os.path.dirname(side.record.path)}{stale}{lost}"


def _named(text: str) -> Name:
    from . import UsageError

    found = _NAME.fullmatch(text)
    if found is None:
        form = "KERNEL[SPECIALIZATION]@TARGET, such as softmax[T=float32]@cuda:sm_90"
        raise UsageError(f"'{text}' is no artifact: write {form}")
    return Name(found[1], found[2], found[3])


def _print(found: Difference) -> None:
    from ..builder.plan import Reason

    for field in found.fields:
        print(Reason("changed", *field))
    for stage, lines in found.sources.items():
        if lines:
            _title(STAGES[stage])
            for line in lines:
                _print_line(line)
    if found.parts:
        _title(f"instructions: {found.stage}")
    for part in found.parts:
        print(paint(_place(part.old_at, part.new_at), "yellow", sys.stdout))
        for sign, code in (("-", part.old), ("+", part.new)):
            for line in code:
                _print_line(f"{sign}{line}")
    if not (found.stage or found.same_bytes):
        tell("the targets have no instructions in common that could be compared")
    if found.stage and not (found.parts or found.same_bytes):
        tell("their instructions are the same")
    if found.same:
        tell("they are the same")
    elif found.same_bytes:
        tell("their bytes are the same")


def _title(text: str) -> None:
    print(paint(f"== {text}", "bold", sys.stdout))


def _print_line(line: str) -> None:
    colour = {"-": "red", "+": "green"}.get(line[:1])
    print(paint(line, colour, sys.stdout) if colour else line)


def _place(old: Position | None, new: Position | None) -> str:
    if old is None or new is None or old[:2] == new[:2]:
        one = old or new
        return told(one) if one else "…"
    return f"{old.path}:{old.line} → {told(new)}"


def _data(names: Sequence[Sequence[str]], said: list[str], found: Difference) -> dict[str, Any]:
    def side(name: Sequence[str], made: str) -> dict[str, Any]:
        return {**dict(zip(("kernel", "specialization", "target"), name)), "made": made}

    def place(at: Position | None) -> dict[str, Any]:
        return {"path": at.path if at else None, "line": at.line if at else None}

    return {
        "version": 1, "old": side(names[0], said[0]), "new": side(names[1], said[1]), "same": found.same,
        "same_bytes": found.same_bytes,
        "fields": [{"what": what, "old": old, "new": new} for what, old, new in found.fields],
        "sources": [{"stage": stage, "lines": list(lines)} for stage, lines in found.sources.items() if lines],
        "stage": found.stage,
        "parts": [
            {"old": {**place(p.old_at), "lines": list(p.old)}, "new": {**place(p.new_at), "lines": list(p.new)}}
            for p in found.parts
        ],
    }  # fmt: skip
