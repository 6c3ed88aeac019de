"""Expressions over dimensions and params, from a manifest: `n // 2`, `dim % 2 == 0`. Numbers and operators only."""

from __future__ import annotations

import re
from functools import lru_cache
from types import CodeType
from typing import Any, Mapping

FUNCTIONS = {"min": min, "max": max, "abs": abs}
_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|<<|>>|[-+*/%<>=!(),])")


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression. Raises ValueError if it is none, or divides by zero."""
    try:
        return eval(_compiled(text), {"__builtins__": {}, **FUNCTIONS}, names)
    except (ArithmeticError, NameError, TypeError) as error:
        raise ValueError(f"'{text}' has no value ({error}) for {values(text, names)}") from None


def values(text: str, names: Mapping[str, Any]) -> str:
    """`n = 3, k = 4`: those of the names that the expression uses, for a message."""
    used = dict.fromkeys(name for name in re.findall(r"[A-Za-z_]\w*", text) if name in names)
    return ", ".join(f"{name} = {names[name]}" for name in used)


@lru_cache(1024)
def _compiled(text: str) -> CodeType:
    # Names, numbers and operators cannot reach an object's attributes, so nothing but arithmetic can happen.
    position = 0
    while position < len(text.rstrip()):
        token = _TOKEN.match(text, position)
        if token is None or (token[1] or "").startswith("__"):
            raise ValueError(f"'{text}' is not an expression over dimensions and params")
        position = token.end()
    try:
        return compile(text.strip(), "<expression>", "eval")
    except SyntaxError:
        raise ValueError(f"'{text}' is not an expression over dimensions and params") from None
