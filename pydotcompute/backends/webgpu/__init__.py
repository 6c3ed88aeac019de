"""The WebGPU backend: wgpu's buffers with a shape and a dtype, built kernels as WGSL that wgpu compiles."""

from __future__ import annotations

from .backend import WebGPUBackend

__all__ = ["WebGPUBackend"]
