"""Ahead-of-time compiled numerical kernels: declare once, build for every target, import and call."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

# Importing the package costs next to nothing; each name is fetched when it is first used.
_HOMES = {
    "load": "runtime.library", "KernelLibrary": "runtime.library", "Kernel": "runtime.kernel",
    "Backend": "backends.base", "get_backend": "backends.registry", "register_backend": "backends.registry",
    "unregister_backend": "backends.registry",
    "BackendPreference": "backends.preference", "set_backend_priority": "backends.preference",
    "DeviceInfo": "backends.devices", "discover_backends": "backends.discovery",
    "best_available_backend": "backends.discovery", "print_backend_summary": "backends.discovery",
    "estimate_inference_memory": "backends.estimate", "to_backend": "backends.transfer",
    "AllocationError": "errors", "ArtifactFallbackWarning": "errors", "ArtifactRefusedError": "errors",
    "BackendFallbackWarning": "errors", "BackendNotAvailableError": "errors",
    "CompilationError": "errors", "CompilerNotInstalledError": "errors", "DeclarationError": "errors",
    "KernelNotBuiltError": "errors", "StaleArtifactWarning": "errors",
}  # fmt: skip
_SUBMODULES = ("backends", "errors", "kernels", "operations")
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
