"""What an output may be filled with: `= 0`, `= -inf`, `= True`."""

from __future__ import annotations

import re
from typing import Callable, Sequence

FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)")
INTEGER = re.compile(r"[+-]?[0-9]+")


def check_fill(text: str, dtypes: Sequence[str], fail: Callable[..., Exception]) -> str:
    """The fill as written, if every one of these dtypes can hold it; raises what `fail(message, hint)` returns."""
    hint = "a fill is a number, inf, -inf, nan, True or False"
    text = {"true": "True", "false": "False"}.get(text, text)
    if text not in ("True", "False") and not FLOAT.fullmatch(text):
        raise fail(f"expected a number after '=', found {text!r}" if text else "expected a number after '='", hint)
    for dtype in dtypes:
        if not _fits(text, dtype):
            raise fail(f"{dtype} cannot hold the fill {text}", hint if dtype != "bool" else "a bool is True or False")
    return text


def _fits(text: str, dtype: str) -> bool:
    if text in ("True", "False"):
        return dtype == "bool"
    if dtype == "bool":
        return False
    if "int" not in dtype:
        return True
    if not INTEGER.fullmatch(text) or len(text) > 30:
        return False
    bits, unsigned = int(dtype.lstrip("uint")), dtype.startswith("u")
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return low <= int(text) <= high
