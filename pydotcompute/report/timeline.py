"""The jobs of a build in time: which worker ran what, and the chain of jobs that decided when it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def timeline(found: Mapping[str, Any]) -> dict[str, Any]:
    """A build as builder/remembered.py keeps it, with a lane for each worker, and its critical path: back from the job
    that ended last, always the one whose end its worker waited for. Seconds count from when the build began."""
    jobs = sorted(found["jobs"], key=lambda job: (job["start"], job["end"]))
    lanes = {worker: k for k, worker in enumerate(dict.fromkeys(job["worker"] for job in jobs))}
    chain: list[int] = []
    at: int | None = max(range(len(jobs)), key=lambda k: jobs[k]["end"], default=None)
    while at is not None:
        chain.append(at)
        before = [
            k for k in range(at) if jobs[k]["worker"] == jobs[at]["worker"] and jobs[k]["end"] <= jobs[at]["start"]
        ]
        at = max(before, key=lambda k: jobs[k]["end"], default=None)
    chain.reverse()
    return {
        "at": found["at"], "seconds": found["seconds"], "lanes": len(lanes), "critical": chain,
        "jobs": [
            {**{part: job[part] for part in ("kernel", "specialization", "targets", "start", "end", "failed")},
             "lane": lanes[job["worker"]], "phases": _phases(job)}
            for job in jobs
        ],
    }  # fmt: skip


def _phases(job: Mapping[str, Any]) -> dict[str, float]:
    """Its seconds by phase, with those before its compiler had it."""
    rest = job["end"] - job["start"] - sum(job["phases"].values())
    return {"start of the worker": rest, **job["phases"]} if rest > 0.05 else dict(job["phases"])
