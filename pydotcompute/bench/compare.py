"""Figures beside those of an earlier run of the same subject: what is measured is the same where its words are."""

from __future__ import annotations

import json
from math import inf
from typing import Any

from . import SUBJECTS

COLUMN = "to before"  # how much slower than then: above 1 is worse


class Before:
    """The figures of `bench --json`, in a file. Raises ValueError, OSError for what is no such file."""

    def __init__(self, path: str, subject: str):
        with open(path, encoding="utf-8") as file:
            try:
                told = json.load(file)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}: not JSON ({error}); write it by bench --json") from None
        if not isinstance(told, dict) or not isinstance(told.get("figures"), list):
            raise ValueError(f"{path}: no figures of bench --json")
        if told.get("subject") != subject:
            raise ValueError(f"{path}: figures of --subject {told.get('subject')}, not {subject}")
        self.path, self.compared = path, SUBJECTS[subject].compared
        self.figures = {_words(row): row for row in told["figures"] if isinstance(row, dict)}

    def judge(self, row: dict[str, Any], most: float) -> None:
        """Add to a row how it is to the one before; and `failed` where it is more than `most` times as slow. A row that
        was not there has neither."""
        name = self.compared.lstrip("-")
        then: Any = self.figures.get(_words(row), {}).get(name)
        now = row.get(name)
        if type(then) not in (int, float) or not 0 < then < inf or not now:  # the file may say anything
            return
        row[COLUMN] = then / now if name == self.compared else now / then  # of "-" less is better
        if row[COLUMN] > most:
            slower = f"{row[COLUMN]:.2f} times as slow as in {self.path}, of {name}: {then:.3g} then, {now:.3g} now"
            row["failed"] = "; ".join(filter(None, (row.get("failed"), f"{', '.join(_words(row))}: {slower}")))


def _words(row: dict[str, Any]) -> tuple[str, ...]:
    """What says which row it is: all but its figures, of which one is written as a percentage, and what is said of
    them, which is another thing where it has become slower."""
    said = ("failed", "note", "occupancy", "bound by")
    return tuple(v for k, v in row.items() if isinstance(v, str) and k not in said)
