"""What machine code costs, as lines for a person and as data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Iterator

from .terminal import count, paint, say

if TYPE_CHECKING:
    from ..errors import Position
    from ..targets.machine_code import Costs, Entry, Loop


def told(at: Position) -> str:
    """A line of the user's, with its place."""
    return f"{at.path}:{at.line}  {at.text.strip()}"


def print_costs(costs: Costs, only: set[tuple[str, int]] | None) -> None:
    """only: of the loops whose heads are among these files and lines."""
    before = None
    shown: dict[str, int] = {}  # several versions of a loop may have the same code
    for loop in costs.loops:
        if loop.head is None or (only is not None and (loop.head.path, loop.head.line) not in only):
            continue
        if loop.head != before:
            _print_versions(shown)
            print(paint(f"  {told(loop.head)}", "yellow", sys.stdout))
            before, shown = loop.head, {}
        text = "\n".join(_lines(loop))
        shown[text] = shown.get(text, 0) + 1
    _print_versions(shown)
    for entry in costs.entries:
        print(f"  {_entry(entry)}")
    for note in costs.notes:
        say(note)


def _print_versions(shown: dict[str, int]) -> None:
    for text, times in shown.items():
        first, _, rest = text.partition("\n")
        print(f"    {first}{f' ({times} times)' if times > 1 else ''}\n{rest}")


def _lines(loop: Loop) -> Iterator[str]:
    yield _loop(loop)
    classes = sorted(loop.instructions.items(), key=lambda item: -item[1])
    yield f"      {', '.join(f'{number} {name}' for name, number in classes)}"
    found = loop.throughput
    if found and found.cycles is not None:
        each = f", {found.cycles / loop.elements:.3g} an element" if loop.elements else ""
        why = f"; held up by {found.bottleneck}" if found.bottleneck else ""
        yield f"      {found.processor}, by llvm-mca: {found.cycles:.3g} cycles a turn{each}{why}"


def _loop(loop: Loop) -> str:
    parts = [count(loop.total, "instruction")]
    if loop.elements:
        parts.append(f"{count(loop.elements, 'element')} a turn, {loop.per_element:.3g} an element")
    parts.append(f"{loop.loads} bytes loaded, {loop.stores} stored")
    return ("" if loop.hot else "another version: ") + "; ".join(parts)


def _entry(entry: Entry) -> str:
    spills = entry.spill_stores + entry.spill_loads
    parts = [f"{entry.block} threads", f"{entry.registers} registers", f"{entry.shared} bytes of shared memory"]
    parts.append(f"{spills} bytes of spills a thread" if spills else "no spills")
    if entry.warps is None or not entry.most_warps:
        return f"{entry.name}: {', '.join(parts)}"
    share = f"{entry.warps / entry.most_warps:.0%}, by {entry.limit}"
    return f"{entry.name}: {', '.join(parts)}; {entry.warps} of {entry.most_warps} warps at once ({share})"


def as_json(costs: Costs) -> dict[str, Any]:
    from ..targets.machine_code import Throughput

    return {
        "loops": [
            {
                "path": loop.head.path if loop.head else None, "line": loop.head.line if loop.head else None,
                "hot": loop.hot, "instructions": loop.instructions, "total": loop.total, "elements": loop.elements,
                "per_element": loop.per_element, "loads": loop.loads, "stores": loop.stores,
                "throughput": (loop.throughput or Throughput(None, None, ""))._asdict(),
            }
            for loop in costs.loops
        ],
        "entries": [entry._asdict() for entry in costs.entries],
        "notes": list(costs.notes),
    }  # fmt: skip
