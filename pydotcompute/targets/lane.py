"""What a thread accumulates of one reduction, on every target whose threads work in blocks."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.dtypes import COMPLEX
from ..ir.tree import Reduction

_EXACT = ("float32", "float64", *COMPLEX)  # sums that carry their error


def lane_dtypes(r: Reduction) -> tuple[str, ...]:
    """The dtypes of what threads exchange for a reduction."""
    if r.op in ("argmin", "argmax"):
        return r.operand_type, "int64"
    return (r.type,)


@dataclass(frozen=True)
class Lane:
    """One reduction while a thread accumulates it; texts are names."""

    reduction: Reduction
    value: str  # the partial value; of argmin and argmax the best element
    extra: str  # of sums the error carried; of argmin and argmax the position
    plain: bool = False  # a sum of so few terms that it needs no error carried
    position: str = ""  # of a reduction over blocks: the block's number

    @property
    def dtype(self) -> str:
        """Of `value`."""
        return lane_dtypes(self.reduction)[0]

    @property
    def positioned(self) -> bool:
        return self.reduction.op in ("argmin", "argmax")

    @property
    def compensated(self) -> bool:
        return self.reduction.op == "sum" and self.dtype in _EXACT and not self.plain

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """(name, dtype) of what threads exchange."""
        return tuple(zip((self.value, self.extra), lane_dtypes(self.reduction)))
