"""Backends: ways to run kernels, each with memory of its own."""

from __future__ import annotations

from typing import Any

_HOMES = {
    "Backend": "backends.base", "CPUBackend": "backends.cpu.backend", "CUDABackend": "backends.cuda.backend",
    "get_backend": "devices.registry", "register_backend": "devices.registry",
    "unregister_backend": "devices.registry",
    "backend_names": "devices.registry",
    "BackendPreference": "devices.preference", "set_backend_priority": "devices.preference",
    "DeviceInfo": "backends.device_info", "BackendInfo": "devices.discovery", "discover_backends": "devices.discovery",
    "best_available_backend": "devices.discovery", "print_backend_summary": "devices.discovery",
    "MemoryEstimate": "devices.estimate", "estimate_inference_memory": "devices.estimate",
    "backend_of": "devices.transfer", "to_backend": "devices.transfer",
}  # fmt: skip
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__package__.rpartition(chr(46))[0]}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
