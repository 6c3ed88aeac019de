"""Windows as far as Wine has it: DLLs are loaded there by a small program in C, which calls what Python describes."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pydotcompute.artifact import abi
from pydotcompute.calls import words as call_words
from pydotcompute.targets.cpu.import_library import import_library

HERE = Path(__file__).parent
PAGE = 4096
SYSTEM = ("CreateFileA", "ReadFile", "WriteFile", "SetFilePointer", "GetFileSizeEx", "VirtualAlloc", "VirtualProtect",
          "LoadLibraryA", "GetProcAddress", "ExitProcess")  # fmt: skip


class Result(NamedTuple):
    status: int
    threads: int  # that were made
    fault: list[int]  # the fault words
    value: Any  # what the call returns


class Wine:
    """A Windows of its own, made in an empty folder, and the program in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = {**os.environ, "WINEPREFIX": str(folder / "prefix"), "WINEDEBUG": "-all", "DISPLAY": "",
                            "WINEDLLOVERRIDES": "mscoree,mshtml="}  # fmt: skip
        (folder / "system.lib").write_bytes(import_library({"KERNEL32.dll": SYSTEM}))
        zig = [sys.executable, "-m", "ziglang"]
        cc = [*zig, "cc", "-target", "x86_64-windows-gnu", "-O1", "-ffreestanding", "-fno-stack-protector",
              "-mno-stack-arg-probe", "-fno-sanitize=all", "-c", str(HERE / "caller.c"), "-o", "caller.o"]  # fmt: skip
        linked = [*zig, "lld-link", "/nologo", "/subsystem:console", "/entry:start", "/out:caller.exe", "caller.o"]
        for command in (cc, [*linked, "system.lib"]):
            subprocess.run(command, cwd=folder, check=True)

    def run(self, calls: list[Recorded]) -> list[Result]:
        """The calls, one after the other, in one process. Its Windows is made by the first."""
        texts = [struct.pack("<q", len(calls))]
        size = 8
        for number, call in enumerate(calls):
            (self.folder / f"{number}.dll").write_bytes(call.code)
            call.place = size
            text = call.text(f"{number}.dll", size)
            texts.append(text)
            size += len(text)
        (self.folder / "calls.bin").write_bytes(b"".join(texts))
        command = [shutil.which("wine64") or "wine", "caller.exe"]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, timeout=300)
        assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
        written = (self.folder / "calls.bin").read_bytes()
        return [call.result(written) for call in calls]


class Recorded:
    """A checked call of a kernel of a library, to be run elsewhere on copies of its arrays."""

    def __init__(self, code: bytes, kernel: Any, *args: Any, threads: int = 1, export: str = "run", **more: Any):
        self.code, self.threads, self.export = code, threads, export
        call, _ = kernel._dispatcher.checked(args, more)
        self.values, self.finish = call.complete()
        parameters, symbols = call.specialisation.parameters, call.specialisation.artifacts[0].symbols
        layout, self.total = abi.slots(parameters, symbols)
        block, kept = call_words.fill(layout, self.total, parameters, self.values, call.dims, call.leading)
        self.words, self.addresses, self.bytes = list(block), [], bytearray()
        self.spans: list[tuple[int, int, int]] = []  # of arrays: address, offset among the bytes, length
        for slot in layout:
            if slot.kind == "data":
                low, high = np.lib.array_utils.byte_bounds(self.values[slot.name])
                self.spans.append((low, len(self.bytes), high - low))
                self._point(slot.index, len(self.bytes) + self.words[slot.index] - low, low, high - low)
            elif slot.kind == "view":
                at = self.words[slot.index]
                count = ctypes.c_int64.from_address(at).value
                self._point(slot.index, len(self.bytes), at, 8 * (1 + 2 * count))

    def _point(self, index: int, offset: int, address: int, length: int) -> None:
        self.addresses.append(index)
        self.words[index] = offset
        self.bytes += ctypes.string_at(address, length) + bytes(-length % 64)

    def text(self, dll: str, start: int) -> bytes:
        self.bytes += bytes(-len(self.bytes) % PAGE)
        head = dll.encode().ljust(64, b"\0") + self.export.encode().ljust(32, b"\0")
        counts = (self.threads, -1, -1, len(self.words), len(self.addresses), len(self.bytes))
        numbers = (*counts, *self.words, *self.addresses)
        head += struct.pack(f"<{len(numbers)}q", *numbers)
        self.from_place = len(head) + -(start + len(head)) % PAGE
        return head.ljust(self.from_place, b"\0") + self.bytes

    def result(self, written: bytes) -> Result:
        _, status, made = struct.unpack_from("<3q", written, self.place + 96)
        fault = struct.unpack_from(f"<{abi.TOLD_WORDS}q", written, self.place + 96 + 48 + 8 * self.total)
        start = self.place + self.from_place
        for address, offset, length in self.spans:
            ctypes.memmove(address, written[start + offset : start + offset + length], length)
        return Result(status, made, list(fault), self.finish())
