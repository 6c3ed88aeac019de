"""PTX and SASS of a kernel, with the user's lines beside the instructions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from typing import Callable

from ...artifact.remedies import install
from ...errors import CompilationError, CompilerNotInstalledError, Position
from ..listing import Line, Listing, Places, aligned, place_of
from ..temporary import temporary_folder
from .line_table import FILE
from .toolchain import in_wheels

Place = Callable[[str, int], Position | None]  # a file and a line of a table → where that is


def ptx(made: bytes, made_lined: bytes, places: Places) -> Listing:
    """PTX as it was made, with the places of its twin that has a table of lines."""
    lines = [line.expandtabs(8).rstrip() for line in made.decode().splitlines() if line.strip()]
    return aligned(lines, _lines_of_ptx(made_lined.decode(), places.at), _shape)


def sass(cubin: bytes, lined: bytes, places: Places) -> Listing:
    """The instructions of a cubin, as `ptx`, by function: a table of lines changes in which order they lie."""
    lines = _by_function([Line(line) for line in disassembled(cubin).splitlines()])
    return aligned([_clean(line.text) for line in lines], _lines_of_sass(lined, places.at), _shape)


def built(data: bytes, suffix: str) -> Listing:
    """PTX or a cubin by itself, with the lines of its own table, if it has one."""
    if suffix == ".cubin":
        return Listing(tuple(line._replace(text=_clean(line.text)) for line in _lines_of_sass(data, place_of)))
    return Listing(tuple(_lines_of_ptx(data.decode(errors="replace"), place_of)))


def _lines_of_ptx(text: str, place: Place) -> list[Line]:
    files = {number: name for number, name in FILE.findall(text)}
    lines: list[Line] = []
    at = None
    for line in text.splitlines():
        if found := re.match(r"\s*\.loc\s+(\d+) (\d+)", line):
            at = place(files.get(found[1], ""), int(found[2])) or at
            continue
        if re.match(r"\s*\.(?:visible )?\.?(?:entry|func)|\}", line):
            at = None
        if line.strip():
            lines.append(Line(line.expandtabs(8).rstrip(), at))
    return lines


def _lines_of_sass(cubin: bytes, place: Place) -> list[Line]:
    lines: list[Line] = []
    at = None
    for line in disassembled(cubin, "-g").splitlines():
        if found := re.match(r'\s*//## File "(.*?)", line (\d+)', line):
            at = place(found[1], int(found[2])) or at  # not told where it is as before, in another function too
        else:
            lines.append(Line(line, at))
    return _by_function(lines)


def _by_function(lines: Iterable[Line]) -> list[Line]:
    """The code among these lines, of one function after the other in the order of their names."""
    functions: dict[str, list[Line]] = {}
    name = ""
    for line in lines:
        if found := re.match(r"//-+ (\S+)", line.text):
            name = found[1]
        elif _is_code(line.text):
            functions.setdefault(name, []).append(line)
    return [line for _, code in sorted(functions.items()) for line in code]


def _is_code(line: str) -> bool:
    return bool(re.match(r"\s+/\*[0-9a-f]{4,}\*/|\.L_|\w+:$", line))


def _clean(line: str) -> str:
    return re.sub(r"^\s+/\*([0-9a-f]{4,})\*/\s+", r"    \1  ", line)


def _shape(line: str) -> str:
    """An instruction without the names of registers and labels, and without its address."""
    line = re.sub(r"^\s*(?:/\*[0-9a-f]+\*/|[0-9a-f]{4,}  )", "", line)
    return " ".join(re.sub(r"%\w+|\b[RPU]+\d+\b|`\(.*?\)|\$?\.?L_\w+|\d+", "%", line).split())


def disassembled(cubin: bytes, *options: str) -> str:
    """What nvdisasm prints of the code of a cubin. Raises CompilerNotInstalledError where it is missing."""
    with temporary_folder() as folder:
        path = os.path.join(folder, "kernel.cubin")
        with open(path, "wb") as file:
            file.write(cubin)
        done = subprocess.run([nvdisasm(), "-c", *options, path], capture_output=True, text=True)
    if done.returncode:
        raise CompilationError(f"nvdisasm failed with exit code {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout


@cache
def nvdisasm() -> str:
    """The path of NVIDIA's disassembler: of its wheel, or on the PATH. Raises CompilerNotInstalledError."""
    if found := in_wheels("nvdisasm", ("nvidia.cu13", "nvidia.cuda_nvdisasm")) or shutil.which("nvdisasm"):
        return found
    raise CompilerNotInstalledError(
        f"SASS is read by nvdisasm, which is not installed: {install('inspect', 'nvidia-cuda-nvdisasm')}"
    )
