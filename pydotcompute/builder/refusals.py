"""What a build would refuse, found before anything is compiled: every kernel's first error, in one run.

The front ends run here, for what is out of date; they import no compiler. So a dry run refuses what a build refuses,
and a build that is not to go on after an error has made nothing.
"""

from __future__ import annotations

from ..errors import DeclarationError
from .compilers import unavailable
from .plan import Item, Name, Plan


def refusals(plan: Plan) -> dict[Name, str]:
    """The out-of-date artifacts that cannot be made, and why: what their kernel says, or their target."""
    found: dict[Name, str] = {}
    sources: dict[tuple, str] = {}
    targets: dict[str, str] = {}
    for item in plan.stale:
        if item.found is not None:
            continue
        backend = item.target.partition(":")[0]
        place = (item.kernel.name, str(item.specialisation), backend)
        if place not in sources:
            sources[place] = _of_source(plan, item, backend)
        if item.target not in targets:
            targets[item.target] = _of_target(item.target, backend)
        if reason := sources[place] or targets[item.target]:
            found[item.name] = reason
    return found


def left_out(targets: list[str]) -> dict[str, str]:
    """Declared targets whose compiler is not installed, and what installs it; none if nothing else would remain."""
    missing = {backend: unavailable(backend) for backend in {target.partition(":")[0] for target in targets}}
    found = {target: missing[target.partition(":")[0]] for target in targets}
    found = {target: reason for target, reason in found.items() if reason}
    return found if len(found) < len(targets) else {}


def missing_tools(plan: Plan) -> list[str]:
    """What is to be installed before all of this can be built."""
    backends = dict.fromkeys(item.target.partition(":")[0] for item in plan.stale if item.found is None)
    return [reason for reason in map(unavailable, backends) if reason]


def _of_source(plan: Plan, item: Item, backend: str) -> str:
    rendered = plan.rendered[item.kernel.name, str(item.specialisation), backend]
    from ..frontend.build import build_tree
    from ..analysis.races import check

    try:
        if backend == "cuda" and "block" in item.kernel.launch:
            from ..targets.cuda.lowering import block_of

            block_of(item.kernel.launch, dict(item.specialisation.params))
        if not rendered.raw:
            check(build_tree(item.kernel, item.specialisation, rendered))
    except DeclarationError as error:
        return str(error)
    return ""


def _of_target(target: str, backend: str) -> str:
    """Why the installed compiler does not know an architecture."""
    if backend != "cuda" or unavailable(backend):  # which is said of all its targets at once
        return ""
    from ..targets.cuda.toolchain import parse_target

    try:
        parse_target(target)
    except DeclarationError as error:
        return str(error)
    return ""
