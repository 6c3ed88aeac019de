"""Which line of which template each rendered line comes from, through loops, macros and includes.

Jinja2 forgets lines once it has compiled a template. So every line of template text carries a mark of its place
while it is rendered: characters that Unicode keeps for use within a program (U+FDD0 to U+FDDB).
"""

from __future__ import annotations

import difflib
import re
from typing import Iterator

from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

Origin = tuple[str | None, int]  # template, or None for a text without a file; line from 1

BEGIN, END, DIGITS = "\ufdd0", "\ufdd1", [chr(0xFDD2 + k) for k in range(10)]
MARK = re.compile(f"{BEGIN}([{DIGITS[0]}-{DIGITS[9]}]+){END}")
TO_DIGIT = {ord(char): str(k) for k, char in enumerate(DIGITS)}
FROM_DIGIT = {ord(str(k)): char for k, char in enumerate(DIGITS)}
RESERVED = re.compile(f"[{BEGIN}-{DIGITS[9]}]")
CAPTURES = ("macro", "call", "filter", "block")  # what turns template text into values


class LineMarks(Extension):
    """Marks every line of template text; `environment.places[k]` is what mark k means."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        places, name = self.environment.places, stream.name
        begins = False  # the token before began a `{% … %}`
        setting = False  # within `{% set …`, without a `=` so far
        for token in stream:
            if token.type == "data":
                first, *rest = token.value.split("\n")
                pieces = [self._mark(places, name, token.lineno) + first]
                pieces += [self._mark(places, name, token.lineno + k) + line for k, line in enumerate(rest, 1)]
                yield Token(token.lineno, "data", "\n".join(pieces))
                continue
            if begins and token.type == "name":
                if token.value in CAPTURES:
                    self.environment.captures.add(name)
                setting = token.value == "set"
            elif setting and token.type == "assign":
                setting = False
            elif setting and token.type == "block_end":
                self.environment.captures.add(name)
                setting = False
            begins = token.type == "block_begin"
            yield token

    @staticmethod
    def _mark(places: list[Origin], name: str | None, line: int) -> str:
        places.append((name, line))
        return BEGIN + str(len(places) - 1).translate(FROM_DIGIT) + END


def read_marks(text: str, places: list[Origin], first: Origin) -> tuple[str, list[Origin]]:
    """The text without its marks, and where each of its lines comes from."""
    lines, origins, last = [], [], first
    for line in text.split("\n"):
        if match := MARK.search(line):
            last = places[int(match[1].translate(TO_DIGIT))]
            line = MARK.sub("", line)
        lines.append(line)
        origins.append(last)
    return "\n".join(lines), origins


def realign(marked: str, origins: list[Origin], text: str) -> list[Origin]:
    """The origins of `text`, from those of another rendering of the same template that differs a little."""
    before, after = marked.split("\n"), text.split("\n")
    result: list[Origin | None] = [None] * len(after)
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for j in range(j1, j2):
            result[j] = origins[min(i1 + (j - j1), max(i2 - 1, 0), len(origins) - 1)]
    return result
