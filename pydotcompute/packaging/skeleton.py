"""The first files of a project, or of a package whose wheel ships kernels: `pydotcompute init`.

They are the files of `skeleton/`, with the names in them filled in. A package has those of a project too.
"""

from __future__ import annotations

import keyword
import os
import re

from ..artifact.remedies import source_requirement

SKELETON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skeleton")
ENDING = ".in"
HIDDEN = ("gitignore", "github")  # these begin with a dot where they go
NOT_IN_A_PACKAGE = ("program.py",)


class InitError(ValueError):
    """The files cannot be written; the message says why and what to do."""


def write(folder: str, package: bool = False, name: str = "") -> list[str]:
    """Write the first files to `folder`, which is made where there is none; returns their names, relative to it.

    name: of the distribution (default: the folder's). Nothing is replaced: InitError where one is there already, or
    the name is none. May raise OSError.
    """
    name = name or os.path.basename(os.path.abspath(folder))
    module = re.sub(r"[-_.]+", "_", name).lower()
    if package and not (re.fullmatch(r"[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*", name) and module.isidentifier()):
        raise InitError(f"'{name}' is no name for a package: expected letters, digits and hyphens; give one by --name")
    if package and keyword.iskeyword(module):
        raise InitError(f"'{name}' is no name for a package: Python has a keyword '{module}'; give another by --name")
    files = {**_files("project", name, module), **(_files("package", name, module) if package else {})}
    for unwanted in NOT_IN_A_PACKAGE if package else ():
        del files[unwanted]
    there = [path for path in files if os.path.lexists(os.path.join(folder, path))]
    if there:
        raise InitError(f"{folder}: there is {', '.join(there)} already, and nothing is replaced; name another folder")
    for path, text in files.items():
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
    return list(files)


def _files(kind: str, name: str, module: str) -> dict[str, str]:
    """Path → text, in the order of the paths."""
    words = {
        "@name@": name, "@module@": module, "@requirement@": source_requirement("build"), "@run@": source_requirement(),
    }  # fmt: skip
    found = {}
    top = os.path.join(SKELETON, kind)
    for at, _, names in os.walk(top):
        for file_name in names:
            path = os.path.relpath(os.path.join(at, file_name), top).replace(os.sep, "/").removesuffix(ENDING)
            if path.split("/")[0] in HIDDEN:
                path = f".{path}"
            with open(os.path.join(at, file_name), encoding="utf-8") as file:
                found[_filled(path, words)] = _filled(file.read(), words)
    return dict(sorted(found.items()))


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub("@(?:name|module|requirement|run)@", lambda found: words[found[0]], text)
