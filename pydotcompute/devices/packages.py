"""Backends that installed packages bring: entry points of the group `pydotcompute.backends`."""

from __future__ import annotations

from importlib.metadata import Distribution, EntryPoint, distribution, distributions
from typing import Any, Callable, Iterator, NamedTuple

GROUP = "pydotcompute.backends"
FILE = "entry_points.txt"


class Brought(NamedTuple):
    """One backend of a package; or a package whose file is broken, with the `problem`."""

    name: str
    origin: str
    factory: Callable[[], Any] | None
    problem: str = ""


def brought() -> Iterator[Brought]:
    """All of them. importlib.metadata.entry_points would do, but gives none where one package's file is broken."""
    seen: set[str] = set()
    for package in distributions():
        try:
            text = package.read_text(FILE) or ""
            if GROUP not in text or package.name in seen:
                continue
            seen.add(package.name)
            if distribution(package.name).read_text(FILE) != text:
                continue  # another copy of the package comes first on the path
            points = package.entry_points.select(group=GROUP)
        except Exception as error:
            why = f"its {FILE} cannot be read ({type(error).__name__}: {error}); lines there are: name = module:factory"
            yield Brought(_name(package), "package", None, why)
        else:
            yield from (Brought(point.name, f"from {package.name}", _loader(point)) for point in points)


def _loader(point: EntryPoint) -> Callable[[], Any]:
    return lambda: point.load()()


def _name(package: Distribution) -> str:
    try:
        return package.name or "?"
    except Exception:  # that file is broken too
        return "?"
