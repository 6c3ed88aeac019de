"""One build from the declaration to the manifest: plan, take the lock, plan again, execute, write the manifest last."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from ..artifact.remedies import install
from ..cache import sources, trust
from ..cache.keys import record_of
from ..cache.layout import KEYS, MANIFEST, PROJECT_CACHE, PROJECT_RENDERED, USED, record_name
from ..cache.lock import locked
from ..cache.pruning import is_above, keep_to
from ..cache.seen import Seen
from ..cache.writer import (
    close_to_others,
    drop_damaged,
    drop_records,
    explain_os_error,
    make_folders,
    read_manifest,
    sweep,
    write_manifest,
)
from ..declare.model import Declaration, Kernel, Rendered, Specialisation
from ..errors import CompilerNotInstalledError
from .code import versions
from .outcome import Outcome, Result
from .plan import Plan, make_plan
from .remembered import note
from .settings import Value, resolve
from .settle import settle

Manifest = dict[str, Any]


class BuildError(Exception):
    """The build as a whole cannot go on; the message is one line that says why and what to do."""


@dataclass(frozen=True)
class Request:
    """What is asked for. `targets` empty: the declaration's."""

    kernels: tuple[str, ...] | None = None
    targets: tuple[str, ...] = ()
    bounds: bool = False
    jobs: int = 1
    keep_going: bool = False
    linker: str = ""  # empty: LLD of the ziglang wheel
    debug_info: bool | None = None  # None: as what is there
    cache_size: int = 0  # bytes of objects, beyond which those go that nothing uses; 0: all stay


class Project:
    """A declaration in its folder, and its cache: what every command that plans or builds looks at."""

    def __init__(
        self,
        root: str,
        say: Callable[[str], None],
        tools: Callable[[str, str], Mapping[str, str]] = versions,
        keep_going: bool = False,
    ):
        """Raises DeclarationError for a mistake in kernels.yaml, CompilerNotInstalledError without the build half;
        keep_going: see declare.load."""
        from ..declare import load
        from ..targets.registry import checked

        self.root, self.say, self.tools = root, say, tools
        self.sources = sources.digests(root)  # before they are read: what changes meanwhile is not what was built
        self.cache = os.path.join(root, *PROJECT_CACHE)
        self.rendered_folder = os.path.join(root, *PROJECT_RENDERED)
        try:
            self.declaration: Declaration = checked(load(root, keep_going), keep_going)
        except ModuleNotFoundError as error:
            package = {"yaml": "pyyaml"}.get(error.name or "", error.name or "")
            raise CompilerNotInstalledError(f"building needs {package}: {install('build', package)}") from error
        self.targets = self.declaration.targets  # that anything here is for
        self._rendered: dict[tuple[str, str, str, bool], Rendered] = {}
        self._store: Any = None
        self.objects = Seen(self.cache)
        self._planned: Any = None

    def settings(self, flags: Mapping[str, Any], called: str = "") -> dict[str, Value]:
        return resolve(self.root, flags, lambda: list(self.declaration.targets), called=called)

    def plan(self, request: Request) -> Plan:
        """Compare with the cache as it is now; writes nothing."""
        self._planned = self._state()
        manifest, problem = read_manifest(self.cache)
        if problem:
            self.say(f"{problem}; it is made anew")
        self.targets = tuple(dict.fromkeys((*self.declaration.targets, *request.targets)))
        return make_plan(
            self.declaration, self.render, self.objects.fault, manifest, kernels=request.kernels,
            targets=request.targets, bounds=request.bounds, debug_info=request.debug_info, history=self.history,
            tools=lambda backend: self.tools(backend, request.linker),
        )  # fmt: skip

    def _state(self) -> tuple[int, ...] | None:
        """Of the manifest: who writes another one puts another file in its place."""
        try:
            status = os.stat(os.path.join(self.cache, MANIFEST))
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size

    @property
    def is_as_planned(self) -> bool:
        """Whether nobody has written the manifest since the last plan was made."""
        return self._planned == self._state()

    def render(self, kernel: Kernel, specialisation: Specialisation, backend: str, avx512: bool = False) -> Rendered:
        """As declare.render, once for each in a build: the plan made under the lock is for the same sources."""
        from ..declare import asks_for_avx512, render
        from ..targets.registry import raw_modules

        place = (kernel.name, str(specialisation), backend, avx512)
        if place not in self._rendered:
            other = self._rendered.get((*place[:3], not avx512))
            if other is None or asks_for_avx512(kernel, other):
                other = render(kernel, specialisation, backend, self.root, raw_modules(self.targets), avx512)
            self._rendered[place] = other
        return self._rendered[place]

    def history(self, key: str) -> dict[str, Any] | None:
        """What the store remembers of an artifact with this key."""
        store = self.store(create=False)
        return None if store is None else record_of(store.get(record_name(key)))

    def store(self, create: bool) -> Any:
        """The store of keys and timings, opened when it is first needed: most builds find nothing to do."""
        folder = os.path.join(self.cache, KEYS)
        if self._store is None and (create or os.path.isdir(folder)):
            from ..cache.store import open_store

            # Only reading, a store that cannot be read is one that remembers nothing.
            self._store = open_store(folder, self.say if create else lambda line: None, start_anew=create)
        return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


def is_current(plan: Plan) -> bool:
    """Whether there is nothing to build and the manifest already says what a build would make it say."""
    correct = not plan.failures and not plan.refused
    return correct and not plan.stale and settle(plan, {}, {}) == plan.manifest


