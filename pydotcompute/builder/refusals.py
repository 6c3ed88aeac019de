"""What a build would refuse, found before anything is compiled: every kernel's first error, in one run.

The front end runs here, for what is out of date; it imports no compiler. So a dry run refuses what a build refuses,
and a build that is not to go on after an error has made nothing. Compilers get the trees, which are the same for all
backends that a template says the same to.
"""

from __future__ import annotations

import pickle
from typing import NamedTuple

from ..declare.model import Rendered
from ..errors import DeclarationError
from ..targets.base import backend_of
from ..targets.registry import get
from . import garbage
from .plan import Item, Name, Place, Plan


class Read(NamedTuple):
    """What the front end says of all that is out of date."""

    refused: dict[Name, str]  # the artifacts that cannot be made, and why: what their kernel says, or their target
    trees: dict[Place, bytes]  # of the others, as a job has them


def read(plan: Plan) -> Read:
    found: dict[Name, str] = {}
    sources: dict[Place, str] = {}
    trees: dict[Place, bytes] = {}
    same: dict[tuple, bytes] = {}
    targets: dict[str, str] = {}
    for item in plan.stale:
        if item.found is not None:
            continue
        backend = backend_of(item.target)
        place = item.place
        if place not in sources:
            rendered = plan.rendered[place]
            text = *place[:2], rendered.text, rendered.files, rendered.origins
            try:
                get(backend).check(item.kernel, item.specialisation, rendered)
                if not rendered.raw:
                    if text not in same:
                        with garbage.seldom():
                            same[text] = _tree(item, rendered)
                    trees[place] = same[text]
                sources[place] = ""
            except DeclarationError as error:
                sources[place] = str(error)
        if item.target not in targets:
            targets[item.target] = get(backend).lacks(item.target)
        if reason := sources[place] or targets[item.target]:
            found[item.name] = reason
    return Read(found, trees)


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


def _tree(item: Item, rendered: Rendered) -> bytes:
    """The typed tree as a job has it. Raises DeclarationError."""
    from ..analysis.races import check
    from ..frontend.build import build_tree

    tree = check(build_tree(item.kernel, item.specialisation, rendered))
    try:
        return pickle.dumps(tree, pickle.HIGHEST_PROTOCOL)
    except RecursionError:  # nested too deep for this alone: whoever compiles it reads it again
        return b""
