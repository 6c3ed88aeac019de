"""The commonest templates without Jinja2: `{{ NAME }}` and comments on one line. What is more, Jinja2 does.

Importing and compiling with Jinja2 costs more than all else that a build with nothing to do has to do.
"""

from __future__ import annotations

import re
from typing import Mapping

SIMPLE = re.compile(r"\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}|\{#(?![-+])(?:(?!#\})[^\n])*(?<![-+])#\}")
DELIMITER = re.compile(r"\{[{%#]")


def substitute(text: str, context: Mapping[str, object]) -> str | None:
    """What Jinja2 would make of `text`, line for line; None where that takes Jinja2."""
    if not DELIMITER.search(text):
        return text
    pieces, end = [], 0
    for match in SIMPLE.finditer(text):
        between = text[end : match.start()]
        name = match[1]
        if between.endswith("{") or DELIMITER.search(between) or (name and name not in context):
            return None
        value = str(context[name]) if name else ""
        if "\n" in value:
            return None
        pieces += [between, value]
        end = match.end()
    rest = text[end:]
    return None if DELIMITER.search(rest) else "".join([*pieces, rest])
