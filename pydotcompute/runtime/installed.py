"""The libraries of kernels that installed packages bring: entry points of the group `pydotcompute.kernels`.

`mylib = "mylib.kernels"` names a bundle's package, or what stands for one in a checkout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import KernelNotBuiltError
from .library import KernelLibrary, limited

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "pydotcompute.kernels"


class Installed(NamedTuple):
    """One that is there. `library` is None where it cannot be opened; `problem` then says why."""

    name: str
    distribution: str  # and its version
    library: KernelLibrary | None
    problem: str


def library(name: str, target: str | None = None, strict: bool = False) -> KernelLibrary:
    """The kernels that an installed package brings under this name: `pydotcompute.library("mylib")`.

    target, strict: as `load` has them. Raises KernelNotBuiltError: there is none of this name, two packages bring one,
    or it cannot be opened; and what `load` raises.
    """
    points = _points()
    found = [point for point in points if point.name == name]
    if not found:
        from difflib import get_close_matches

        names = [point.name for point in points]
        close = get_close_matches(name, names, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(names) or 'none'}"
        raise KernelNotBuiltError(f"no installed package brings a library of kernels called '{name}'; {hint}")
    if len(found) > 1:
        both = " and ".join(_distribution(point) for point in found)
        raise KernelNotBuiltError(f"{both} both bring a library of kernels called '{name}'; uninstall one of them")
    return limited(_open(found[0]), target, strict)


def installed() -> list[Installed]:
    """Every one, in the order of their names; none of them can fail the others."""
    listed = []
    for point in sorted(_points(), key=lambda point: point.name):
        try:
            listed.append(Installed(point.name, _distribution(point), _open(point), ""))
        except KernelNotBuiltError as error:
            listed.append(Installed(point.name, _distribution(point), None, str(error)))
    return listed


def _points() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    # A distribution may be found twice: by its metadata of this install, and by that of an earlier one.
    found = {(point.name, point.value, _distribution(point)): point for point in entry_points(group=GROUP)}
    return list(found.values())


def _open(point: EntryPoint) -> KernelLibrary:
    try:
        opened = point.load().__library__
    except KernelNotBuiltError:
        raise
    except Exception as error:  # somebody else's package: whatever its import raises
        raise KernelNotBuiltError(
            f"the library '{point.name}' of {_distribution(point)} cannot be opened: importing {point.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(opened, KernelLibrary):
        raise KernelNotBuiltError(f"the library '{point.name}' of {_distribution(point)}: {point.value} is no bundle")
    return opened


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
