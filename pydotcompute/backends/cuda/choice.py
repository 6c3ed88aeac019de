"""Which artifact a CUDA device runs, and why not another: a value, from the metadata alone."""

from __future__ import annotations

import re
from typing import Any, Mapping

from ..base import Verdict
from .driver import Version, cuda_for_ptx

EXACT = 10_000  # cubins come before PTX
# CUDA C++ Programming Guide, "Binary Compatibility": cubins of Tegra's processors and of others exclude each other.
TEGRA = {(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)}


def judged(target: str, meta: Mapping[str, Any], capability: Version, driver: Version) -> Verdict:
    """Whether a device of this compute capability, with a driver of this CUDA release, runs an artifact.

    A cubin runs on devices of its major version and no lower minor one (with `a`: of just its own; with `f`: of its
    major version); PTX on any device that is not older, if the driver reads its version.
    """
    match = re.fullmatch(r"cuda:(compute|sm)_(\d+)(\d)([af]?)", target)
    if match is None:
        return Verdict(reason=f"the backend 'cuda' knows no target {target!r}")
    form, made, kind = match[1], (int(match[2]), int(match[3])), match[4]
    device = f"this device has compute capability {capability[0]}.{capability[1]}"
    if kind == "a" and made != capability or kind == "f" and (made[0] != capability[0] or made > capability):
        return Verdict(reason=f"{device}, and {form}_{match[2]}{match[3]}{kind} is for {_for(made, kind)}")
    if form == "sm":
        alone = "a" if made in TEGRA else "f"
        if made[0] != capability[0] or made[1] > capability[1] or made != capability and {made, capability} & TEGRA:
            tegra = ", and not on Tegra's processors" if capability in TEGRA and alone == "f" else ""
            return Verdict(reason=f"{device}, and a cubin for {made[0]}.{made[1]} runs on {_for(made, alone)}{tegra}")
        return Verdict(EXACT + 10 * made[1] + bool(kind))
    if made > capability:
        return Verdict(reason=f"{device}, and this PTX needs {made[0]}.{made[1]}")
    version = str(meta.get("ptx_version", ""))
    needed = cuda_for_ptx(version) if re.fullmatch(r"\d+\.\d+", version) else None
    if needed is None:
        return Verdict(reason=f"PTX of version {version or 'unknown'}: no CUDA release is known to read it")
    if driver < needed:
        return Verdict(
            reason=f"PTX {version} needs a driver for CUDA {needed[0]}.{needed[1]}, "
            f"this one is for CUDA {driver[0]}.{driver[1]}; update it, or build a cubin: "
            f"-t cuda:sm_{capability[0]}{capability[1]}"
        )
    return Verdict(10 * (10 * made[0] + made[1]) + bool(kind))


def _for(made: Version, kind: str) -> str:
    return f"{made[0]}.{made[1]} alone" if kind == "a" else f"{made[0]}.{made[1]} to {made[0]}.9"
