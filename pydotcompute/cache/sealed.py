"""The digest that a manifest begins with: SHA-256 over all that follows it, in a file that is plain JSON nevertheless.

    {"digest":"e3b0…",REST          the digest is that of REST, to the last byte
"""

from __future__ import annotations

from .files import sha256

START = b'{"digest":"'
END = b'",'
BODY = len(START) + 64 + len(END)


def seal(text: str) -> bytes:
    """The file for the text of a JSON object that has members."""
    body = text.encode()[1:]
    return START + sha256(body).encode() + END + body


def is_whole(data: bytes) -> bool:
    """Whether the file is what was written."""
    expected = START + sha256(memoryview(data)[BODY:]).encode() + END
    return data.startswith(expected)
