"""What an output may be filled with, and a scalar argument is where it is left out: `= 0`, `= -inf`, `= True`."""

from __future__ import annotations

import re
import sys
from typing import Callable, Sequence

from ..artifact.signature import fill_value

COMPLEX = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?(?:[+-][0-9.]+(?:[eE][+-]?[0-9]+)?)?[jJ]")
LARGEST = {
    "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
    "complex64": 3.4028234663852886e38,
}  # fmt: skip
FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)")
INTEGER = re.compile(r"[+-]?[0-9]+")


def check_fill(text: str, noun: str, dtypes: Sequence[str], fail: Callable[..., Exception]) -> str:
    """The fill or default (`noun`) as written, if every one of these dtypes can hold it; raises what `fail(message,
    hint)` returns."""
    hint = f"a {noun} is a number, inf, -inf, nan, True or False"
    text = {"true": "True", "false": "False"}.get(text, text)
    if text not in ("True", "False") and not FLOAT.fullmatch(text) and not COMPLEX.fullmatch(text):
        raise fail(f"expected a number after '=', found {text!r}" if text else "expected a number after '='", hint)
    for dtype in dtypes:
        if not _fits(text, dtype):
            raise fail(f"{dtype} cannot hold the {noun} {text}", hint if dtype != "bool" else "a bool is True or False")
    return text


def _fits(text: str, dtype: str) -> bool:
    if dtype == "bool":
        return text in ("True", "False", "0", "1")
    if text in ("True", "False") or ("int" in dtype and (not INTEGER.fullmatch(text) or len(text) > 30)):
        return False
    try:
        value = fill_value(text, dtype)
    except ValueError:
        return False
    if isinstance(value, int):
        bits, unsigned = int(dtype.lstrip("uint")), dtype.startswith("u")
        return (0 if unsigned else -(2 ** (bits - 1))) <= value < 2 ** (bits - (not unsigned))
    parts = (value.real, value.imag)
    return "inf" in text or not any(abs(part) > LARGEST.get(dtype, sys.float_info.max) for part in parts)
