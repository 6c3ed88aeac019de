"""What a code object says of its kernels: the note of an ELF file that AMD's loaders read (LLVM, "User Guide for
AMDGPU Backend", code object V5 metadata), which is MessagePack."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import CompilationError

MACHINE = 224  # EM_AMDGPU
_PROGRAM, _NOTES, _METADATA = struct.Struct("<IIQQQQQQ"), 4, 32  # PT_NOTE, NT_AMDGPU_METADATA
_NOTE = struct.Struct("<III")


class Argument(NamedTuple):
    """One of a kernel's, in the memory that holds them all."""

    offset: int
    size: int
    kind: str  # "by_value", "global_buffer"; what the loader itself adds has "hidden_…"


class KernelInfo(NamedTuple):
    """What one kernel takes; bytes, but for the registers and lanes."""

    arguments: tuple[Argument, ...]  # without those that the loader adds
    kernarg: int  # of all of them
    block: tuple[int, ...]  # threads along x, y, z that a launch must have; empty: any
    most_threads: int  # of a block
    lanes: int  # of a wavefront
    vector_registers: int  # of a thread, with accumulation registers
    scalar_registers: int  # of a wavefront
    shared: int  # of a block
    private: int  # of a thread
    vector_spills: int  # registers, which lie in private memory
    scalar_spills: int  # registers, which lie in vector registers


def kernels(code: bytes) -> dict[str, KernelInfo]:
    """By their names. Raises CompilationError for what is no code object."""
    told = metadata(code)
    return {one[".name"]: _kernel(one) for one in told["amdhsa.kernels"]}


def metadata(code: bytes) -> Mapping[str, Any]:
    """All that the note says. Raises CompilationError."""
    if code[:4] != b"\x7fELF" or len(code) < 64 or struct.unpack_from("<H", code, 18)[0] != MACHINE:
        raise CompilationError("this is no code object for AMD's GPUs")
    (table,) = struct.unpack_from("<Q", code, 32)
    size, count = struct.unpack_from("<HH", code, 54)
    for k in range(count):
        kind, _, start, _, _, length, _, _ = _PROGRAM.unpack_from(code, table + k * size)
        at = start
        while kind == _NOTES and at < start + length:
            name_size, text_size, note = _NOTE.unpack_from(code, at)
            name = at + _NOTE.size
            text = name + -(-name_size // 4) * 4
            if note == _METADATA and code[name : name + name_size] == b"AMDGPU\0":
                return _decoded(code, text)[0]
            at = text + -(-text_size // 4) * 4
    raise CompilationError("this code object has no metadata")


def _kernel(told: Mapping[str, Any]) -> KernelInfo:
    given = [a for a in told.get(".args", ()) if not a[".value_kind"].startswith("hidden_")]
    return KernelInfo(
        tuple(Argument(a[".offset"], a[".size"], a[".value_kind"]) for a in given), told[".kernarg_segment_size"],
        tuple(told.get(".reqd_workgroup_size", ())), told[".max_flat_workgroup_size"], told[".wavefront_size"],
        told[".vgpr_count"], told[".sgpr_count"], told[".group_segment_fixed_size"],
        told[".private_segment_fixed_size"], told[".vgpr_spill_count"], told[".sgpr_spill_count"],
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------ MessagePack

_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
    0xD3: ">q",
}  # fmt: skip
_SINGLE = {0xC0: None, 0xC2: False, 0xC3: True}
_LENGTHS = {
    0xD9: (str, ">B"), 0xDA: (str, ">H"), 0xDB: (str, ">I"), 0xDC: (list, ">H"), 0xDD: (list, ">I"), 0xDE: (dict, ">H"),
    0xDF: (dict, ">I"),
}  # fmt: skip


def _decoded(data: bytes, at: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends."""
    first, at = data[at], at + 1
    if first < 0x80:
        return first, at
    if first >= 0xE0:
        return first - 0x100, at
    if first in _SINGLE:
        return _SINGLE[first], at
    if first in _NUMBERS:
        form = _NUMBERS[first]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if first in _LENGTHS:
        kind, form = _LENGTHS[first]
        length, at = struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    elif first < 0xC0:
        kind = dict if first < 0x90 else list if first < 0xA0 else str
        length = first & (0x1F if kind is str else 0x0F)
    else:
        raise CompilationError(f"metadata of a code object with the byte {first:#x}, which it never has")
    if kind is str:
        return data[at : at + length].decode(), at + length
    items = []
    for _ in range(length * (2 if kind is dict else 1)):
        item, at = _decoded(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if kind is dict else items), at
