"""What a place in a program may name: scalars, loop indices, arrays that may be read at any index, single elements."""

from __future__ import annotations

from dataclasses import dataclass, field

from .values import Expr

Extent = str | int  # a symbol, or a number


@dataclass
class Array:
    """A parameter or an array of the kernel's own."""

    name: str
    dtype: str
    dims: tuple[Extent, ...] | None  # as the kernel sees it; None: a scalar argument, () an output scalar
    role: str = "in"  # "in" "inout" "out" "temp"; "shared" "private" "local"; "tuple"; "row" of another; "own" of a helper
    layout: str = "C"
    ellipsis: bool = False
    fill: str | None = None
    data: str = "any"  # "small": whole numbers whose sums are exact; "places": a permutation of its positions; "count"
    written: str = ""  # how the signature writes its dims, where an output's are expressions
    prefix: str = ""  # of the part of an array that belongs to a block: the indices of the block
    narrow: str = ""  # what it is stored as, where that is not what its elements are read as: "float16" "bfloat16"

    weak: bool = False  # of a tuple: its elements take the type of what they meet
    values: tuple[int | float, ...] = ()  # of such a tuple: an element at a known index is a literal
    default: str = ""  # of a scalar that a call may leave out
    swapped: bool = False  # of a helper's parameter: it may be swapped with another like it

    @property
    def stored(self) -> str:
        """The dtype of its memory."""
        return self.narrow or self.dtype

    @property
    def writable(self) -> bool:
        return self.role in ("inout", "out")


@dataclass
class Scope:
    scalars: list[Expr] = field(default_factory=list)
    mutable: list[Expr] = field(default_factory=list)  # those of them that may be assigned here
    indices: dict[str, Extent] = field(default_factory=dict)  # 0 ≤ name < extent
    positive: set[Extent] = field(default_factory=set)  # symbols known to be at least 1 here
    arrays: list[Array] = field(default_factory=list)
    elements: list[Expr] = field(default_factory=list)  # `out[i, j]`, once it holds something
    targets: list[Expr] = field(default_factory=list)  # elements that may be stored into here
    sequential: int = 0  # how many `for` and `while` stand around, up to the parallel loop
    depth: int = 0

    def child(self, **changes) -> Scope:
        own = {name: value.copy() if hasattr(value, "copy") else value for name, value in self.__dict__.items()}
        return Scope(**{**own, **changes})

    def inner(self) -> Scope:
        """The scope of a nested block: what is named in it ends with it."""
        return self.child(depth=self.depth + 1)

    def add(self, variable: Expr, mutable: bool = True) -> None:
        self.scalars.append(variable)
        if mutable:
            self.mutable.append(variable)