def is_settled(project: Project, plan: Plan) -> bool:
    """Whether a build has nothing to write at all. Without the store, which nobody but builds reads, it writes that."""
    return os.path.exists(os.path.join(project.cache, KEYS, "cache.db")) and is_current(plan)


def build(project: Project, request: Request, report: Callable[[Any], None]) -> tuple[Plan, Outcome]:
    """Bring the cache up to date with the request; `report` is called with the plan that is carried out, then with
    each pool.Started and outcome.Result as it happens.

    Failures of kernels are in the outcome and the plan. Raises BuildError where the cache cannot be written, and
    passes KeyboardInterrupt on after what was finished has been recorded. Raises UntrustedCacheError for one that is
    another user's: what is current there would be taken over.
    """
    outcome = Outcome()
    try:
        if who := close_to_others(project.cache):
            project.say(
                f"{project.cache}: {who}; now only you may. If they may have: pydotcompute cache clear, then build"
            )
        trust.require_folder(project.cache, project.root)
        plan = project.plan(request)
        if not is_settled(project, plan):
            _tell_of_untuned(project, plan)
            make_folders(project.cache)
            with locked(project.cache, project.say):
                plan = _build_locked(project, request, plan, outcome, report)
                if _is_all_current(plan, outcome):
                    sources.record(project.root, project.sources)
        elif _is_all_current(plan, outcome):
            _record(project)
        if request.cache_size and is_above(project.cache, request.cache_size):
            _limit(project, request.cache_size)
        note(project.cache, plan, outcome)
        with contextlib.suppress(OSError):  # a cache that may only be read
            project.objects.save()
    except OSError as error:
        raise BuildError(explain_os_error(error, project.cache)) from error
    return plan, outcome


def _tell_of_untuned(project: Project, plan: Plan) -> None:
    """Of kernels of this build that list params under `tune`, and of which nothing was measured."""
    asked = [kernel for kernel in project.declaration.kernels.values() if kernel.name in plan.asked]
    if names := [kernel.name for kernel in asked if kernel.tune and not kernel.tuned]:
        few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        project.say(
            f"nothing was measured for what {few} may tune, so the first declared values serve; "
            f"pydotcompute bench --subject declared --tune -C {project.root} finds the fastest"
        )


def _is_all_current(plan: Plan, outcome: Outcome) -> bool:
    """Whether everything in the cache, asked for or not, is what the sources say."""
    old = [item for item in plan.items if item.reasons and item.name not in outcome.made]
    return not (old or plan.failures or plan.refused)


def _record(project: Project) -> None:
    """Say that all is built from the sources as they are, where it was found so without the lock and is still so."""
    if sources.recorded(project.root) == project.sources:
        return
    with locked(project.cache, project.say):
        if project.is_as_planned:  # else who wrote the manifest has said what it is made of
            sources.record(project.root, project.sources)


def _build_locked(
    project: Project, request: Request, plan: Plan, outcome: Outcome, report: Callable[[Any], None]
) -> Plan:
    if not project.is_as_planned:  # another builder was here in the meantime
        plan = project.plan(request)
        if is_settled(project, plan):
            return plan
    from .execute import execute
    from .pool import Workers
    from .refusals import read
    from .remembered import keep_times, remember
    from .rendered import remove_others

    sweep(project.cache)
    drop_records(project.cache)
    project.close()  # opened for reading alone; from here on a damaged one is started anew
    store = project.store(create=True)
    with contextlib.suppress(OSError):  # without it uses are not known
        make_folders(os.path.join(project.cache, USED))
    seconds = remember(plan, store)
    on_disk = plan.manifest
    report(plan)
    sources.doubt(project.root, project.sources)
    try:
        if plan.stale and plan.manifest["kernels"]:
            # Whoever loads while this runs, or after it was killed, hears what is out of date.
            on_disk = _write(project, on_disk, settle(plan, {}, {}))
        with Workers(request.jobs, project.cache) as workers:
            refused, trees = read(plan, workers, report)
            for item in plan.stale:
                if item.name in refused:
                    outcome.failed[item.name] = refused[item.name]
                    outcome.results.append(Result(item, "failed", refused[item.name]))
                    report(outcome.results[-1])
            if request.keep_going or not (plan.failures or plan.refused or refused):
                execute(
                    plan, outcome, workers, refused=refused, trees=trees, keep_going=request.keep_going,
                    linker=request.linker, cache=project.cache, rendered=project.rendered_folder, store=store,
                    report=report,
                )  # fmt: skip
    finally:
        written = _write(project, on_disk, settle(plan, outcome.made, outcome.failed))
        drop_damaged(project.cache, plan.manifest, written)
        keep_times(project.cache, plan, outcome, seconds, store)
        project.close()
    remove_others(project.rendered_folder, project.declaration)
    return plan


def _limit(project: Project, most: int) -> None:
    """Respect the setting for the size of the cache, as far as that takes nothing from anybody."""
    try:
        with locked(project.cache, project.say):
            manifest, problem = read_manifest(project.cache)
            left = 0 if problem else keep_to(project.cache, manifest, most).left  # a problem is the next build's
    except OSError as error:  # a cache that may only be read serves as it is
        project.say(f"{project.cache}: larger than cache_size says, and it stays so: {error.strerror}")
        return
    if left > most:
        sizes = f"{left:,} bytes, more than the {most:,} of cache_size"
        project.say(f"{project.cache}: the objects that are in use have {sizes}")


def _write(project: Project, on_disk: Manifest, manifest: Manifest) -> Manifest:
    if manifest != on_disk or not os.path.exists(os.path.join(project.cache, MANIFEST)):
        write_manifest(project.cache, manifest)
    return manifest
