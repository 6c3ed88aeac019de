"""Which backend runs what is made for a target: the one that its name begins with, unless the vendor has two words."""

from __future__ import annotations

BACKENDS = {"hip": "rocm"}  # code is made for HIP, and run by ROCm


def backend_of(target: str) -> str:
    """The name of the backend that owns a target: "cuda" of "cuda:sm_90", "rocm" of "hip:gfx90a"."""
    family = target.partition(":")[0]
    return BACKENDS.get(family, family)


def family_of(backend: str) -> str:
    """What the names of a backend's targets begin with."""
    return next((family for family, name in BACKENDS.items() if name == backend), backend)
