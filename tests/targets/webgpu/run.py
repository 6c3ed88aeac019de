"""A call of a kernel that is built for WebGPU, on the first device that there is."""

from __future__ import annotations

from typing import Any

from pydotcompute.calls import arguments


def missing() -> str:
    """Why no call can run here; empty if one can."""
    from pydotcompute.backends.webgpu.backend import unavailable

    return unavailable()


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    from tests.targets.webgpu.webgpu_support import launch  # which imports wgpu

    launch(built, values, call)
