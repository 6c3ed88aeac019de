"""The front end, as a task of a worker: what a specialisation says, as jobs have it, or what is wrong with it."""

from __future__ import annotations

import os
import pickle
import traceback
from typing import NamedTuple

from ..declare.model import Kernel, Rendered, Specialisation
from ..errors import DeclarationError, is_out_of_memory


class Reading(NamedTuple):
    """Read a specialisation as it is rendered."""

    kernel: Kernel
    specialisation: Specialisation
    rendered: Rendered

    def __str__(self) -> str:
        return f"{self.kernel.name} {self.specialisation}"


class Tree(NamedTuple):
    """What became of a reading."""

    data: bytes = b""  # the typed tree, pickled; empty: none could be had here, so its job reads again
    refused: str = ""  # why there is none


def tree_of(reading: Reading) -> Tree:
    """Read a specialisation, without a compiler. Whatever goes wrong becomes a refusal with its reason."""
    try:
        return _tree_of(reading)
    except Exception as error:
        return Tree(refused=internal_error(error, f"reading {reading}"))


def _tree_of(reading: Reading) -> Tree:
    from ..analysis.races import check  # here, because a plan of what is all there needs none of the tree
    from ..frontend.build import build_tree

    try:
        tree = check(build_tree(*reading))
    except DeclarationError as error:
        return Tree(refused=str(error))
    try:
        return Tree(pickle.dumps(tree, pickle.HIGHEST_PROTOCOL))
    except RecursionError:  # nested too deep for this alone
        return Tree()


def internal_error(error: BaseException, doing: str) -> str:
    """One line for a fault of ours; the traceback where it is asked for."""
    if os.environ.get("PYDOTCOMPUTE_DEBUG"):
        return "".join(traceback.format_exception(error)).rstrip()
    if is_out_of_memory(error):
        return f"not enough memory while {doing}; fewer jobs with -j need less"
    what = " ".join(str(error).split())[:300]
    return f"internal error while {doing}: {type(error).__name__}: {what} (PYDOTCOMPUTE_DEBUG=1 shows where)"
