"""A call of a kernel that is built for OpenCL, on the first device that there is."""

from __future__ import annotations

from typing import Any

from pydotcompute.calls import arguments


def missing() -> str:
    """Why no call can run here; empty if one can."""
    from pydotcompute.backends.opencl.backend import unavailable

    return unavailable()


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    from tests.targets.opencl.opencl_support import launch, load  # which import pyopencl

    chosen, symbols = built.specialisation, built.record.signature.symbols
    _, loaded = load(built, built.record.name, chosen.name, chosen.parameters, symbols)
    launch(loaded, chosen.parameters, values, call)
