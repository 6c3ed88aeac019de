"""Real sentences that every Python has: what the modules of its standard library say of themselves."""

from __future__ import annotations

import os
import re
import sysconfig

_DOCSTRING = re.compile(r'\A(?:\s*#[^\n]*\n|\s)*[rR]?("""|\'\'\')(.*?)\1', re.DOTALL)
HEAD = 4096  # characters of a file that are looked at


def library_sentences() -> dict[str, str]:
    """Module → the first paragraph of its docstring, of at least three words. Nothing is imported."""
    folder, found = sysconfig.get_path("stdlib"), {}
    for entry in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(entry)
        path = os.path.join(folder, entry, "__init__.py") if not extension else os.path.join(folder, entry)
        if name.startswith("_") or extension not in ("", ".py") or not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            match = _DOCSTRING.match(file.read(HEAD))
        if match:
            text = " ".join(re.split(r"\n\s*\n", match[2].strip())[0].split())
            if len(text.split()) >= 3:
                found[name] = text
    return found
