"""Talking to a person: stderr, colours where they are wanted, and progress that a log file can hold too."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sized
from typing import Callable, Sequence, TextIO

CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def say(line: str) -> None:
    """A line of talk. stdout is for data."""
    print(line, file=sys.stderr, flush=True)


def tell(line: str) -> None:
    """A line of talk that says that all is well: what was done, how much of it. Not said under --quiet."""
    if not _quiet:
        say(line)


def be_quiet(quiet: bool) -> None:
    """Whether `tell` says nothing from here on."""
    global _quiet
    _quiet = quiet


_quiet = False


def has_colour(stream: TextIO) -> bool:
    """Colours on a terminal only, and not under NO_COLOR (https://no-color.org) or TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO) -> str:
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if has_colour(stream) else text


class Progress:
    """`[3/12] …`: one line that is rewritten on a terminal, one line each elsewhere."""

    def __init__(self, total: int, stream: TextIO | None = None):
        self.total, self.done = total, 0
        self.stream = stream or sys.stderr
        self.rewrites = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.left: Callable[[], float | None] = lambda: None  # seconds that the rest will take, as far as is known
        self._shown = False

    def show(self, text: str) -> None:
        """What is happening now; only a terminal hears of it."""
        if self.rewrites:
            width = shutil.get_terminal_size().columns
            left = self.left()
            text = text if left is None else f"{duration_text(max(round(left), 1))} left  {text}"
            self.stream.write("\r\x1b[K" + self._count(text)[: width - 1])
            self.stream.flush()
            self._shown = True

    def finish(self, text: str, keep: bool = False) -> None:
        """One more is done. A terminal keeps the line only if `keep`."""
        self.done += 1
        if self.rewrites and not keep:
            self.show(text)
        else:
            self.line(self._count(text))

    def line(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        self.stream.write(text + "\n")
        self.stream.flush()

    def clear(self) -> None:
        if self._shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._shown = False

    def _count(self, text: str) -> str:
        return f"[{self.done}/{self.total}] {text}"


def table(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> str:
    """Columns of equal width; those in `right` are aligned to the right. No trailing blanks."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def count(things: int | Sized, name: str, several: str = "") -> str:
    """1 artifact, 2 artifacts"""
    number = things if isinstance(things, int) else len(things)
    return f"{number} {name}" if number == 1 else f"{number} {several or f'{name}s'}"


def size_text(size: float) -> str:
    """Bytes for a person: 812 B, 9.4 KB, 1.2 MB."""
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def duration_text(seconds: float) -> str:
    """A time that something takes, for a person: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 9.95 and not isinstance(seconds, int):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def ago(then: float | None, now: float) -> str:
    """How long ago, for a table: both in seconds since 1970."""
    return "-" if then is None else age_text(now - then)


def age_text(seconds: float) -> str:
    """How long ago, for a person: 12 s, 5 min, 3 h, 12 d."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
