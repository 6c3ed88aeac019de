"""The arguments of launches in the buffer that the driver is given, as calls of one form fill it.

Launches whose arguments are the same share a part of it: the driver copies a part before a launch returns.
"""

from __future__ import annotations

from ctypes import addressof, c_char, c_size_t, c_void_p
from struct import Struct
from typing import Any, Callable, Iterator, Mapping, Sequence

from ..launch import ADDRESS
from .platform import PLATFORM

FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "f", "bfloat16": "f", "float32": "f", "float64": "d",
}  # fmt: skip
# A launch's `extra`: a buffer with all arguments, where it is, and where its size is.
BUFFER_POINTER, BUFFER_SIZE = 1, 2
ALIGNMENT = 8  # of the largest word


class Buffers:
    """The buffers for the calls of one form. Called, it makes one: (itself, for each of its parts where the driver is
    told of it, what has to live as long).

    texts: the values of arguments that change from call to call, as Python; formats: of the scalars, for struct.
    """

    def __init__(self, texts: Mapping[tuple[str, Any], str], formats: Mapping[str, str]):
        self.texts, self.formats = texts, formats
        self.parts: dict[tuple, int] = {}  # the formats, texts, and values of words, of which each has one → number
        self.places: list[tuple[int, int]] = []  # the start and the size of each
        self.first = b""  # what never changes, and zeros

    def part(self, arguments: Sequence[Sequence[Any]], values: Sequence[Any]) -> int:
        """The number of the part with these arguments, as the metadata says them, whose words are these in the first
        call."""
        formats, texts = "", []
        for kind, which, *rest in arguments:
            text = self.texts.get((kind, which), "")
            before, after = (ADDRESS, 2 * rest[0]) if kind == "array" else (0, 0)
            formats += self.formats[which] if kind == "scalar" else "q" * (before + 1 + after)
            texts += [*[""] * before, text, *[""] * after]
        kept = tuple(None if text else value for text, value in zip(texts, values, strict=True))
        number = self.parts.setdefault((formats, tuple(texts), kept), len(self.parts))
        if number == len(self.places):
            start, (offsets, size) = len(self.first), _offsets(formats)
            first = bytearray(-(-max(size, 1) // ALIGNMENT) * ALIGNMENT)
            for begin, end in _runs(texts):
                if not texts[begin]:
                    _aligned(formats, offsets, begin, end).pack_into(first, offsets[begin], *values[begin:end])
            self.places.append((start, size))
            self.first += first
        return number

    def packing(self) -> Iterator[tuple[Callable[..., None], int, str]]:
        """What fills a buffer for a call: (pack_into, the offset, the texts of the values) of each run of words."""
        for (formats, texts, _), (start, _) in zip(self.parts, self.places):
            offsets, _ = _offsets(formats)
            for begin, end in _runs(texts):
                if texts[begin]:
                    run = _aligned(formats, offsets, begin, end)
                    yield run.pack_into, start + offsets[begin], ", ".join(texts[begin:end])

    def __call__(self) -> tuple:
        buffer = (c_char * len(self.first)).from_buffer_copy(self.first)
        told, kept = [], []
        for start, size in self.places:
            length = c_size_t(size)
            extra = (c_void_p * 5)(
                BUFFER_POINTER, addressof(buffer) + start, BUFFER_SIZE, addressof(length), PLATFORM.end
            )
            told.append(addressof(extra))
            kept.append((extra, length))
        return buffer, *told, kept


def _offsets(formats: str) -> tuple[list[int], int]:
    """Where each word of a launch's arguments lies, as C has it, and the size of all."""
    offsets, size = [], 0
    for one in formats:
        item = Struct(f"<{one}").size
        offsets.append(size := -(-size // item) * item)
        size += item
    return offsets, size


def _runs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, last) of neighbours that either all change from call to call, or all do not."""
    first = 0
    for k in range(1, len(texts) + 1):
        if k == len(texts) or bool(texts[k]) != bool(texts[first]):
            yield first, k
            first = k


def _aligned(formats: str, offsets: Sequence[int], first: int, last: int) -> Struct:
    """The words of a run with the gaps between them. Not the `@` of struct, which makes infinities of large floats."""
    result = "<"
    for k in range(first, last):
        result += formats[k]
        if k + 1 < last:
            result += "x" * (offsets[k + 1] - offsets[k] - Struct(f"<{formats[k]}").size)
    return Struct(result)
