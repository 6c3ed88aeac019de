"""Two artifacts side by side: the fields of their keys, their sources, and their instructions by line of the source."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, unified_diff
from typing import NamedTuple, Sequence

from ..cache.contents import Record
from ..cache.keys import changes
from ..errors import Position
from ..targets.listing import Line
from ..targets.registry import get
from .show import Shown

SOURCES = ("source", "tree", "lowered")  # stages without instructions
# What differs between two copies of the same code: addresses, and numbers of labels.
_INCIDENTAL = (
    (re.compile(r"^\s*[0-9a-f]{3,}  "), ""), (re.compile(r"(\.L[A-Za-z_]*)\d+(?:_\d+)?"), r"\1"),
    (re.compile(r"(?:0x)?[0-9a-f]+ <([^>+-]*)[^>]*>"), r"<\1>"), (re.compile(r"-?(?:0x)?[0-9a-f]+\(%rip\)"), "(%rip)"),
    (re.compile(r"# (?:0x[0-9a-f]+|.*mem\[.*)$"), ""),
)  # fmt: skip


class Part(NamedTuple):
    """What was made of one line of the source on each side; None: that side has no such line."""

    old_at: Position | None
    new_at: Position | None
    old: tuple[str, ...]  # the instructions that the other side has not
    new: tuple[str, ...]


class Difference(NamedTuple):
    fields: tuple[tuple[str, str | None, str | None], ...]  # of the keys: name, old, new
    same_bytes: bool
    sources: dict[str, tuple[str, ...]]  # stage → the lines of a unified diff; none where they are the same
    stage: str  # of the instructions; empty: the sides have no such stage in common
    parts: tuple[Part, ...]  # where they differ

    @property
    def same(self) -> bool:
        return self.same_bytes and not self.fields


def compare(old: Shown, new: Shown) -> Difference:
    """Raises what showing raises."""
    common = [stage for stage in old.stages if stage in new.stages]
    sources = {}
    for stage in (stage for stage in common if stage in SOURCES):
        mine, theirs = ([line.text for line in side.listing(stage).lines] for side in (old, new))
        sources[stage] = tuple(unified_diff(mine, theirs, lineterm=""))[2:]
    last = next((stage for stage in reversed(common) if stage not in SOURCES), "")
    parts = _parts(old.listing(last).lines, new.listing(last).lines) if last else ()
    same = old.inspection.made.data == new.inspection.made.data
    return Difference(tuple(changes(old.item.fields, new.item.fields)), same, sources, last, parts)


class Built(NamedTuple):
    """An artifact as it lies in a cache or a bundle."""

    record: Record
    fields: dict[str, str]  # of its key; none where nothing remembers them
    data: bytes  # of its object


def compare_built(old: Built, new: Built) -> Difference:
    """Without their sources. Raises CompilationError, CompilerNotInstalledError."""
    fields = tuple(changes(old.fields, new.fields)) if old.fields and new.fields else ()
    same = old.record.object == new.record.object
    if same or old.record.suffix != new.record.suffix:
        return Difference(fields, same, {}, "", ())
    mine, theirs = (get(side.record.target).disassembled(side.data, side.record.suffix).lines for side in (old, new))
    return Difference(fields, same, {}, old.record.suffix.lstrip("."), _parts(mine, theirs))


def _parts(old: Sequence[Line], new: Sequence[Line]) -> tuple[Part, ...]:
    """Lines of the source belong together that say the same, wherever they stand now; then what is left in between."""
    sides = (_by_line(old), _by_line(new))
    places = [sorted(side, key=lambda at: at[:2] if at else ("", 0)) for side in sides]
    texts = [[(at.text.strip() or f"{at.path}:{at.line}") if at else "" for at in side] for side in places]
    pairs: list[tuple[Position | None, Position | None, bool, bool]] = []
    for tag, a, b, c, d in _opcodes(*texts):
        if tag in ("equal", "replace") and b - a == d - c:
            pairs += [(x, y, True, True) for x, y in zip(places[0][a:b], places[1][c:d])]
        else:
            pairs += [(x, None, True, False) for x in places[0][a:b]]
            pairs += [(None, y, False, True) for y in places[1][c:d]]
    found = []
    for x, y, in_old, in_new in pairs:
        mine, theirs = sides[0][x] if in_old else [], sides[1][y] if in_new else []
        removed: list[str] = []
        added: list[str] = []
        for tag, a, b, c, d in _opcodes(_shapes(mine), _shapes(theirs)):
            if tag != "equal":
                removed += mine[a:b]
                added += theirs[c:d]
        if removed or added:
            found.append(Part(x, y, tuple(removed), tuple(added)))
    return tuple(found)


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    return list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def _by_line(lines: Sequence[Line]) -> dict[Position | None, list[str]]:
    """The code of each line of the source, None: of none, in the order in which it stands."""
    heads: dict[tuple[str, int], Position] = {}
    found: dict[Position | None, list[str]] = {}
    for line in lines:
        at = line.at and heads.setdefault((line.at.path, line.at.line), line.at)
        found.setdefault(at, []).append(line.text)
    return found


def _shapes(lines: Sequence[str]) -> list[str]:
    shapes = []
    for line in lines:
        for pattern, shape in _INCIDENTAL:
            line = pattern.sub(shape, line)
        shapes.append(" ".join(line.split()))
    return shapes
