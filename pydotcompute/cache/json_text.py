"""JSON → value. With the interpreter's own scanner, because the package around it costs 2 ms to import."""

from __future__ import annotations

from typing import Any


def text_of(data: bytes) -> str:
    """What was written by us. Raises ValueError: it is no UTF-8, or has half of a character, which only an escape can
    say and nothing can print; ours have no escapes of that kind."""
    text = data.decode()
    if "\\u" in text and "\\ud" in text.replace("\\\\", "").lower():
        raise ValueError("it has half of a character")
    return text


def parse(text: str) -> Any:
    """The value of a text that was written by us. Raises ValueError, RecursionError."""
    try:
        from _json import make_scanner
    except ImportError:
        return parse_safely(text)
    try:
        value, end = make_scanner(_SCAN)(text, 0)  # type: ignore[arg-type]  # a context; the stubs say another thing
    except (StopIteration, SystemError):  # it makes its errors by that package
        return parse_safely(text)
    if text[end:].strip():
        raise ValueError(f"more than one value, from character {end}")
    return value


def parse_safely(text: str) -> Any:
    """The same for text that may be anything."""
    import json

    return json.loads(text)


class _SCAN:
    """What json.JSONDecoder says to the scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: dict[str, str] = {}
