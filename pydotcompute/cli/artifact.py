"""One artifact that a command looks at: found in a project's plan, or as it was built, and opened."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..artifact.remedies import build_again
from ..errors import KernelNotBuiltError
from ..targets.temporary import temporary_folder
from .arguments import check_names
from .cache_files import open_cache, remembered
from .terminal import say

if TYPE_CHECKING:
    from ..builder.compare import Built
    from ..builder.show import Shown


def opened(
    root: str, kernel: str, specialization: str | None, target: str | None, stack: ExitStack, bounds: bool = False
) -> Shown:
    """What is left out is the first that is declared. stack: closes what it opens."""
    from ..builder.build import Project, Request
    from ..builder.show import shown
    from . import UsageError

    project = Project(root, say)
    stack.callback(project.close)
    settings = project.settings({"targets": target and [target]})
    check_names([kernel], project.declaration.kernels, "kernel", project.declaration.path)
    linker = settings["linker"].value
    plan = project.plan(Request((kernel,), tuple(settings["targets"].value), bounds, linker=linker))
    for error in plan.failures.values():
        raise error
    labels = [str(s) for s in plan.declaration.kernels[kernel].specialisations]
    label = specialization or labels[0]
    check_names([label], labels, "specialization", kernel)
    items = [item for item in plan.wanted if item.name[1] == label]
    if not items:
        raise UsageError(f"{kernel} {label} cannot be had for {', '.join(plan.targets)}")
    return shown(plan, items[0], stack.enter_context(temporary_folder()), linker)


def built(root: str, kernel: str, specialization: str | None, target: str | None) -> Built:
    """What is left out is the first that there is; root: a project, its build/cache or a bundle. Raises
    KernelNotBuiltError."""
    from ..builder.compare import Built

    cache = open_cache(root)
    check_names([kernel], cache.kernels, "kernel", cache.folder)
    found = cache.records([kernel])
    if not found:
        remedy = build_again(cache.folder, cache.root, kernel)
        raise KernelNotBuiltError(f"{cache.folder} has no artifacts of the kernel '{kernel}'; {remedy}")
    where = f"{cache.folder} for {kernel}"
    if specialization is not None:
        check_names([specialization], dict.fromkeys(r.specialization for r in found), "specialization", where)
        found = [record for record in found if record.specialization == specialization]
    if target is not None:
        check_names([target], dict.fromkeys(record.target for record in found), "target", where)
        found = [record for record in found if record.target == target]
    record = found[0]
    told = remembered(cache.folder, [record.key]).get(record.key) or {}
    return Built(record, told.get("fields", {}), cache.read(*record[:3]))
