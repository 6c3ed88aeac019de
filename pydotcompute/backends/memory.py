"""How much memory the host gives this process."""

from __future__ import annotations

import os

from ..runtime.settings import cgroup_values


def host_memory(
    meminfo: str = "/proc/meminfo", cgroups: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup"
) -> tuple[int, int]:
    """(free, total) in bytes: available memory of the machine, within the limits of every cgroup above us."""
    free, total = _machine(meminfo)
    limits = cgroup_values("memory.max", cgroups, membership)
    used = cgroup_values("memory.current", cgroups, membership)
    inactive = [_inactive(text) for text in cgroup_values("memory.stat", cgroups, membership)]
    for k, limit in enumerate(limits):
        if not limit.isdigit():  # "max"
            continue
        total = min(total, int(limit))
        if k < len(used) and used[k].isdigit():
            reclaimable = inactive[k] if k < len(inactive) else 0
            free = min(free, max(0, int(limit) - int(used[k]) + reclaimable))
    return min(free, total), total


def _machine(meminfo: str) -> tuple[int, int]:
    values: dict[str, int] = {}
    try:
        with open(meminfo) as file:
            for line in file:
                name, _, rest = line.partition(":")
                if rest.strip().split(" ")[0].isdigit():
                    values[name] = 1024 * int(rest.split()[0])
    except OSError:
        pass
    page = os.sysconf("SC_PAGE_SIZE")
    total = values.get("MemTotal") or page * os.sysconf("SC_PHYS_PAGES")
    return values.get("MemAvailable", page * os.sysconf("SC_AVPHYS_PAGES")), total


def _inactive(stat: str) -> int:
    """File pages that the kernel drops when memory is asked for: counted as used, free in effect."""
    for line in stat.splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdigit():
            return int(value)
    return 0
