"""Tests of CUDA's that say what holds on every device, with this folder's way to compile and call."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from typing import Any

import opencl_support

CUDA = os.path.join(opencl_support.ROOT, "tests", "cuda")
OF_CUDA_ALONE = ("ptx", "meta[", "and its reductions")  # what a test looks into that other devices do not have


def borrow(module: str) -> dict[str, Any]:
    """The test functions of a module of tests/cuda, and what they are parametrised by."""
    before = sys.modules.get("cuda_support")
    sys.modules["cuda_support"] = opencl_support
    try:
        spec = importlib.util.spec_from_file_location(f"opencl_{module}", f"{CUDA}/{module}.py")
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
    finally:
        del sys.modules["cuda_support"]
        if before is not None:
            sys.modules["cuda_support"] = before
    found = {name: f for name, f in vars(loaded).items() if name.startswith("test_")}
    return {name: f for name, f in found.items() if not any(word in inspect.getsource(f) for word in OF_CUDA_ALONE)}
