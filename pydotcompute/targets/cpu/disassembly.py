"""The instructions and constants of a built shared object, read back by a disassembler, with the lines that its own
table has."""

from __future__ import annotations

import os
import re
import subprocess

from ...errors import CompilationError
from ..listing import Line, Listing, objdump, place_of
from ..temporary import temporary_folder

INSTRUCTIONS = ("-d", "-l", "--no-show-raw-insn")
CONSTANTS = ("-s", "-j", ".rodata")
_FUNCTION = re.compile(r"[0-9a-f]+ <([^>]+)>:$")
_PLACE = re.compile(r"(?:; )?(\S.*):(\d+)(?: \(discriminator \d+\))?$")
_CODE = re.compile(r"\s*([0-9a-f]+):\s+(.*)")
_DATA = re.compile(r" ([0-9a-f]+) ((?:[0-9a-f]{2,8} )+)")


def disassembled(data: bytes) -> Listing:
    """Raises CompilerNotInstalledError, CompilationError."""
    with temporary_folder() as folder:
        path = os.path.join(folder, "kernel.so")
        with open(path, "wb") as file:
            file.write(data)
        code, constants = (_told(*options, path) for options in (INSTRUCTIONS, CONSTANTS))
    lines: list[Line] = []
    at = None
    for text in code.splitlines():
        if found := _FUNCTION.match(text):
            at = None
            lines.append(Line(f"{found[1]}:"))
        elif found := _CODE.match(text):
            lines.append(Line(f"    {found[1]:>6}  {found[2].rstrip()}", at))
        elif found := _PLACE.match(text):
            at = place_of(found[1], int(found[2]))
    words = filter(None, map(_DATA.match, constants.splitlines()))
    return Listing((*lines, *(Line(f"    {word[1]:>6}  {word[2]}".rstrip()) for word in words)))


def _told(*arguments: str) -> str:
    done = subprocess.run([objdump(), *arguments], capture_output=True, text=True)
    if done.returncode and "not found" not in done.stderr:  # GNU's, of a section that is not there
        raise CompilationError(f"{os.path.basename(objdump())}: {done.stderr.strip() or 'it says nothing'}")
    return done.stdout.expandtabs(8)
