"""Carry a plan out: run its jobs, write each object as it comes, remember its key; the manifest is not touched here."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from typing import Callable, Collection, Mapping

from ..artifact.identity import bind
from ..cache.layout import record_name
from ..cache.store import Store
from ..cache.writer import write_object
from ..targets.base import BOUNDS, Answer, Job, backend_of
from ..targets.registry import get
from .outcome import Outcome, Ran, Result
from .plan import Item, Name, Place, Plan
from .pool import Died, Finished, Started, Workers

Report = Callable[[Started | Result], None]


def execute(
    plan: Plan, outcome: Outcome, workers: Workers, *, refused: Collection[Name] = (),
    trees: Mapping[Place, bytes] = {}, keep_going: bool, linker: str, cache: str, rendered: str, store: Store,
    report: Report,
) -> None:  # fmt: skip
    """Make every stale artifact of the plan but those refused before; fills `outcome`. Raises OSError when the cache
    cannot be written."""

    def settle(result: Result) -> None:
        outcome.results.append(result)
        report(result)

    outcome.begun = True
    adopt(plan, outcome, settle)
    todo = []
    missing = {backend: get(backend).missing() for backend in {backend_of(item.target) for item in plan.stale}}
    for item in plan.stale:
        if item.found is not None or item.name in refused:
            continue
        if reason := missing[backend_of(item.target)]:  # of no kernel's making: the other backends go on
            outcome.failed[item.name] = reason
            settle(Result(item, "failed", reason))
        else:
            todo.append(item)
    waiting = {item.name: item for item in todo}
    pending: deque[Job] = deque(jobs_of(plan, todo, rendered, linker, trees))
    stopped = False
    began: dict[int, tuple[int, float]] = {}  # of each job that runs: its worker, when

    def fail(item: Item, reason: str, seconds: float = 0.0) -> None:
        nonlocal stopped
        outcome.failed[item.name] = reason
        settle(Result(item, "failed", reason, seconds))
        if not keep_going and not stopped:
            stopped = True
            pending.clear()

    for event in workers.run(pending):
        if isinstance(event, Started):
            began[id(event.task)] = event.worker, outcome.elapsed
            report(event)
            continue
        phases = event.answer.phases if isinstance(event, Finished) else {}
        failed = isinstance(event, Died) or bool(event.answer.failures)
        outcome.ran.append(_ran(event.task, *began.pop(id(event.task)), outcome.elapsed, phases, failed))
        if isinstance(event, Died):
            targets = event.task.targets
            if len(targets) > 1 and not stopped:
                # Find out which of them it was: each gets a job of its own, and a second chance.
                pending.extendleft(replace(event.task, targets=(target,)) for target in reversed(targets))
                continue
            for target in targets:
                fail(waiting.pop(_name(event.task, target)), event.reason)
        else:
            note_phases(outcome, event)
            for target in event.task.targets:
                item = waiting.pop(_name(event.task, target))
                failure = event.answer.failures.get(target) or event.answer.failures.get("")
                if failure is not None:
                    fail(item, failure)
                else:
                    settle(keep(item, event.answer, target, outcome, cache, store))
    for item in waiting.values():
        settle(Result(item, "skipped", item.reason))


def adopt(plan: Plan, outcome: Outcome, settle: Callable[[Result], None]) -> None:
    """Take what was made before under the very same key, and is still there."""
    for item in plan.stale:
        if item.found is not None:
            outcome.made[item.name] = {"entry": item.found["entry"], "aliases": item.found["aliases"]}
            settle(Result(item, "reused", item.reason, size=item.found["entry"]["size"]))


def jobs_of(
    plan: Plan, items: list[Item], rendered: str, linker: str, trees: Mapping[Place, bytes] = {}
) -> list[Job]:
    """One job for each specialisation and backend, as it is rendered, with or without checks of indices, for all its
    stale targets. trees: those that are made already."""
    groups: dict[tuple[str, str, str, bool, bool, bool], list[Item]] = {}
    for item in items:
        how = plan.rendered[item.place].avx512, item.target.endswith(BOUNDS), item.debug_info
        groups.setdefault((*item.place[:3], *how), []).append(item)
    return [
        Job(
            group[0].kernel, group[0].specialisation, plan.rendered[group[0].place],
            tuple(item.target for item in group), os.path.abspath(rendered), linker, group[0].debug_info,
            trees.get(group[0].place, b""),
        )
        for group in groups.values()
    ]  # fmt: skip


def keep(item: Item, answer: Answer, target: str, outcome: Outcome, cache: str, store: Store) -> Result:
    """Write the object, then its record; only then does it count as made."""
    artifact = answer.artifacts[target]
    data = bind(artifact.data, item.said(artifact.meta), get(backend_of(target)).comments.get(artifact.suffix, ""))
    name, size = write_object(cache, data, artifact.suffix), len(data)
    entry = {
        "object": name, "suffix": artifact.suffix, "size": size, "key": item.key, "stale": "", "meta": artifact.meta,
    }  # fmt: skip
    aliases = [list(pair) for pair in answer.aliases]
    store.set(record_name(item.key), {
        "fields": item.fields, "sources": item.sources, "entry": entry, "aliases": aliases,
        "seconds": artifact.seconds, "phases": answer.phases,
    })  # fmt: skip
    outcome.made[item.name] = {"entry": entry, "aliases": aliases}
    return Result(item, "built", item.reason, artifact.seconds, size, str(artifact.meta.get("note", "")))


def note_phases(outcome: Outcome, event: Finished) -> None:
    place = (event.task.kernel.name, str(event.task.specialisation))
    phases = outcome.phases.setdefault(place, {})
    for phase, seconds in event.answer.phases.items():
        phases[phase] = phases.get(phase, 0.0) + seconds


def _ran(job: Job, worker: int, start: float, end: float, phases: Mapping[str, float], failed: bool) -> Ran:
    rounded = {phase: round(seconds, 6) for phase, seconds in phases.items()}
    return Ran(
        job.kernel.name, str(job.specialisation), job.targets, worker, round(start, 6), round(end, 6), rounded, failed
    )


def _name(job: Job, target: str) -> Name:
    return (job.kernel.name, str(job.specialisation), target)
