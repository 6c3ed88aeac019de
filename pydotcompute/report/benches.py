"""Figures of benches for the page: what `pydotcompute bench --json` printed, from files."""

from __future__ import annotations

import json
import os
from typing import Any

from ..builder.build import BuildError
from ..cache.files import read_file

EXPECTED = "expected what 'pydotcompute bench --json' prints"


def read(path: str) -> dict[str, Any]:
    """One file: {"file", "subject", "columns", "rows"}, a row a list. Raises BuildError; OSError."""
    data = read_file(path)
    try:
        found = json.loads(data)
        columns = [str(column) for column in found["columns"]]
        rows = [[_cell(figure.get(column)) for column in columns] for figure in found["figures"]]
        if found["version"] != 1:
            raise BuildError(f"{path}: version {found['version']!r} of figures, this program reads 1")
        return {"file": os.path.basename(path), "subject": str(found["subject"]), "columns": columns, "rows": rows}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BuildError(f"{path}: no figures of a bench; {EXPECTED}") from None


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float)) else str(value)
