"""What a Windows linker is given for functions of the system: an archive of short imports (PE format, section 7).

All are part of Windows 10, and of what Python itself needs there: no library of a compiler is linked.
"""

from __future__ import annotations

import struct
from typing import Mapping, Sequence

IMPORTS = {
    "KERNEL32.dll": (
        "CreateThread", "WaitForSingleObject", "CloseHandle", "GetCurrentThreadId", "QueryPerformanceCounter",
        "QueryPerformanceFrequency",
    ),
    "ntdll.dll": ("__chkstk",),
    "ucrtbase.dll": ("malloc", "free", "memcpy", "memmove", "memset"),
}  # fmt: skip
_AMD64, _FUNCTION_BY_NAME = 0x8664, 1 << 2


def import_library(imports: Mapping[str, Sequence[str]] = IMPORTS) -> bytes:
    """The archive of functions by their library; the linker takes from it what is asked for."""
    members = [(name, _member(f"{dll}/", _short(name, dll))) for dll, names in imports.items() for name in names]
    names = "".join(f"__imp_{name}\0{name}\0" for name, _ in members).encode()
    count = 2 * len(members)
    at = len(_MAGIC) + len(_member("/", bytes(4 + 4 * count + len(names))))
    places: list[int] = []
    for _, member in members:
        places += (at, at)
        at += len(member)
    index = _member("/", struct.pack(f">{1 + count}I", count, *places) + names)
    return b"".join((_MAGIC, index, *(member for _, member in members)))


_MAGIC = b"!<arch>\n"


def _short(name: str, dll: str) -> bytes:
    text = f"{name}\0{dll}\0".encode()
    return struct.pack("<HHHHIIHH", 0, 0xFFFF, 0, _AMD64, 0, len(text), 0, _FUNCTION_BY_NAME) + text


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{0:<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)
