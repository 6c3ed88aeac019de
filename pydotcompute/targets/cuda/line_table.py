"""The table of lines in PTX: from lines of the lowered text, which numba-cuda writes, to those of the user's files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from ...errors import Position

PLACE = re.compile(r"(\.loc|, inlined_at)\s+(\d+) (\d+) \d+")
NAMES = re.compile(r"^\s*\.section\s+\.debug_str\s*\{[^}]*\}\n", re.M)  # of functions that were inlined
FILE = re.compile(r'^\s*\.file\s+(\d+) "(.*)"$', re.M)


def located(
    ptx: str, source_file: str, positions: Sequence[Position | None], called: Callable[[str], str] = str
) -> str:
    """The PTX with a table of the user's lines. positions: of the lines of `source_file`; what nobody wrote, or is of
    another file, counts as what stands before it. called: the path of a user's file → its name in the table."""
    ours = {number for number, name in FILE.findall(ptx) if name == os.path.abspath(source_file)}
    files: dict[str, int] = {}

    def at(file: str, line: str) -> str:
        place = positions[int(line) - 1] if file in ours and 0 < int(line) <= len(positions) else None
        if place is None:
            return ""
        number = files.setdefault(os.path.normpath(called(place.path)), len(files) + 1)
        return f"{number} {place.line} {place.column}"

    lines = []
    for line in FILE.sub("", ptx).rstrip().splitlines():
        found = PLACE.findall(line)
        places = [at(file, number) for _, file, number in found]
        if found and not places[0]:
            continue
        for (word, file, number), place in zip(found, places):
            old = rf"{re.escape(word)}\s+{file} {number} \d+"
            # What an unknown place was inlined into is not said.
            line = re.sub(old, f"{word} {place}", line) if place else re.sub(rf", function_name.*|{old}", "", line)
        lines.append(line)
    text = "\n".join([*lines, *(f'\t.file\t{number} "{name}"' for name, number in files.items()), ""])
    return text if "function_name" in text else NAMES.sub("", text)
