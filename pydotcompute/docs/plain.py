"""Markdown as text for a terminal: paragraphs of its width, tables in columns, code as it is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
ITEM = re.compile(r"(\s*(?:(?:[-*]|\d+\.) )?)(.*)")  # the mark of a list, if any, behind what it is indented by
LISTED = re.compile(r"\s*(?:[-*]|\d+\.) .*")
LEAST = 24  # columns that the last cell of a row must have, or each cell gets a line


def plain(text: str, width: int, bold: Callable[[str], str] = str) -> str:
    """The page, no line wider than `width` but for code. bold: what makes a heading stand out."""
    return "\n".join(_lines(text.rstrip("\n").split("\n"), width, bold)) + "\n"


def _lines(lines: list[str], width: int, bold: Callable[[str], str]) -> Iterator[str]:
    k = 0
    while k < len(lines):
        line = lines[k]
        if line.startswith("```"):
            end = lines.index("```", k + 1)
            yield from (f"    {code}".rstrip() for code in lines[k + 1 : end])
            k = end + 1
        elif line.startswith("#"):
            marks, _, title = line.partition(" ")
            title = _inline(title)
            yield bold(title.upper() if len(marks) == 1 else title)
            k += 1
        elif line.startswith("|"):
            end = next((j for j in range(k, len(lines)) if not lines[j].startswith("|")), len(lines))
            yield from _table([_cells(row) for row in lines[k:end]], width)
            k = end
        elif not line.strip() or line.startswith("<!--") or line.startswith("    "):
            yield line if line.startswith("    ") else ""
            k += 1
        else:
            head, first = ITEM.fullmatch(line).groups()  # type: ignore[union-attr]
            end = k + 1
            while end < len(lines) and lines[end].strip() and not _begins(lines[end]):
                end += 1
            whole = _inline(" ".join([first, *(other.strip() for other in lines[k + 1 : end])]))
            yield from _wrapped(whole, width, head)
            k = end


def _begins(line: str) -> bool:
    """Whether a line begins something that is no more of the paragraph before it."""
    return line.startswith(("```", "#", "|", "<!--")) or LISTED.fullmatch(line) is not None


def _wrapped(text: str, width: int, head: str = "") -> list[str]:
    return textwrap.wrap(
        text, max(width, LEAST), initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False,
        break_on_hyphens=False,
    ) or [head]  # fmt: skip


def _inline(text: str) -> str:
    """Without the marks that a terminal has no use for. Links to pages name their topics."""

    def linked(found: re.Match[str]) -> str:
        title, place = found[1], found[2]
        topic = re.match(r"(\w+)\.md", place)
        return f"{title} [{topic[1]}]" if topic else title if place.startswith("#") else f"{title} <{place}>"

    # code is as it is; else `**` is bold, and what follows a backslash itself
    return re.sub(r"(`[^`]+`)|\*\*|\\([*_|<>\[\]])", lambda found: found[1] or found[2] or "", LINK.sub(linked, text))


def _cells(row: str) -> list[str]:
    return [_inline(cell.strip().replace(r"\|", "|")) for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def _table(rows: list[list[str]], width: int) -> Iterator[str]:
    head, rows = rows[0], rows[2:]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    rest = width - sum(widths[:-1]) - 2 * (len(widths) - 1)
    if rest < LEAST and rest < widths[-1]:
        yield from _stacked(head, rows, width)
        return
    for row in (head, ["-" * min(w, rest) for w in widths[:-1]] + ["-" * min(widths[-1], rest)], *rows):
        start = "".join(cell.ljust(w + 2) for cell, w in zip(row[:-1], widths))
        yield from (line.rstrip() for line in _wrapped(row[-1], width, start))


def _stacked(head: list[str], rows: list[list[str]], width: int) -> Iterator[str]:
    """Each cell below the first one in lines of its own, with the head of its column."""
    for row in rows:
        yield from _wrapped(row[0], width)
        for title, cell in zip(head[1:], row[1:]):
            if cell:
                yield from _wrapped(cell, width, f"    {title}: " if len(head) > 2 else "    ")
