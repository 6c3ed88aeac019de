"""What a declaration allows a thread of a GPU: `launch: {registers: N, spills: BYTES}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CompilationError


def check(launch: Mapping[str, Any], registers: int, spills: int, what: str) -> None:
    """Raise CompilationError where a thread takes more: registers, bytes of spills. what: the entry, for messages."""
    for key, found, unit in (("registers", registers, "registers"), ("spills", spills, "bytes of spills")):
        allowed = launch.get(key)
        if allowed is not None and found > int(allowed):
            raise CompilationError(f"{what} needs {found} {unit} a thread, and launch.{key} allows {allowed}")
