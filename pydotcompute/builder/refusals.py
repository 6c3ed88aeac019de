"""What a build would refuse, found before anything is compiled: every kernel's first error, in one run.

What is out of date is read by the front end, which needs no compiler. So a dry run refuses what a build refuses, and a
build that is not to go on after an error has made nothing. Compilers get the trees, which are the same for all backends
that a template says the same to.
"""

from __future__ import annotations

from collections import deque
from typing import Callable, NamedTuple

from ..errors import DeclarationError
from ..targets.base import backend_of
from ..targets.registry import get
from . import garbage
from .plan import Name, Place, Plan
from .pool import Died, Finished, Started, Workers
from .reading import Reading, Tree, tree_of


class Read(NamedTuple):
    """What the front end says of all that is out of date."""

    refused: dict[Name, str]  # the artifacts that cannot be made, and why: what their kernel says, or their target
    trees: dict[Place, bytes]  # as a job has them


def read(plan: Plan, workers: Workers | None = None, report: Callable[[Started], None] = lambda event: None) -> Read:
    """workers: who reads; None: this process. report: is told what a worker begins with."""
    items = [item for item in plan.stale if item.found is None]
    refused: dict[Place, str] = {}
    readings: dict[tuple, Reading] = {}  # by all that decides about a tree
    same: dict[Place, tuple] = {}
    for item in items:
        place, rendered = item.place, plan.rendered[item.place]
        if place in same or place in refused:
            continue
        try:
            get(backend_of(item.target)).check(item.kernel, item.specialisation, rendered)
        except DeclarationError as error:
            refused[place] = str(error)
            continue
        same[place] = *place[:2], rendered.text, rendered.files, rendered.origins
        if not rendered.raw:
            readings.setdefault(same[place], Reading(item.kernel, item.specialisation, rendered))
    found = _read_by(workers, readings, report) if workers else _read_here(readings)
    trees = {place: found[text].data for place, text in same.items() if text in found}
    refused |= {place: found[text].refused for place, text in same.items() if text in found}
    targets = {target: get(backend_of(target)).lacks(target) for target in {item.target for item in items}}
    reasons = {item.name: refused.get(item.place) or targets[item.target] for item in items}
    return Read({name: reason for name, reason in reasons.items() if reason}, trees)


def _read_here(readings: dict[tuple, Reading]) -> dict[tuple, Tree]:
    with garbage.seldom():
        return {text: tree_of(reading) for text, reading in readings.items()}


def _read_by(workers: Workers, readings: dict[tuple, Reading], report: Callable[[Started], None]) -> dict[tuple, Tree]:
    found = {}
    texts = {id(reading): text for text, reading in readings.items()}
    for event in workers.run(deque(readings.values())):
        if isinstance(event, Started):
            report(event)
        elif isinstance(event, Finished):
            found[texts[id(event.task)]] = event.answer
        elif isinstance(event, Died):
            found[texts[id(event.task)]] = Tree()  # the job has a second chance, or says what it died of
    return found


def left_out(targets: list[str]) -> dict[str, str]:
    """Declared targets whose compiler is not installed, and what installs it; none if nothing else would remain."""
    missing = {backend: get(backend).missing() for backend in {backend_of(target) for target in targets}}
    found = {target: missing[backend_of(target)] for target in targets}
    found = {target: reason for target, reason in found.items() if reason}
    return found if len(found) < len(targets) else {}


def missing_tools(plan: Plan) -> list[str]:
    """What is to be installed before all of this can be built."""
    backends = dict.fromkeys(backend_of(item.target) for item in plan.stale if item.found is None)
    return [reason for backend in backends if (reason := get(backend).missing())]
