"""Where in the user's source a finding stands: the store into an output, the index that is outside, the reference."""

from __future__ import annotations

import os
import re

from ..declare.model import Declaration
from ..errors import DeclarationError, Position
from ..ir import tree
from .trees import rendered_tree

_AT = re.compile(r"([^\s:][^:]*):(\d+):(\d+): ")


class Places:
    """Those of one specialisation; what is looked up is read once."""

    def __init__(self, declaration: Declaration, name: str, label: str):
        self._kernel = kernel = declaration.kernels[name]
        specialisation = next(s for s in kernel.specialisations if str(s) == label)
        rendered, built = rendered_tree(kernel, specialisation, declaration.root)
        # Messages name files as a process found them, by its own way to the project.
        self._lines = {os.path.abspath(f): (f, lines) for f, lines in zip(rendered.files, rendered.lines)}
        self._stores: dict[str, list[Position]] = {}
        if built is not None:
            behind = {(h.name, p.name): p.array for h in built.helpers for p in h.parameters}
            for name, body in [("", built.body), *((helper.name, helper.body) for helper in built.helpers)]:
                for node in (node for statement in body for node in tree.walk(statement)):
                    if isinstance(node, (tree.Store, tree.Atomic, tree.Scatter)) and node.at:
                        array = behind.get((name, node.array)) or node.array
                        self._stores.setdefault(array, []).append(node.at)

    def of(self, message: str, about: str) -> tuple[Position, str]:
        """Where it stands, and what to know of that line: the place that the message names, the store into the output
        that it is about, or a key of the kernel."""
        if found := _AT.search(message):
            path, line, column = found[1], int(found[2]), int(found[3])
            path, lines = self._lines.get(os.path.abspath(path), (path, ()))
            return Position(path, line, column, lines[line - 1] if 0 < line <= len(lines) else ""), ""
        if about in self._stores:
            stores = list(dict.fromkeys(self._stores[about]))
            return stores[0], f"the first of {len(stores)} stores into '{about}'" if len(stores) > 1 else ""
        code = "body" if self._kernel.body is not None else "template"
        return self._kernel.positions.get(about) or self._kernel.positions[code], ""


def marked(at: Position) -> str:
    """The place, then the source line with a mark under it, as every error of a declaration shows them."""
    return str(DeclarationError("", at)).replace(": \n", "\n", 1).removesuffix(": ")
