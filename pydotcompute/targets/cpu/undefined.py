"""The symbols that an object leaves undefined, as a kernel's code calls them: of ELF-64 (System V ABI, chapter 4), COFF
(PE format, section 5.4) and Mach-O of 64 bits (mach-o/nlist.h), all little-endian."""

from __future__ import annotations

import struct
from typing import Iterator

_ELF_SECTION = struct.Struct("<IIQQQQIIQQ")
_ELF_SYMBOL = struct.Struct("<IBBHQQ")
_ELF_TABLES = (2, 11)  # SHT_SYMTAB of an object, SHT_DYNSYM of a shared object
_COFF_SYMBOL = struct.Struct("<8sIhHBB")
_COFF_EXTERNAL = 2
_MACHO, _MACHO_SYMTAB = b"\xcf\xfa\xed\xfe", 2
_MACHO_SYMBOL = struct.Struct("<IBBHQ")
_MACHO_DEBUG, _MACHO_TYPE, _MACHO_EXTERNAL = 0xE0, 0x0E, 0x01


def undefined_symbols(code: bytes) -> tuple[str, ...]:
    """Names that the linker or the loader must find elsewhere, sorted. code: of COFF a relocatable object, of the other
    formats a shared one too."""
    read = _of_elf if code.startswith(b"\x7fELF") else _of_macho if code.startswith(_MACHO) else _of_coff
    return tuple(sorted(set(read(code)) - {""}))


def _of_elf(code: bytes) -> Iterator[str]:
    (offset,) = struct.unpack_from("<Q", code, 40)
    (size, count) = struct.unpack_from("<HH", code, 58)
    sections = [_ELF_SECTION.unpack_from(code, offset + k * size) for k in range(count)]
    for _, kind, _, _, start, length, link, _, _, entry in sections:
        if kind not in _ELF_TABLES:
            continue
        for place in range(start + entry, start + length, entry):  # the first entry means "no symbol"
            name, _, _, section, _, _ = _ELF_SYMBOL.unpack_from(code, place)
            if section == 0:
                yield _text(code, sections[link][4] + name)


def _of_coff(code: bytes) -> Iterator[str]:
    start, count = struct.unpack_from("<II", code, 8)
    strings, k = start + _COFF_SYMBOL.size * count, 0
    while k < count:
        name, value, section, _, kind, more = _COFF_SYMBOL.unpack_from(code, start + _COFF_SYMBOL.size * k)
        if section == 0 and kind == _COFF_EXTERNAL and value == 0:  # a value is the size of a common block
            long = name.startswith(b"\0\0\0\0")
            at = strings + struct.unpack("<I", name[4:])[0]
            yield _text(code, at) if long else name.rstrip(b"\0").decode()
        k += 1 + more


def _of_macho(code: bytes) -> Iterator[str]:
    (count,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", code, at)
        if command == _MACHO_SYMTAB:
            symbols, number, strings, _ = struct.unpack_from("<IIII", code, at + 8)
            for k in range(number):
                name, kind, _, _, _ = _MACHO_SYMBOL.unpack_from(code, symbols + _MACHO_SYMBOL.size * k)
                if not kind & (_MACHO_DEBUG | _MACHO_TYPE) and kind & _MACHO_EXTERNAL:
                    yield _text(code, strings + name).removeprefix("_")  # which the platform puts before every name
        at += size


def _text(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()
