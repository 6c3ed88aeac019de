"""LLVM IR and assembly of a kernel for one CPU target, with the user's lines beside the instructions."""

from __future__ import annotations

import re

from ..listing import Line, Listing, Places, aligned
from .compiler import emitting, optimised

_DIRECTIVE = re.compile(r"\s+\.(?!byte|long|quad|short|zero|ascii|asciz)\w")  # all but data
_OWN_LABEL = re.compile(r"\.L(?:tmp|func_begin|func_end|line_table|section|debug|info|abbrev|\$local)\w*:")


def llvm_ir(text: str, target: str, name: str, places: Places) -> Listing:
    """The IR of `kernel_ir` with positions after LLVM's optimisation for the target, which tables of lines do not
    change."""
    module, _ = optimised(text, target, name)
    body, nodes = [], {}
    for line in str(module).splitlines():
        if found := re.match(r"!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", line):
            nodes[found[1]] = (found[2], dict(re.findall(r'(\w+): (?:!?"?)([^,"]*)', found[3])))
        elif not re.match(r"!\d+ = |!llvm\.|source_filename|; ModuleID", line):
            body.append(line)

    def place(number: str):
        fields = nodes[number][1]
        scope = fields.get("scope", "")
        while scope in nodes and "file" not in nodes[scope][1]:
            scope = nodes[scope][1].get("scope", "")
        if scope not in nodes:
            return None
        return places.at(nodes[nodes[scope][1]["file"]][1]["filename"], int(fields.get("line", 0)))

    lines = []
    for line in body:
        found = re.search(r", !dbg !(\d+)", line)
        clean = re.sub(r",? !dbg !\d+", "", line).replace(" {", " {")
        lines.append(Line(clean, place(found[1]) if found and found[1] in nodes else None))
    return Listing(tuple(lines))


def assembly(text: str, lined: str, target: str, name: str, places: Places, exact: bool = False) -> Listing:
    """The assembly that the object is made of, without what only an assembler needs. text, lined: by `kernel_ir`,
    without and with lines. exact: what nobody wrote has no place; otherwise it has that of what stands before it."""
    code = [line.text for line in _code(text, target, name, places)]
    return aligned(code, _code(lined, target, name, places, exact), str)


def _code(text: str, target: str, name: str, places: Places, exact: bool = False) -> list[Line]:
    module, machine = optimised(text, target, name)
    files: dict[str, str] = {}
    lines: list[Line] = []
    code, at = True, None
    with emitting(target):
        emitted = machine.emit_assembly(module)
    for line in emitted.splitlines():
        if found := re.match(r'\s+\.file\s+(\d+) "[^"]*" "([^"]*)"', line):
            files[found[1]] = found[2]
        elif found := re.match(r"\s+\.loc\s+(\d+) (\d+)", line):
            at = places.at(files.get(found[1], ""), int(found[2])) or (None if exact else at)
        elif re.match(r"\s+\.(?:section|text|data)\b", line):
            code = not re.match(r'\s+\.section\s+"?\.(?:debug|note)', line)
        elif code and not _DIRECTIVE.match(line) and not _OWN_LABEL.match(line) and line.strip():
            if re.match(r"[\w.$]+:", line) and not line.startswith(".L"):
                at = None  # a function begins
            lines.append(Line(line.expandtabs(8).rstrip(), at))
    return lines
