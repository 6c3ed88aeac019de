"""The digest that a manifest begins with, over all that follows it, in a file that is plain JSON nevertheless.

    {"digest":"e3b0…",REST          the digest is BLAKE2b of REST, to the last byte, of 32 bytes

BLAKE2b takes a third of SHA-256's time, and every process that loads kernels pays for it.
"""

from __future__ import annotations

START = b'{"digest":"'
END = b'",'
BODY = len(START) + 64 + len(END)


def seal(text: str) -> bytes:
    """The file for the text of a JSON object that has members."""
    body = text.encode()[1:]
    return _start(body) + body


def is_whole(data: bytes) -> bool:
    """Whether the file is what was written."""
    return data.startswith(_start(memoryview(data)[BODY:]))


def _start(body: bytes | memoryview) -> bytes:
    try:
        from _blake2 import blake2b  # hashlib would load OpenSSL
    except ImportError:
        from hashlib import blake2b
    return START + blake2b(body, digest_size=32).hexdigest().encode() + END
