"""What a build would refuse, found before anything is compiled: every kernel's first error, in one run.

The front ends run here, for what is out of date; they import no compiler. So a dry run refuses what a build refuses,
and a build that is not to go on after an error has made nothing.
"""

from __future__ import annotations

from ..errors import DeclarationError
from ..targets.base import backend_of
from ..targets.registry import get
from .plan import Item, Name, Place, Plan


def refusals(plan: Plan) -> dict[Name, str]:
    """The out-of-date artifacts that cannot be made, and why: what their kernel says, or their target."""
    found: dict[Name, str] = {}
    sources: dict[Place, str] = {}
    targets: dict[str, str] = {}
    for item in plan.stale:
        if item.found is not None:
            continue
        backend = backend_of(item.target)
        place = item.place
        if place not in sources:
            sources[place] = _of_source(plan, item, backend)
        if item.target not in targets:
            targets[item.target] = get(backend).lacks(item.target)
        if reason := sources[place] or targets[item.target]:
            found[item.name] = reason
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


def _of_source(plan: Plan, item: Item, backend: str) -> str:
    rendered = plan.rendered[item.place]
    from ..analysis.races import check
    from ..frontend.build import build_tree

    try:
        get(backend).check(item.kernel, item.specialisation, rendered)
        if not rendered.raw:
            check(build_tree(item.kernel, item.specialisation, rendered))
    except DeclarationError as error:
        return str(error)
    return ""
