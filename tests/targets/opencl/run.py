"""A call of a kernel that is built for OpenCL, on the first device that there is."""

from __future__ import annotations

from typing import Any

from pydotcompute.backends.opencl.backend import unavailable as missing
from pydotcompute.calls import arguments

__all__ = ["missing", "run"]


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    from tests.targets.opencl.opencl_support import device  # which imports pyopencl

    device.launch(built, values, call)
