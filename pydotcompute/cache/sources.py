"""Whether a project's sources are those that were built last: digests beside its cache, for editable installs.

Finer questions, such as what a change reaches, are the build's: here a comment counts as well.
"""

from __future__ import annotations

import json
import os

from .files import read_file, sha256
from .layout import PROJECT_CACHE
from .writer import make_way, replace_file

SOURCES = "sources.json"  # in the cache's folder
DECLARED = ("kernels.yaml", "templates")
UNKNOWN = "?"  # in the place of a digest: other than every one


def digests(project: str) -> dict[str, str]:
    """Path of a source, relative to the project → its digest; empty where it cannot be read."""
    paths = []
    for name in DECLARED:
        if os.path.isfile(os.path.join(project, name)):
            paths.append(name)
        top, seen = os.path.join(project, name), set()
        for at, folders, names in os.walk(top, followlinks=True):  # includes are found behind links as well
            if (real := os.path.realpath(at)) in seen:
                folders.clear()  # a link to a folder above it, or a second one to the same
            seen.add(real)
            folders[:] = [folder for folder in folders if folder != "__pycache__"]
            paths += [os.path.relpath(os.path.join(at, each), project).replace(os.sep, "/") for each in names]
    found = {}
    for path in sorted(paths):
        try:
            found[path] = sha256(read_file(os.path.join(project, path)))
        except OSError:
            found[path] = ""  # who needs what is in it says what is wrong
    return found


def record(project: str, found: dict[str, str]) -> None:
    """Say that everything is built from these. Written only if it says something else; may raise OSError. Only under
    the lock."""
    if recorded(project) != found:
        text = json.dumps(found, indent=1, sort_keys=True)
        replace_file(make_way(os.path.join(project, *PROJECT_CACHE), SOURCES), text.encode(), sync=False)


def doubt(project: str, found: dict[str, str]) -> None:
    """Say, before something is built from these, that it is not known of those that changed what is built from them:
    a build that fails, or is of some kernels alone, leaves it so. May raise OSError. Only under the lock."""
    before = recorded(project) or {}
    paths = {*before, *found}
    record(project, {path: found[path] if before.get(path) == found.get(path) else UNKNOWN for path in paths})


def recorded(project: str) -> dict[str, str] | None:
    """What was said last; None where nothing was, or it cannot be read."""
    try:
        found = json.loads(read_file(os.path.join(project, *PROJECT_CACHE, SOURCES)))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def changed(project: str) -> list[str]:
    """The sources that are not as they were when everything was built last, new and missing ones among them; none
    where that was never said."""
    before = recorded(project)
    if before is None:
        return []
    now = digests(project)
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
