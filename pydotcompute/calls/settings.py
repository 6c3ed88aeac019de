"""The settings of a running program: PYDOTCOMPUTE_TARGET and PYDOTCOMPUTE_THREADS."""

from __future__ import annotations

import os
import re
from typing import Mapping

MAX_THREADS = 4096
CPU_TARGETS = ("cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:native")


def target(explicit: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The pinned target, from the argument or else the environment; None: the best that runs here.

    Raises ValueError for what is not a target, whether or not anything is built for it.
    """
    text, origin = (explicit, "target") if explicit is not None else (environment.get("PYDOTCOMPUTE_TARGET"), "")
    if not text and explicit is None:
        return None
    name = f"{origin or 'PYDOTCOMPUTE_TARGET'}={text!r}"
    if not isinstance(text, str) or not re.fullmatch(r"[a-z][a-z0-9_]*:[A-Za-z0-9_.+-]+", text):
        raise ValueError(f"{name} is not a target; write one such as cpu:x86-64-v3 or cuda:sm_90")
    if text.startswith("cpu:") and text.removesuffix("+bounds") not in CPU_TARGETS:
        from difflib import get_close_matches

        close = get_close_matches(text.removesuffix("+bounds"), CPU_TARGETS, 1, 0.75)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(CPU_TARGETS)}"
        raise ValueError(f"{name} is not a target: {hint}")
    if text.startswith("cuda:") and not re.fullmatch(r"cuda:(compute|sm)_[1-9][0-9]{1,2}[af]?", text):
        raise ValueError(f"{name} is not a target: one for CUDA is cuda:compute_NN (PTX) or cuda:sm_NN (cubin)")
    return text


def threads(environment: Mapping[str, str] = os.environ) -> int:
    """How many threads a kernel may use: PYDOTCOMPUTE_THREADS, else what this process may use of the machine.

    Raises ValueError for anything but a number from 1 to 4096.
    """
    text = environment.get("PYDOTCOMPUTE_THREADS", "")
    if not text:
        return processors()
    if not re.fullmatch("[0-9]{1,9}", text.strip()) or not 1 <= int(text) <= MAX_THREADS:
        raise ValueError(f"PYDOTCOMPUTE_THREADS={text!r} is not a number of threads; write one from 1 to {MAX_THREADS}")
    return int(text)


def processors() -> int:
    """The processors of this process's affinity, no more than its cgroup's quota gives (rounded up)."""
    try:
        count = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        count = os.cpu_count() or 1
    quota = cgroup_quota()
    return max(1, count if quota is None else min(count, quota))


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
