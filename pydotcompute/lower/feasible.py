"""Whether linear inequalities contradict each other: Farkas' lemma, decided by the simplex method in exact fractions.

Inequalities c0 + c1·m1 + … ≥ 0 have no common solution exactly if some sum of them, with weights ≥ 0, is a negative
constant (J. Farkas, "Theorie der einfachen Ungleichungen", 1902). The weights are searched by phase one of the simplex
with Bland's rule, which cannot cycle (R. G. Bland, "New finite pivoting rules for the simplex method", 1977).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Hashable, Mapping, Sequence


def contradictory(inequalities: Sequence[Mapping[Hashable, int]]) -> bool:
    """True if no rational values of the unknowns make each of them ≥ 0. The key () stands for the constant."""
    useful = _useful(inequalities)
    unknowns = sorted({key for each in useful for key in each if key != ()}, key=repr)
    if not useful:
        return False
    # Rows: the weights cancel each unknown, and the constants add up to -1.
    rows = [[Fraction(each.get(key, 0)) for each in useful] + [Fraction(0)] for key in unknowns]
    rows.append([Fraction(-each.get((), 0)) for each in useful] + [Fraction(1)])
    return _has_solution(rows)


def _useful(inequalities: Sequence[Mapping[Hashable, int]]) -> list[Mapping[Hashable, int]]:
    """Without those that have an unknown which no other cancels, and without repetitions."""
    kept = list({frozenset(each.items()): each for each in inequalities}.values())
    while True:
        signs = {(key, value > 0) for each in kept for key, value in each.items() if key != ()}
        rest = [each for each in kept if all((k, v < 0) in signs for k, v in each.items() if k != ())]
        if len(rest) == len(kept):
            return kept
        kept = rest


def _has_solution(rows: list[list[Fraction]]) -> bool:
    """Is there y ≥ 0 with rows · y = the last column (which is ≥ 0)? One artificial variable a row to begin with."""
    width = len(rows[0]) - 1
    basis = [width + k for k in range(len(rows))]
    while True:
        # The artificial variables' sum falls with y[column] where the column's sum over their rows is positive.
        artificial = [row for row, variable in zip(rows, basis) if variable >= width]
        if all(not row[-1] for row in artificial):
            return True
        column = next((k for k in range(width) if sum(row[k] for row in artificial) > 0), None)
        if column is None:
            return False
        ratios = [(row[-1] / row[column], basis[k], k) for k, row in enumerate(rows) if row[column] > 0]
        pivot = min(ratios)[2]
        scale = rows[pivot][column]
        rows[pivot] = [value / scale for value in rows[pivot]]
        for k, row in enumerate(rows):
            if k != pivot and row[column]:
                factor = row[column]
                rows[k] = [a - factor * b for a, b in zip(row, rows[pivot])]
        basis[pivot] = column
