"""How much memory the host gives this process."""

from __future__ import annotations

import os

from ...artifact.cpu_levels import MACOS, WINDOWS, system
from ...artifact.machine import cgroup_values
from .features import sysctl

VERSION_2 = ("memory.max", "memory.current", "memory.stat")
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")


def host_memory(
    meminfo: str = "/proc/meminfo", cgroups: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup"
) -> tuple[int, int]:
    """(free, total) in bytes: available memory of the machine, within the limits of every cgroup above us, of version
    2 and of version 1."""
    free, total = _machine(meminfo)
    for names, values in ((VERSION_2, cgroup_values), (VERSION_1, _version_1_values)):
        free, total = _limited(free, total, *(values(name, cgroups, membership) for name in names))
    return min(free, total), total


def _limited(free: int, total: int, limits: list[str], used: list[str], stats: list[str]) -> tuple[int, int]:
    """Both within the limits of one version, whose control files are given from our cgroup upwards."""
    inactive = [_inactive(text) for text in stats]
    for k, limit in enumerate(limits):
        if not limit.isdigit():  # "max"
            continue
        total = min(total, int(limit))  # without a limit version 1 has one beyond every machine
        if k < len(used) and used[k].isdigit():
            reclaimable = inactive[k] if k < len(inactive) else 0
            free = min(free, max(0, int(limit) - int(used[k]) + reclaimable))
    return free, total


def _version_1_values(name: str, cgroups: str, membership: str) -> list[str]:
    """The content of a control file of version 1's memory controller, in our cgroup and in each one above it."""
    try:
        with open(membership) as file:
            paths = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    path = next((p for _, controllers, p in paths if "memory" in controllers.split(",")), None)
    if path is None:
        return []
    found, path = [], path.strip("/")
    while True:
        try:
            with open(os.path.join(cgroups, "memory", path, name)) as file:
                found.append(file.read().strip())
        except OSError:  # in a container the path is the host's: its own limits are at the root
            pass
        if not path:
            return found
        path = path.rpartition("/")[0]


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
    if not values and system() == WINDOWS:
        return _windows()
    page = os.sysconf("SC_PAGE_SIZE")
    total = values.get("MemTotal") or page * os.sysconf("SC_PHYS_PAGES")
    if not values and system() == MACOS:
        return page * int.from_bytes(sysctl("vm.page_free_count"), "little"), total
    return values.get("MemAvailable", page * os.sysconf("SC_AVPHYS_PAGES")), total


def _windows() -> tuple[int, int]:
    import ctypes

    status = (ctypes.c_uint64 * 8)(64)  # MEMORYSTATUSEX, whose first word has its size: total and free memory are next
    ctypes.PyDLL("kernel32").GlobalMemoryStatusEx(status)
    return status[2], status[1]


def _inactive(stat: str) -> int:
    """File pages that the kernel drops when memory is asked for: counted as used, free in effect."""
    for line in stat.splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file") and value.isdigit():
            return int(value)
    return 0
