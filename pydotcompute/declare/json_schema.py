"""The JSON Schema of kernels.yaml, made from the table that the loader checks by."""

from __future__ import annotations

from typing import Any

from .table import DECLARATION


def schema(targets: str = "") -> dict[str, Any]:
    """A JSON Schema (draft 2020-12). What it cannot say, such as unbound symbols, the loader alone refuses.

    targets: a regular expression of the targets that there are; without it every name of that form is one.
    """
    made = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pydotcompute: kernels.yaml",
        **DECLARATION.schema(),
    }
    if targets:
        made["properties"]["targets"]["items"]["pattern"] = targets
    return made
