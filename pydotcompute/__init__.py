"""Ahead-of-time compiled numerical kernels: declare once, build for every target, import and call."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

# Importing the package costs next to nothing; each name is fetched when it is first used.
_HOMES = {
    "load": "runtime.library", "library": "runtime.installed", "KernelLibrary": "runtime.library",
    "Kernel": "runtime.kernel", "build": "builder.program",
    "Backend": "backends.base", "get_backend": "devices.registry", "register_backend": "devices.registry",
    "unregister_backend": "devices.registry",
    "BackendPreference": "devices.preference", "set_backend_priority": "devices.preference",
    "DeviceInfo": "backends.device_info", "discover_backends": "devices.discovery",
    "best_available_backend": "devices.discovery", "print_backend_summary": "devices.discovery",
    "estimate_inference_memory": "devices.estimate", "to_backend": "devices.transfer",
    "AllocationError": "errors", "ArchiveError": "errors", "ArtifactFallbackWarning": "errors",
    "ArtifactRefusedError": "errors",
    "BackendFallbackWarning": "errors", "BackendNotAvailableError": "errors",
    "CompilationError": "errors", "CompilerNotInstalledError": "errors", "DeclarationError": "errors",
    "KernelNotBuiltError": "errors", "ReferenceFallbackWarning": "errors", "StaleArtifactWarning": "errors",
    "UntrustedCacheError": "errors",
}  # fmt: skip
_SUBMODULES = ("backends", "cache", "errors", "kernels", "operations")
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
