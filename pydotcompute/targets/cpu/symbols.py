"""Names of a kernel's functions that debuggers and profilers show: `softmax_compute`, in the place of numbers."""

from __future__ import annotations

import re

FUNCTION = re.compile(r"^define [^@\n]*@([\w.]+)\(.*?(?:!dbg !(\d+) )?\{$", re.M)
VISIBLE = ("run", "body")
NAMED = re.compile(r'^!(\d+) = distinct !DISubprogram\(name: "(\w+)"', re.M)


def named(text: str, kernel: str) -> str:
    """The module with a name for each function whose subprogram has one; what other objects and the run half call keeps
    its own, and has another."""
    names = dict(NAMED.findall(text))
    new: dict[str, str] = {}
    others = {symbol: f"{kernel}_{symbol}" for symbol in VISIBLE}
    for symbol, number in FUNCTION.findall(text):
        if number in names and symbol not in VISIBLE:
            name = f"{kernel}_{names[number]}"
            taken = name in new.values() or name in others.values()
            new[symbol] = f"{name}_{len(new)}" if taken else name
    renamed = re.sub(r"@([\w.]+)", lambda found: f"@{new.get(found[1], found[1])}", text)
    return "\n".join((renamed, *(f"@{name} = alias i32 (ptr), ptr @{symbol}" for symbol, name in others.items()), ""))
