"""The rendered source and the typed tree of a specialisation, as the interpreter has them."""

from __future__ import annotations

from .. import declare
from ..declare.model import Kernel, Rendered, Specialisation
from ..frontend.build import build_tree
from ..ir.tree import KernelTree
from ..targets.registry import raw_modules


def rendered_tree(kernel: Kernel, specialisation: Specialisation, root: str) -> tuple[Rendered, KernelTree | None]:
    """Both; a raw kernel has no tree."""
    rendered = declare.render(kernel, specialisation, "python", root, raw_modules())
    return rendered, None if rendered.raw else build_tree(kernel, specialisation, rendered)
