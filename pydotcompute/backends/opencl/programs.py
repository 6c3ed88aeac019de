"""OpenCL C → a program for one device: its binary from the cache beside the artifact, else built from source and kept.

A file belongs to one source, platform, device and driver, and begins with the digest of the rest. What is missing,
damaged or refused by the driver is built from source, which is always there.
"""

from __future__ import annotations

import os
from tempfile import NamedTemporaryFile
from typing import Any

import pyopencl as cl

from ...cache import files
from ...cache.files import sha256
from ...errors import UntrustedCacheError

FORMAT = "1"
OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt", "-w")  # warnings of generated code help nobody
ON_PROCESSOR = "-DON_PROCESSOR"
DIGEST = 64


def options(device: Any) -> list[str]:
    """What the compiler is told."""
    return [*OPTIONS, *([ON_PROCESSOR] if device.type & cl.device_type.CPU else [])]


def load(context: Any, device: Any, source: bytes, folder: str | None, root: str | None = None) -> Any:
    """A built program. folder: of the cache that the artifact is in; None: nothing is looked up or kept. root: of the
    project whose own cache that is.

    Raises pyopencl's RuntimeError with the driver's log where it does not compile.
    """
    name = f"devices/{identity(device, source)}.bin"
    if folder and (binary := _read(folder, name, root)):
        try:
            return cl.Program(context, [device], [binary]).build(options(device))
        except cl.Error:
            pass  # of a driver that is not quite the one that made it: the source says the same
    program = cl.Program(context, source.decode()).build(options(device), devices=[device])
    if folder:
        _keep(f"{folder}/{name}", program.get_info(cl.program_info.BINARIES)[0])
    return program


def identity(device: Any, source: bytes) -> str:
    """What a binary is for, as the name of its file."""
    platform = device.platform
    fields = (
        FORMAT, sha256(source), " ".join(options(device)), platform.name, platform.vendor, platform.version,
        device.name, device.vendor, device.version, device.driver_version,
    )  # fmt: skip
    return sha256(b"".join(len(f.encode()).to_bytes(8, "little") + f.encode() for f in fields))


def _read(folder: str, name: str, root: str | None) -> bytes | None:
    try:
        data = files.read(folder, name, files.MOST_OBJECT, root)
    except (OSError, UntrustedCacheError):
        return None
    binary = data[DIGEST:]
    return binary if binary and sha256(binary).encode() == data[:DIGEST] else None


def _keep(path: str, binary: bytes) -> None:
    """By rename, so that nobody sees half of it. A cache that cannot be written, as in a wheel, stays as it is."""
    folder = os.path.dirname(path)
    temporary = None
    try:
        os.makedirs(folder, 0o755, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix="new-", delete=False) as file:
            temporary = file.name
            file.write(sha256(binary).encode() + binary)
        os.replace(temporary, path)
    except OSError:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
