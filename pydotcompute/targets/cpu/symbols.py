"""Names of a kernel's functions that debuggers and profilers show: `softmax_compute`, in the place of numbers."""

from __future__ import annotations

import re

FUNCTION = re.compile(r"^define [^@\n]*@([\w.]+)\(.*?(?:!dbg !(\d+) )?\{$", re.M)
NAMED = re.compile(r'^!(\d+) = distinct !DISubprogram\(name: "(\w+)"', re.M)


def named(text: str, kernel: str) -> str:
    """The module with a name for each function whose subprogram has one; what the run half calls keeps its own, and has
    another."""
    names = dict(NAMED.findall(text))
    new: dict[str, str] = {}
    for symbol, number in FUNCTION.findall(text):
        if number in names and symbol != "run":
            name = f"{kernel}_{names[number]}"
            new[symbol] = name if name not in new.values() else f"{name}_{len(new)}"
    renamed = re.sub(r"@([\w.]+)", lambda found: f"@{new.get(found[1], found[1])}", text)
    return f"{renamed}\n@{kernel}_run = alias i32 (ptr), ptr @run\n"
