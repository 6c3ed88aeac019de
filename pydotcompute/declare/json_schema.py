"""The JSON Schema of kernels.yaml, made from the table that the loader checks by."""

from __future__ import annotations

from typing import Any

from .table import DECLARATION


def schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12). What it cannot say, such as unbound symbols, the loader alone refuses."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pydotcompute: kernels.yaml",
        **DECLARATION.schema(),
    }
