"""What a build leaves for later ones to know: records of keys, how long artifacts took, what was a hit, its jobs."""

from __future__ import annotations

import contextlib
from collections import Counter
from time import time
from typing import TYPE_CHECKING, Any, Mapping

from ..cache import builds
from ..cache.keys import record_of
from ..cache.layout import record_name
from .outcome import Outcome
from .plan import Plan

if TYPE_CHECKING:  # a build with nothing to do does not open the store
    from ..cache.store import Store

TIMELINE = "timeline"  # in the store: of the last build that compiled something


def remember(plan: Plan, store: Store) -> dict[str, float]:
    """Write the records of current artifacts again where the store has lost them; returns key → seconds of those whose
    making was timed."""
    seconds = {}
    for item in plan.items:
        if item.reasons:
            continue
        if record := record_of(store.get(record_name(item.key))):
            seconds[item.key] = record["seconds"]
            continue
        specialisation = plan.manifest["kernels"][item.kernel.name]["specializations"][str(item.specialisation)]
        store.set(record_name(item.key), {
            "fields": item.fields, "sources": item.sources, "entry": specialisation["artifacts"][item.target],
            "aliases": specialisation["aliases"], "seconds": None, "phases": {},
        })  # fmt: skip
    return {key: took for key, took in seconds.items() if took is not None}


def keep_times(folder: str, plan: Plan, outcome: Outcome, before: Mapping[str, float], store: Store) -> None:
    """Keep how long each artifact took, and the jobs of this build. before: as `remember` found it."""
    seconds = dict(before)
    for result in outcome.results:
        if result.status == "built":
            seconds[result.item.key] = result.seconds
        elif result.status == "reused" and result.item.found is not None:
            took = result.item.found["seconds"]
            seconds |= {} if took is None else {result.item.key: took}
    with contextlib.suppress(OSError):
        builds.keep_seconds(folder, {key: round(took, 6) for key, took in seconds.items()})
    if outcome.ran:
        store.set(TIMELINE, {
            "at": round(time(), 3), "seconds": round(outcome.elapsed, 6),
            "jobs": [ran._asdict() for ran in outcome.ran],
        })  # fmt: skip


def note(folder: str, plan: Plan, outcome: Outcome) -> None:
    """Add to the log what was current, and why the rest was made."""
    seconds = builds.kept_seconds(folder)
    hits = [item.key for item in plan.wanted if not item.reasons]
    misses: Counter[str] = Counter()
    for result in outcome.results:
        if result.status == "reused":
            hits.append(result.item.key)
        elif result.status in ("built", "failed"):
            misses[result.item.reasons[0].cause] += 1
    saved = sum(seconds.get(key, 0.0) for key in hits)
    builds.note(folder, builds.Builds(round(time(), 3), 1, len(hits), round(saved, 6), dict(misses)))


def timeline(store: Store | None) -> dict[str, Any] | None:
    """What `keep_times` kept of the last build; None where nothing is, or it is not what a build writes."""
    found: Any = None if store is None else store.get(TIMELINE)
    parts = {"kernel": str, "specialization": str, "targets": list, "worker": int, "start": float, "end": float,
             "phases": dict, "failed": bool}  # fmt: skip
    try:
        right = all(isinstance(job[part], kind) for job in found["jobs"] for part, kind in parts.items())
        return found if right and isinstance(found["seconds"], float) and isinstance(found["at"], float) else None
    except (KeyError, TypeError):
        return None
