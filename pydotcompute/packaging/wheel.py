"""What a wheel with kernels needs: its bundle built, its tag, what it requires. The build hooks are faces of this."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, NamedTuple

from ..artifact.remedies import ourselves
from ..builder.build import BuildError, Project, Request, build
from ..builder.bundle import BundleError
from ..builder.plan import Plan
from ..builder.refusals import missing_tools
from ..builder.settings import SettingError, Value, resolve
from ..cache.inspection import rows
from ..cache.layout import READ_SINCE, VERSION
from ..cache.sources import DECLARED
from ..errors import CompilerNotInstalledError, DeclarationError
from ..targets.registry import get
from .package import manifest_of, write_checkout, write_package

MISTAKES = (SettingError, DeclarationError, BuildError, BundleError, CompilerNotInstalledError)  # of their author
MOST_ROWS = 10  # of the table of what is large
Say = Callable[[str], None]


class Made(NamedTuple):
    """A bundle that is built, and what follows from it for the wheel it goes into."""

    bundle: str  # its folder, relative to that of pyproject.toml, with forward slashes
    platform: str  # of the wheel's tag: "any" or "manylinux_2_17_x86_64"
    requirement: str  # the distribution that brings the run half, and the least version that reads the bundle

    @property
    def tag(self) -> str:
        return f"py3-none-{self.platform}"


def make_bundle(root: str, say: Say = lambda line: None, settings: Mapping[str, Any] | None = None) -> Made:
    """Build what [tool.pydotcompute] of the pyproject.toml in `root` says, and write its bundle.

    settings: values that win over the file's. Whatever cannot be made ends it: a wheel with a hole would be found out
    by its users. Raises SettingError, DeclarationError, BuildError, BundleError, CompilerNotInstalledError.
    """
    values, project = _open(root, say, settings)
    request = Request(
        None, tuple(values["targets"].value), jobs=values["jobs"].value, linker=values["linker"].value,
        debug_info=values["debug_info"].value, cache_size=values["cache_size"].value,
    )  # fmt: skip
    plan = project.plan(request)
    if lacking := missing_tools(plan):
        raise BuildError("\n".join(lacking))
    if not plan.failures and (idle := set(plan.targets) - {item.target for item in plan.wanted}):
        listed = ", ".join(sorted(idle))
        raise BuildError(f"{project.declaration.path}: no kernel has artifacts for {listed}; leave it out")
    plan, outcome = build(project, request, lambda event: None)
    wrong = [*plan.refused.values(), *plan.failures.values(), *outcome.failed.values()]
    if wrong:
        raise BuildError("\n".join(dict.fromkeys(map(str, wrong))))
    _hold_to_budget(project, plan, values["size_budget"].value)
    folder = values["bundle"].value
    references = bool(values["fallback"].value)
    number, size = write_package(project, plan, os.path.join(root, folder), references)
    say(f"{folder}: {number} artifacts, {size / 1e6:.1f} MB")
    return Made(folder, _platform(values), requirement())


def make_checkout(root: str, settings: Mapping[str, Any] | None = None) -> Made:
    """For an editable install: nothing is built; in the bundle's place is a package that opens the project's build/.

    Raises as make_bundle.
    """
    values = _settings(root, settings)
    folder = values["bundle"].value
    project = os.path.join(root, values["project"].value)
    write_checkout(os.path.join(root, folder), project, values["auto_build"].value)
    return Made(folder, "any", requirement())


def platform(root: str, settings: Mapping[str, Any] | None = None) -> str:
    """Of the wheel's tag, before anything is built. Raises SettingError, DeclarationError."""
    return _platform(_open(root, lambda line: None, settings)[0])


def bundle(root: str) -> str:
    """The folder of the bundle, relative to `root`, with forward slashes. Raises SettingError."""
    found: str = _settings(root, None)["bundle"].value
    return found


def sources(root: str) -> list[str]:
    """What an sdist has to hold, so that a wheel can be made from it: relative to `root`, with forward slashes."""
    project = _settings(root, None)["project"].value
    paths = (os.path.normpath(os.path.join(project, name)) for name in DECLARED)
    return [path.replace(os.sep, "/") for path in paths]


def requirement() -> str:
    """The distribution that brings the run half, whatever it is called, in a version that reads what is written now."""
    found = ourselves()
    return f"{found.metadata['Name']}>={READ_SINCE[VERSION]}" if found else ""


def _settings(root: str, settings: Mapping[str, Any] | None) -> dict[str, Value]:
    values = resolve(root, settings)
    if not values["bundle"].value:
        raise SettingError(
            f"{os.path.join(root, 'pyproject.toml')}: [tool.pydotcompute] does not say where the kernels go: write "
            'bundle = "src/mylib/kernels", a folder that becomes a package'
        )
    return values


def _open(root: str, say: Say, settings: Mapping[str, Any] | None) -> tuple[dict[str, Value], Project]:
    values = _settings(root, settings)
    project = Project(os.path.join(root, values["project"].value), say)
    if values["targets"].origin == "default":
        values["targets"] = Value(list(project.declaration.targets), "kernels.yaml")
    return values, project


def _platform(values: Mapping[str, Value]) -> str:
    found = {platform for target in values["targets"].value for platform in get(target).platforms(target)}
    return values["platform"].value or ".".join(sorted(found)) or "any"


def _hold_to_budget(project: Project, plan: Plan, budget: int) -> None:
    manifest = manifest_of(project)
    wanted = {item.name for item in plan.wanted}
    found = [row for row in rows(manifest) if row[:3] in wanted]
    total = sum({row.object: row.size for row in found}.values())
    if not budget or total <= budget:
        return
    largest = sorted(found, key=lambda row: (-row.size, row[:3]))[:MOST_ROWS]
    lines = [f"  {row.size:>9} {row.kernel} {row.specialization} {row.target}" for row in largest]
    raise BuildError(
        f"the kernels have {total} bytes of machine code, {total - budget} more than size_budget allows; the largest:\n"
        + "\n".join(lines)
    )
