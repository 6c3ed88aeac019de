"""Kernel caches on disk. `Cache(path)` looks into one; a program that only calls kernels does not load it."""

from __future__ import annotations

from typing import Any

__all__ = ["Cache"]


def __getattr__(name: str) -> Any:
    if name != "Cache":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .contents import Cache

    return Cache
