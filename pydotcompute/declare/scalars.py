"""Where each character of a YAML scalar stands in the file, whatever its style."""

from __future__ import annotations

import re
from typing import Iterator, Sequence

from .node import Node

ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
ESCAPED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip

Place = tuple[int, int]
QUOTES = ("'", '"')
WHITE = (" ", "\t", "\n")
NOTHING = ("", False, (0, 0), (0, 0))


def places(lines: Sequence[str], node: Node) -> list[Place]:
    """(line, column), both from 1, of every character of `node.text`, and of its end."""
    if node.places is None:
        node.places = _places(lines, node)
    return node.places


def _places(lines: Sequence[str], node: Node) -> list[Place]:
    if node.style == "|":
        return _literal(lines, node)
    begin = node.column - 1 + (node.style in QUOTES)
    if node.style != ">" and lines[node.line - 1].startswith(node.text, begin):
        return [(node.line, begin + k + 1) for k in range(len(node.text) + 1)]  # as it stands there
    # Otherwise white space is folded and characters are escaped; all else stands in the file in the same order.
    characters = _characters(lines, node)
    result: list[Place] = []
    end = (node.line, node.column)
    there = next(characters, NOTHING)
    for char in node.text:
        if char not in " \n" or there[1]:
            while there[0] != char and there[0] in WHITE:
                there = next(characters, NOTHING)
        if there[0] == char or (there[0] in WHITE and char in " \n"):
            result.append(there[2])
            end = there[3]
            there = next(characters, NOTHING)
        else:  # one line break in the file that stands for several characters, or none
            result.append(end)
    return [*result, end]


def line_places(lines: Sequence[str], node: Node) -> list[list[Place]]:
    """`places`, apart for each line of the text; every line has one more, for its end."""
    result, start, all_places = [], 0, places(lines, node)
    for line in node.text.split("\n"):
        result.append(all_places[start : start + len(line) + 1])
        start += len(line) + 1
    return result


def _literal(lines: Sequence[str], node: Node) -> list[Place]:
    result = []
    for number, value in enumerate(node.text.split("\n"), node.line + 1):
        source = lines[number - 1] if number <= len(lines) else ""
        indent = max(len(source) - len(value), 0) if source.endswith(value) else 0
        result += [(number, indent + k + 1) for k in range(len(value) + 1)]
    return result


def _characters(lines: Sequence[str], node: Node) -> Iterator[tuple[str, bool, Place, Place]]:
    """What the scalar is made of: character, whether it was escaped, where it stands, where the next one stands."""
    quote = node.style if node.style in QUOTES else ""
    line, column = (node.line + 1, 1) if node.style == ">" else (node.line, node.column + len(quote))
    while line <= len(lines):
        source = lines[line - 1]
        while column <= len(source):
            char, width, escaped = source[column - 1], 1, False
            if quote == "'" and char == "'":
                width = 2
            elif quote and char == quote:
                return
            elif quote == '"' and char == "\\":
                if not (escape := ESCAPE.match(source, column - 1)):
                    break  # a line break that is escaped adds nothing
                code = escape[1] or escape[2] or escape[3]
                char = chr(int(code, 16)) if code else ESCAPED.get(escape[4], escape[4])
                width, escaped = len(escape[0]), True
            yield char, escaped, (line, column), (line, column + width)
            column += width
        else:
            yield "\n", False, (line, column), (line + 1, 1)
        line, column = line + 1, 1
