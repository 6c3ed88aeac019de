"""The code of one kernel stage by stage, each line with the line of the declaration that it comes from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from ..builder.plan import Item, Plan
from ..builder.reading import internal_error
from ..builder.show import Shown, shown
from ..errors import CompilationError, CompilerNotInstalledError, DeclarationError, Position
from ..targets.listing import Listing, of_any_rows
from ..targets.machine_code import Costs
from ..targets.temporary import temporary_folder
from .forks import in_forks

Code = dict[str, Any]


def codes(plan: Plan, items: list[Item], linker: str, jobs: int, done: Callable[[Item], None]) -> Iterator[Code]:
    """The code of each of these, in their order, on so many processes. A stage that cannot be had says why."""
    with temporary_folder() as folder:
        made = in_forks(lambda k: code(shown(plan, items[k], folder, linker)), len(items), jobs)
        with closing(made):
            for item, found in zip(items, made):
                yield _empty(item) if found is None else found
                done(item)


def _empty(item: Item) -> Code:
    told = "the compiler, or what it runs, ended the process that looked at this artifact (often: memory was out); "
    problem = f"{told}`pydotcompute show {item.name[0]} -t {item.target}` shows how"
    stages = [{"stage": "source", "title": "rendered", "problem": problem, "text": "", "at": [], "notes": []}]
    return {"specialization": item.name[1], "target": item.target, "files": [], "places": [], "remarks": [],
            "stages": stages, "loops": [], "entries": []}  # fmt: skip


def code(found: Shown) -> Code:
    """places: [file, line] pairs, which `at` and the remarks count in; -1: nobody wrote it."""
    places: dict[tuple[str, int], int] = {}

    def place(at: Position | None) -> int:
        return -1 if at is None else places.setdefault((at.path, at.line), len(places))

    stages = []
    for stage, title in found.stages.items():
        if stage == "tree":
            continue
        listing, problem = _tried(partial(found.listing, stage), Listing(()))
        lines, notes = (*of_any_rows(listing.lines, found.item.kernel.name),), [*listing.notes]
        if len(lines) < len(listing.lines):
            notes.append("the versions for short rows are left out here; pydotcompute show has them")
        stages.append({
            "stage": stage, "title": title, "problem": problem, "text": "\n".join(line.text for line in lines),
            "at": [place(line.at) for line in lines], "notes": notes,
        })  # fmt: skip
    remarks, _ = _tried(found.remarks, ())
    told = [[place(remark.at), remark.text] for remark in remarks]
    costs, _ = _tried(found.costs, Costs())
    loops = [
        {"at": place(loop.head), "total": loop.total, "elements": loop.elements, "classes": loop.instructions,
         "cycles": loop.throughput and loop.throughput.cycles, "by": loop.throughput and loop.throughput.processor}
        for loop in costs.loops
        if loop.hot and loop.head is not None
    ]  # fmt: skip
    files = _files(found)
    paths = list(files)
    root = os.path.dirname(found.item.kernel.at.path)
    return {
        "specialization": found.item.name[1], "target": found.item.target,
        "files": [[os.path.relpath(path, root or "."), lines] for path, lines in files.items()],
        "places": [[paths.index(path) if path in files else -1, line] for path, line in places],
        "stages": stages, "remarks": told, "loops": loops, "entries": [entry._asdict() for entry in costs.entries],
    }  # fmt: skip


def _tried(make: Callable[[], Any], otherwise: Any) -> tuple[Any, str]:
    try:
        return make(), ""
    except (DeclarationError, CompilationError, CompilerNotInstalledError) as error:
        return otherwise, str(error)
    except Exception as error:
        return otherwise, internal_error(error, "making this")


def _files(found: Shown) -> dict[str, list[tuple[int, str]]]:
    """The lines that the user wrote, with their numbers: the kernel's in kernels.yaml, then its templates."""
    kernel, rendered = found.item.kernel, found.job.rendered
    of = {kernel.at.path: kernel.source} | dict(zip(rendered.files, rendered.lines))
    first = {kernel.at.path: kernel.at.line - 1}
    files = {}
    for path, lines in of.items():
        numbered = [(k + 1, lines[k]) for k in range(first.get(path, 0), len(lines))]
        own = _indent(numbered[0][1]) if path == kernel.at.path and numbered else -1
        while len(numbered) > 1 and (not numbered[-1][1].strip() or _indent(numbered[-1][1]) <= own):
            numbered.pop()  # the next kernel's
        files[path] = numbered
    return files


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
