"""Where the user wrote each instruction: LLVM's debug locations, which name lines of kernels.yaml and of templates.

Numba asks a builder of debug information for a location before it lowers each statement. This one answers with the
place that the line of the lowered text comes from. It describes no variables and no types, and LLVM makes the same
instructions with and without it.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Sequence

from llvmlite import ir
from numba.core.debuginfo import AbstractDIBuilder

from ...errors import Position

# While modules are being linked, the locations stand under names of our own: LLVM verifies a module with locations
# whenever it reads one, and what marks independent loops is not yet what it must be. Loops name their locations too.
HIDDEN = tuple((f"!{kind} ", f"!pydotcompute.{kind} ") for kind in ("dbg", "llvm.dbg.cu", "llvm.loop"))
VERSIONS = '!{i32 7, !"Dwarf Version", i32 4}', '!{i32 2, !"Debug Info Version", i32 3}'


def hidden(text: str) -> str:
    """A module's text while it is being linked."""
    for name, other in HIDDEN:
        text = text.replace(name, other)
    return text


def shown(text: str) -> str:
    """The text of all modules, linked: with its locations, if it has some."""
    for name, other in HIDDEN:
        text = text.replace(other, name)
    if "!dbg " not in text:
        return text
    free = 1 + max(map(int, re.findall(r"^!(\d+) = ", text, re.M)))
    nodes = [f"!{free + k} = {node}" for k, node in enumerate(VERSIONS)]
    return "\n".join((text, f"!llvm.module.flags = !{{!{free}, !{free + 1}}}", *nodes, ""))


def nowhere(text: str, positions: Sequence[Position | None]) -> str:
    """A module that nobody wrote, as text, with subprograms without lines: what is inlined into its functions would
    lose its lines otherwise. positions: of what it is linked to."""
    path = next(at.path for at in positions if at)
    nodes = [
        '!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "pydotcompute", isOptimized: true, '
        "runtimeVersion: 0, emissionKind: LineTablesOnly)",
        f'!1 = !DIFile(filename: "{_escaped(os.path.normpath(path))}", directory: ".")',
        "!2 = !DISubroutineType(types: !3)", "!3 = !{}", *(f"!{4 + k} = {node}" for k, node in enumerate(VERSIONS)),
    ]  # fmt: skip
    lines: list[str] = []
    for line in text.splitlines():
        if found := re.match(r"define .*@(\w+)\(.*\)[^()]*\{$", line):
            nodes.append(
                f'!{len(nodes)} = distinct !DISubprogram(name: "{found[1]}", scope: !1, file: !1, type: !2, unit: !0, '
                "spFlags: DISPFlagDefinition | DISPFlagOptimized)"
            )
            nodes.append(f"!{len(nodes)} = !DILocation(line: 0, scope: !{len(nodes) - 1})")
            line = f"{line[:-1]}!dbg !{len(nodes) - 2} {{"
        elif re.search(r"\bcall ", line):
            line += f", !dbg !{len(nodes) - 1}"
        lines.append(line)
    return "\n".join([*lines, "!llvm.dbg.cu = !{!0}", "!llvm.module.flags = !{!4, !5}", *nodes, ""])


def _escaped(path: str) -> str:
    """As it stands in a string of LLVM's."""
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02x}" for b in os.fsencode(path))


class LineTable(AbstractDIBuilder):
    """Of one module. positions: of the lines of the text `source_file`; functions of other files get no locations."""

    def __init__(self, module: ir.Module, source_file: str, positions: Sequence[Position | None], filepath: str):
        self.module, self.positions = module, positions
        self.applies = filepath == source_file and any(positions)
        self.function: Any = None  # the subprogram under way

    @classmethod
    def of(cls, source_file: str, positions: Sequence[Position | None]) -> Callable[..., LineTable]:
        """What Numba calls with a module and the file of a function."""
        return lambda module, filepath, cgctx, directives_only: cls(module, source_file, positions, filepath)

    def mark_subprogram(self, function, qualname, argnames, argtypes, line) -> None:
        if not self.applies:
            return
        at = next(place for place in (*self.positions[line - 1 :], *self.positions) if place)
        file = self._file(at)
        unit = self._unit(file)
        self.function = self.module.add_debug_info(
            "DISubprogram",
            {
                "name": qualname, "scope": file, "file": file, "line": at.line,
                "scopeLine": at.line, "unit": unit, "isDefinition": True, "isLocal": False, "isOptimized": True,
                "type": self.module.add_debug_info(
                    "DISubroutineType", {"types": self.module.add_metadata([])}
                ),
            },
            is_distinct=True,
        )  # fmt: skip
        self.own_file = at.path
        function.set_metadata("dbg", self.function)

    def mark_location(self, builder: ir.IRBuilder, line: int) -> None:
        if self.function is None:
            return
        at = self.positions[line - 1] if 0 < line <= len(self.positions) else None
        scope = self.function
        if at and at.path != self.own_file:
            scope = self.module.add_debug_info(
                "DILexicalBlockFile", {"scope": self.function, "file": self._file(at), "discriminator": 0}
            )
        # Line 0 is DWARF's for what nobody wrote.
        place = {"line": at.line if at else 0, "column": at.column if at else 0, "scope": scope}
        builder.debug_metadata = self.module.add_debug_info("DILocation", place)

    def mark_variable(self, builder, allocavalue, name, lltype, size, line, datamodel=None, argidx=None) -> None:
        pass

    def initialize(self) -> None:
        pass

    def finalize(self) -> None:
        pass

    def _file(self, at: Position) -> ir.DIValue:
        return self.module.add_debug_info("DIFile", {"directory": ".", "filename": os.path.normpath(at.path)})

    def _unit(self, file: ir.DIValue) -> ir.DIValue:
        unit = self.module.add_debug_info(
            "DICompileUnit",
            {
                "language": ir.DIToken("DW_LANG_C"), "file": file, "producer": "pydotcompute", "runtimeVersion": 0,
                "isOptimized": True, "emissionKind": ir.DIToken("LineTablesOnly"),
            },
            is_distinct=True,
        )  # fmt: skip
        units = self.module.namedmetadata.get("llvm.dbg.cu") or self.module.add_named_metadata("llvm.dbg.cu")
        if unit not in units.operands:
            units.add(unit)
        return unit
