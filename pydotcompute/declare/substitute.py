"""The commonest templates without Jinja2: `{{ NAME }}` and comments. What is more, Jinja2 does.

Importing and compiling with Jinja2 costs more than all else that a build with nothing to do has to do.
"""

from __future__ import annotations

import re
from typing import Mapping

SIMPLE = re.compile(
    r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}"
    r"|\{#(?![-+])((?:(?!#\}).)*)(?<![-+])#\}",  # - and + at its ends take white space away or keep it
    re.DOTALL,
)
DELIMITER = re.compile(r"\{[{%#]")


def substitute(text: str, context: Mapping[str, object]) -> tuple[str, list[int]] | None:
    """What Jinja2 would make of `text`, and the line of `text` that each of its lines comes from (from 1).

    None where that takes Jinja2: statements, expressions, undefined names.
    """
    if not DELIMITER.search(text):
        return text, list(range(1, text.count("\n") + 2))
    pieces, number, end = [], 1, 0  # each piece with the line of `text` that it begins in
    for match in SIMPLE.finditer(text):
        between = text[end : match.start()]
        name = match[1]
        if between.endswith("{") or DELIMITER.search(between) or (name and name not in context):
            return None
        value = str(context[name]) if name else ""
        if "\n" in value:
            return None
        pieces.append((number, between))
        number += between.count("\n")
        pieces.append((number, value))
        number += match[0].count("\n")
        end = match.end()
    rest = text[end:]
    if DELIMITER.search(rest):
        return None
    pieces.append((number, rest))
    return "".join(piece for _, piece in pieces), _lines(pieces)


def _lines(pieces: list[tuple[int, str]]) -> list[int]:
    """A line comes from where its first character does; a comment may have put two lines together."""
    lines, origin, here = [], None, 1
    for number, piece in pieces:
        for k, part in enumerate(piece.split("\n")):
            if k:
                lines.append(origin or here)
                origin = None
            here = number + k
            if origin is None and part.strip():
                origin = here
    return [*lines, origin or here]
