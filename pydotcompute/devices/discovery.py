"""Which backends could run here, on which devices, and why the others could not."""

from __future__ import annotations

import sys
from typing import NamedTuple, TextIO

from ..backends.device_info import DeviceInfo, checked
from ..backends.names import HOST
from ..errors import BackendNotAvailableError
from . import registry


class BackendInfo(NamedTuple):
    """One backend as it was found. `error` says why it is not available; it is empty where it is."""

    name: str  # for get_backend; empty where that does not know it
    title: str  # "CUDA"; a custom backend's is its name
    kind: str  # "CUDA"; of a custom backend, where it comes from
    available: bool
    devices: tuple[DeviceInfo, ...]
    error: str

    def __str__(self) -> str:
        lines = [f"{'✓' if self.available else '✗'} {self.title} ({self.kind})"]
        lines += [f"    {device}" for device in self.devices]
        return "\n".join(lines if self.available else [*lines, f"    Error: {self.error}"])


def discover_backends() -> list[BackendInfo]:
    """Every backend that there is or that has a name here, in the order in which "auto" asks by default; then what
    installed packages bring that cannot be used.

    Looks at each one anew, so memory figures are of this moment. Never raises: what goes wrong is the `error`.
    """
    refused = [BackendInfo("", title, kind, False, (), _line(why)) for title, kind, why in registry.refused()]
    return [*map(_look, registry.all_names()), *refused]


def best_available_backend() -> str:
    """The name of the first backend, in the order that "auto" takes now, which is available and has a device; like
    "auto" it passes over one whose device is the processor itself, which "cpu" serves."""
    return _best({info.name: info for info in discover_backends()})


def backend_summary() -> str:
    """What `print_backend_summary` prints: a line for each backend, its devices or its error, the recommended one."""
    found = discover_backends()
    best = _best({info.name: info for info in found})
    title = next((info.title for info in found if info.name == best), best)
    return "\n".join(["=== Available Backends ===", *map(str, found), "", f"Recommended backend: {title}"])


def print_backend_summary(file: TextIO | None = None) -> None:
    """Print the summary, to stdout unless `file` says otherwise; with + and - for ✓ and ✗, and ? for what else its
    encoding lacks, where it lacks them."""
    file = sys.stdout if file is None else file
    text, encoding = backend_summary(), getattr(file, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace("✓", "+").replace("✗", "-").encode(encoding, "replace").decode(encoding)
    print(text, file=file)


def _best(found: dict[str, BackendInfo]) -> str:
    for name in registry.preferred_names():
        usable = name in found and found[name].available and found[name].devices
        if usable and not registry.get_backend(name).on_processor:
            return name
    return HOST


def _look(name: str) -> BackendInfo:
    title, kind = registry.describe(name)
    try:
        devices = checked(registry.get_backend(name).devices())
    except (Exception, SystemExit) as error:  # whatever a driver or somebody else's backend raises is what to say
        known = isinstance(error, BackendNotAvailableError)
        why = str(error) if known else f"{type(error).__name__}: {error}"
        return BackendInfo(name, title, kind, False, (), _line(why))
    if not devices:
        return BackendInfo(name, title, kind, False, (), "it has no device")
    return BackendInfo(name, title, kind, True, devices, "")


def _line(text: str) -> str:
    return " ".join(text.split())
