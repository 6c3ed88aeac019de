"""The instructions of AMD's GPUs, with the user's lines beside them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

from ...errors import CompilationError, Position
from ..listing import Line, Listing, aligned, objdump
from ..temporary import temporary_folder

_FUNCTION = re.compile(r"(\w+):\s*; @")
_LOCATION = re.compile(r"\s*\.loc\s+\d+ (\d+)")
_LABEL = re.compile(r"\.LBB\w+:")
_CODE = re.compile(r"\s+([0-9a-z_]+ .*?|s_endpgm)\s*// ([0-9A-F]+):")


def instructions(plain: str, lined: str, positions: Sequence[Position | None]) -> Listing:
    """Of assembly, with the places of its twin that has a table of lines: line k + 1 of the text that both are made of
    comes from positions[k]."""
    return aligned([line.text for line in _code(plain, positions)], _code(lined, positions), _shape)


def _code(assembly: str, positions: Sequence[Position | None]) -> list[Line]:
    lines: list[Line] = []
    at, inside = None, False
    for raw in assembly.splitlines():
        if found := _FUNCTION.match(raw):
            at, inside = None, True
            lines.append(Line(f"{found[1]}:"))
        elif found := _LOCATION.match(raw):
            number = int(found[1])
            at = (positions[number - 1] if 0 < number <= len(positions) else None) or at
        elif _LABEL.match(raw) and inside:
            lines.append(Line(raw.partition(";")[0].rstrip(), at))
        elif inside and re.match(r"\t[a-z]", raw):
            text = raw.partition(";")[0].expandtabs(8).strip()
            lines.append(Line(f"    {text}", at))
        elif raw.startswith("\t.section"):
            inside = False
    return lines


def _shape(line: str) -> str:
    """An instruction without the names of registers and labels."""
    return " ".join(re.sub(r"\b[vsa]\d+\b|\b[vsa]\[[\d:]+\]|\.LBB\w+|0x[0-9a-f]+|\b\d+\b", "%", line).split())


def disassembled(code: bytes) -> Listing:
    """The instructions of a code object. Raises CompilerNotInstalledError, CompilationError."""
    with temporary_folder() as folder:
        path = os.path.join(folder, "kernel.hsaco")
        with open(path, "wb") as file:
            file.write(code)
        done = subprocess.run([objdump(), "-d", path], capture_output=True, text=True)
    lines: list[Line] = []
    for text in done.stdout.splitlines():
        if found := re.match(r"[0-9a-f]+ <([^>]+)>:", text):
            lines.append(Line(f"{found[1]}:"))
        elif found := _CODE.match(text.expandtabs(8)):
            lines.append(Line(f"    {int(found[2], 16):>6x}  {found[1]}"))
    if done.returncode or not lines:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        raise CompilationError(f"{os.path.basename(objdump())} does not read this code object: {said[0]}")
    return Listing(tuple(lines))
