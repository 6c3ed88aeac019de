"""What lowered Python calls the operators of the kernel language, and what combines two values of a reduction, by."""

from __future__ import annotations

from ...ir.operations import BINARY, COMPARISONS, REDUCTIONS

OPERATORS = {symbol: operator.word for symbol, operator in BINARY.items()}
COMPARE = {symbol: operator.word for symbol, operator in COMPARISONS.items()}
EXTREMA = {"min": "minimum", "max": "maximum"}
COMBINE = {
    op: EXTREMA.get(reduction.combine) or OPERATORS[reduction.combine]
    for op, reduction in REDUCTIONS.items()
    if not reduction.positioned
}
