"""A call of a kernel that is built for WebGPU, on the first device that there is."""

from __future__ import annotations

from typing import Any

from pydotcompute.backends.webgpu.backend import unavailable as missing
from pydotcompute.calls import arguments

__all__ = ["missing", "run"]


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    from tests.targets.webgpu.webgpu_support import device  # which imports wgpu

    device.launch(built, values, call)
