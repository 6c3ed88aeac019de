"""Commands on an emulated processor."""

from __future__ import annotations


def on(processor: str, *command: str) -> list[str]:
    """On some machines OpenBLAS takes an emulated Nehalem for a Haswell, and dies of its instructions: it is told."""
    told = ["-E", "OPENBLAS_CORETYPE=Nehalem"] if processor == "Nehalem" else []
    return ["qemu-x86_64", "-cpu", processor, *told, *command]
