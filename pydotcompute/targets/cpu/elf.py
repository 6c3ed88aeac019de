"""The symbols that an ELF object leaves undefined (ELF-64, little-endian; System V ABI, chapter 4)."""

from __future__ import annotations

import struct

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB of an object, SHT_DYNSYM of a shared object


def undefined_symbols(code: bytes) -> tuple[str, ...]:
    """Names that the linker or the loader must find elsewhere, sorted."""
    (offset,) = struct.unpack_from("<Q", code, 40)
    (size, count) = struct.unpack_from("<HH", code, 58)
    sections = [_SECTION.unpack_from(code, offset + k * size) for k in range(count)]
    names = set()
    for _, kind, _, _, start, length, link, _, _, entry in sections:
        if kind not in _SYMBOL_TABLES:
            continue
        strings = sections[link][4]
        for place in range(start + entry, start + length, entry):  # the first entry means "no symbol"
            name, _, _, section, _, _ = _SYMBOL.unpack_from(code, place)
            if section == 0:
                end = code.index(b"\0", strings + name)
                names.add(code[strings + name : end].decode())
    return tuple(sorted(names - {""}))
