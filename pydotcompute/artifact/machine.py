"""What this process may use of the machine: processors, and the limits of its cgroups; and what it does at forks."""

from __future__ import annotations

import os
from typing import Callable


def processors() -> int:
    """The processors of this process's affinity, no more than its cgroup's quota gives (rounded up)."""
    try:
        count = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        count = os.cpu_count() or 1
    quota = cgroup_quota()
    return max(1, count if quota is None else min(count, quota))


def at_fork(**hooks: Callable[[], object]) -> None:
    """`os.register_at_fork`, where processes fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)


def cgroup_quota(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> int | None:
    """Processors that the tightest cgroup above this process grants, rounded up; None without a limit."""
    smallest: float | None = None
    for text in cgroup_values("cpu.max", root, membership):
        quota, _, period = text.partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            share = int(quota) / int(period)
            smallest = share if smallest is None else min(smallest, share)
    return None if smallest is None else max(1, int(-(-smallest // 1)))


def cgroup_values(name: str, root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> list[str]:
    """The content of this control file (version 2) in the cgroup of this process and in each one above it."""
    try:
        with open(membership, "rb", buffering=0) as file:
            lines = file.read().decode().splitlines()
    except OSError:
        return []
    path = next((line[3:] for line in lines if line.startswith("0::")), "/").strip("/")
    found = []
    while True:
        try:
            with open(f"{root}/{path}/{name}" if path else f"{root}/{name}", "rb", buffering=0) as file:
                found.append(file.read().decode().strip())
        except OSError:
            pass
        if not path:
            return found
        path = path.rpartition("/")[0]
