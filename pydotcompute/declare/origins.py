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
from jinja2.sandbox import SandboxedEnvironment

Origin = tuple[str | None, int]  # template, or None for a text without a file; line from 1

BEGIN, END, DIGITS = "\ufdd0", "\ufdd1", [chr(0xFDD2 + k) for k in range(10)]
MARK = re.compile(f"{BEGIN}[{DIGITS[0]}-{DIGITS[9]}]+{END}")
MARKS_BEFORE_TEXT = re.compile(f"(?:{MARK.pattern}|[ \t])*")
TO_DIGIT = {ord(char): str(k) for k, char in enumerate(DIGITS)}
FROM_DIGIT = {ord(str(k)): char for k, char in enumerate(DIGITS)}
RESERVED = re.compile(f"[{BEGIN}-{DIGITS[9]}]")
CAPTURES = ("macro", "call", "filter", "block")  # what turns template text into values


class Marked(SandboxedEnvironment):
    """What `LineMarks` notes."""

    places: list[Origin]  # what mark k means
    captures: set[str | None]  # the templates whose text may become a value


class LineMarks(Extension):
    """Marks every line of template text and every value, in a `Marked` environment."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        environment, name = self.environment, stream.name
        assert isinstance(environment, Marked)
        places = environment.places
        begins = False  # the token before began a `{% … %}`
        setting = False  # within `{% set …`, without a `=` so far
        for token in stream:
            if token.type == "data":
                first, *rest = token.value.split("\n")
                pieces = [self._mark(places, name, token.lineno) + first]
                pieces += [self._mark(places, name, token.lineno + k) + line for k, line in enumerate(rest, 1)]
                yield Token(token.lineno, "data", "\n".join(pieces))
                continue
            if token.type == "variable_begin":  # a value may stand in a line without template text before it
                yield Token(token.lineno, "data", self._mark(places, name, token.lineno))
            if begins and token.type == "name":
                if token.value in CAPTURES:
                    environment.captures.add(name)
                setting = token.value == "set"
            elif setting and token.type == "assign":
                setting = False
            elif setting and token.type == "block_end":
                environment.captures.add(name)
                setting = False
            begins = token.type == "block_begin"
            yield token

    @staticmethod
    def _mark(places: list[Origin], name: str | None, line: int) -> str:
        places.append((name, line))
        return BEGIN + str(len(places) - 1).translate(FROM_DIGIT) + END


def read_marks(text: str, places: list[Origin], first: Origin) -> tuple[str, list[Origin]]:
    """The text without its marks, and where each of its lines comes from: where its first character does."""
    lines, origins, last = [], [], first
    for line in text.split("\n"):
        marks = MARKS_BEFORE_TEXT.match(line)
        assert marks is not None  # of no marks at all, too
        origins.append(_last(marks[0], places, last))
        last = _last(line, places, last)
        lines.append(MARK.sub("", line))
    return "\n".join(lines), origins


def _last(text: str, places: list[Origin], otherwise: Origin) -> Origin:
    """What the last mark in a text means; without one, the line goes on where the one before ended."""
    begin = text.rfind(BEGIN)
    return otherwise if begin < 0 else places[int(text[begin + 1 : text.index(END, begin)].translate(TO_DIGIT))]


def realign(marked: str, origins: list[Origin], text: str) -> list[Origin]:
    """The origins of `text`, from those of another rendering of the same template that differs a little."""
    before, after = marked.split("\n"), text.split("\n")
    result: list[Origin] = []
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        for j in range(j1, j2):
            result.append(origins[min(i1 + (j - j1), max(i2 - 1, 0), len(origins) - 1)])
    return result
