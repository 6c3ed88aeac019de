"""JSON → value. With the interpreter's own scanner, because the package around it costs 2 ms to import."""

from __future__ import annotations

from typing import Any


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
