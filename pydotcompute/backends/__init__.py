"""Backends: ways to run kernels, each with memory of its own."""

from __future__ import annotations

from typing import Any

_HOMES = {
    "Backend": "base", "CPUBackend": "cpu", "CUDABackend": "cuda",
    "get_backend": "registry", "register_backend": "registry", "unregister_backend": "registry",
    "backend_names": "registry",
    "BackendPreference": "preference", "set_backend_priority": "preference",
    "DeviceInfo": "devices", "BackendInfo": "discovery", "discover_backends": "discovery",
    "best_available_backend": "discovery", "print_backend_summary": "discovery",
    "MemoryEstimate": "estimate", "estimate_inference_memory": "estimate",
    "backend_of": "transfer", "to_backend": "transfer",
}  # fmt: skip
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
