"""One specialisation on its way to shared objects; each step is done when it is first asked for, and once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from ...analysis.inside import unproved
from ...artifact.cpu_levels import SUFFIXES, platform_of
from ...errors import CompilationError, CompilerNotInstalledError, Position
from ...ir.tree import KernelTree
from ..base import BOUNDS, Answer, Artifact, Clock, Inspection, Job, checked_tree
from ..listing import Listing, Places, Remark, of_text
from ..machine_code import Costs, loops
from .compiler import kernel_ir, objects
from .entry import entry_ir
from .instructions import decode
from .interruptions import may_take_long
from .listing import assembly, llvm_ir
from .lowering import CpuSource, lower
from .processors import host_cpu, triple
from .remarks import remarks
from .symbols import named
from .throughput import PROCESSORS, throughput

# The text of entry points by all that decides about it: many kernels have one signature. So many at most.
_ENTRIES: dict[str, str] = {}
_MOST_ENTRIES = 256


class Lowered(NamedTuple):
    tree: KernelTree
    source: CpuSource
    path: str  # of the file that the source was written to


class Compilation(Inspection):
    def __init__(self, job: Job, clock: Clock):
        self.job, self.clock = job, clock

    @cached_property
    def lowered(self) -> Lowered:
        job = self.job
        job.write(".py", job.rendered.text)
        tree = checked_tree(job)
        self.clock.tick("front end")
        source = lower(tree, job.targets[0].endswith(BOUNDS))
        path = job.write(".cpu.py", source.text)
        self.clock.tick("lower")
        return Lowered(tree, source, path)

    @cached_property
    def tree(self) -> KernelTree:
        return self.lowered.tree

    @cached_property
    def text(self) -> str:
        """The LLVM IR of which artifacts are made."""
        job, (_, source, path) = self.job, self.lowered
        if not job.debug_info:
            return kernel_ir(source, path)
        return named(kernel_ir(source, path, _called(source.positions, job.from_root)), job.kernel.name)

    @cached_property
    def lined(self) -> str:
        """The same, with the lines as `Places` knows them."""
        _, source, path = self.lowered
        return kernel_ir(source, path, _called(source.positions, Places.name))

    def answer(self) -> Answer:
        return self._answer

    @cached_property
    def _answer(self) -> Answer:
        (tree, source, _), text, job, clock = self.lowered, self.text, self.job, self.clock
        clock.tick("numba")
        signature: dict[str, Any] = dict(
            parameters=tree.parameters, symbols=tree.symbols, aliases=tree.aliases,
            declared=job.kernel.signature.parameters, types=tuple(job.kernel.types), requires=job.kernel.requires,
            params=dict(job.specialisation.params),
            vendor=job.kernel.vendor.get("when", True) if job.kernel.vendor else None, checks=source.faults.any,
            takes_long=may_take_long(tree), tuned=bool(job.kernel.tune),
        )  # fmt: skip
        entries = {}
        for platform in {platform_of(target) for target in job.targets}:
            key = repr((platform, signature))
            if key not in _ENTRIES:
                if len(_ENTRIES) >= _MOST_ENTRIES:
                    _ENTRIES.clear()
                _ENTRIES[key] = entry_ir(**signature, platform=platform)
            entries[platform] = _ENTRIES[key]
        artifacts, failures = {}, {}
        started = perf_counter()
        made_of = objects(job.kernel.name, text, job.targets, entries, job.linker, job.debug_info, clock.tick)
        for target, made in made_of:
            seconds, started = perf_counter() - started, perf_counter()
            if isinstance(made, CompilationError):
                failures[target] = str(made)
                continue
            meta: dict[str, Any] = {"triple": triple(target)}
            if target.removesuffix(BOUNDS) == "cpu:native":
                meta["features"] = list(host_cpu()[1])
            if job.debug_info:
                meta["debug_info"] = True
            if source.faults.any:
                meta |= source.faults.told()
            else:  # there may be some that the declaration wants to be trusted
                meta["unchecked"] = len(unproved(tree))
            artifacts[target] = Artifact(made, SUFFIXES[platform_of(target)], meta, seconds)
        return Answer(artifacts, failures, tuple(sorted(tree.aliases)), clock.phases)

    def listing(self, stage: str) -> Listing:
        if stage == "lowered":
            return of_text(self.lowered.source.text, self.lowered.source.positions)
        (target,), name, places = self.job.targets, self.tree.name, self._places
        if stage == "llvm":
            return llvm_ir(self.lined, target, name, places)
        return assembly(self.text, self.lined, target, name, places)

    def remarks(self) -> tuple[Remark, ...]:
        return remarks(self.lined, self.job.targets[0], self.tree, self._places)

    def costs(self) -> Costs:
        (target,) = self.job.targets
        if not triple(target).startswith("x86_64"):
            return Costs(notes=("of CPUs, the instructions of x86-64 alone are counted",))
        listing = assembly(self.text, self.lined, target, self.tree.name, self._places, exact=True)
        found = [loop for loop in loops(listing.lines, decode, self.tree) if loop.head is not None]
        notes = []
        level = target.partition(":")[2].removesuffix(BOUNDS)
        processor = PROCESSORS[level] if level in PROCESSORS else host_cpu()[0]
        for loop in found:
            try:
                loop.throughput = throughput(loop.lines, processor)
            except (CompilerNotInstalledError, CompilationError) as error:
                notes.append(str(error))
        return Costs(tuple(found), (), tuple(dict.fromkeys(notes)))

    @property
    def _places(self) -> Places:
        return Places(self.lowered.source.positions)


def _called(positions: Sequence[Position | None], name: Callable[[str], str]) -> list[Position | None]:
    """Positions in files that are called otherwise."""
    return [at and at._replace(path=name(at.path)) for at in positions]
