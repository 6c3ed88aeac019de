"""Whether linear inequalities contradict each other: Farkas' lemma, decided by the simplex method in whole numbers.

Inequalities c0 + c1·m1 + … ≥ 0 have no common solution exactly if some sum of them, with weights ≥ 0, is a negative
constant (J. Farkas, "Theorie der einfachen Ungleichungen", 1902). The weights are searched by phase one of the simplex
with Bland's rule, which cannot cycle (R. G. Bland, "New finite pivoting rules for the simplex method", 1977).
"""

from __future__ import annotations

import math
from typing import Mapping, Sequence

Key = tuple[int, ...]  # an unknown; () is the constant


def contradictory(inequalities: Sequence[Mapping[Key, int]]) -> bool:
    """True if no rational values of the unknowns make each of them ≥ 0. The key () stands for the constant."""
    useful = _useful(inequalities)
    unknowns = sorted({key for each in useful for key in each if key != ()}, key=repr)
    if not useful:
        return False
    # Rows: the weights cancel each unknown, and the constants add up to -1.
    rows = [[*(each.get(key, 0) for each in useful), 0] for key in unknowns]
    rows.append([*(-each.get((), 0) for each in useful), 1])
    return _has_solution(rows)


def _useful(inequalities: Sequence[Mapping[Key, int]]) -> list[Mapping[Key, int]]:
    """Without those that have an unknown which no other cancels, and without repetitions."""
    kept = list({frozenset(each.items()): each for each in inequalities}.values())
    while True:
        signs = {(key, value > 0) for each in kept for key, value in each.items() if key != ()}
        rest = [each for each in kept if all((k, v < 0) in signs for k, v in each.items() if k != ())]
        if len(rest) == len(kept):
            return kept
        kept = rest


def _has_solution(rows: list[list[int]]) -> bool:
    """Is there y ≥ 0 with rows · y = the last column (which is ≥ 0)? One artificial variable a row to begin with;
    `goal` is their sum, to be brought to 0. Each row, and the goal, is kept up to a factor above 0."""
    width = len(rows[0]) - 1
    basis = [width + k for k in range(len(rows))]
    goal = [sum(column) for column in zip(*rows)]
    while goal[-1] > 0:
        column = next((k for k in range(width) if goal[k] > 0), None)
        if column is None:
            return False
        pivot = -1
        for k, row in enumerate(rows):
            if row[column] > 0:
                least = pivot < 0
                if not least:  # compare row[-1] / row[column], then the basis
                    a, b = row[-1] * rows[pivot][column], rows[pivot][-1] * row[column]
                    least = a < b or (a == b and basis[k] < basis[pivot])
                pivot = k if least else pivot
        leaving = rows[pivot]
        goal = _eliminated(goal, leaving, column)
        rows = [
            _eliminated(row, leaving, column) if row[column] and k != pivot else row for k, row in enumerate(rows)
        ]
        basis[pivot] = column
    return True


def _eliminated(row: list[int], pivot: list[int], column: int) -> list[int]:
    factor, scale = row[column], pivot[column]
    result = [a * scale - factor * b for a, b in zip(row, pivot)]
    divisor = math.gcd(*result)
    return [value // divisor for value in result] if divisor > 1 else result
