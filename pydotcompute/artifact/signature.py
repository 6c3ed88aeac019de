"""Signatures as plain data: what both halves of the house say about arguments. Named tuples, because a program that
calls a built kernel pays for every import."""

from __future__ import annotations

from typing import NamedTuple

from .dimensions import Tree

DTYPE_BYTES = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
DTYPES = tuple(DTYPE_BYTES)


class Parameter(NamedTuple):
    """One argument or output of a signature.

    `dims` is None for a scalar (an output scalar is written `name[()]` in the kernel). `ellipsis` says that the
    dims begin with `...`: alone (`T[...]`, dims = ()) the array is seen flat, with `size` elements; with trailing
    dims (`T[..., n]`) the leading ones are seen as one, `rows`, so the kernel's rank is 1 + len(dims).
    A dim is a symbol (str), a number (int), or an expression over them and params (artifact/dimensions).
    """

    name: str
    dtype: str  # a dtype, or a type variable
    dims: tuple[Tree, ...] | None
    role: str  # "in" "inout" "out"; "temp": scratch, which the call allocates
    ellipsis: bool = False
    layout: str = "C"  # "C" "strided" "broadcast"
    fill: str | None = None  # a literal: what an output or scratch holds before the kernel runs; a scalar's default
    length: str | None = None  # of an output that is trimmed along its first dim: the output that says to how many

    @property
    def is_input(self) -> bool:
        """Whether it is an argument: a call brings it, or it has a default."""
        return self.role in ("in", "inout")

    @property
    def may_be_left_out(self) -> bool:
        """Whether it is a scalar argument with a default."""
        return self.is_input and self.fill is not None

    @property
    def in_memory(self) -> bool:
        """Whether it has elements: all but scalar arguments."""
        return self.is_array or not self.is_input

    @property
    def is_array(self) -> bool:
        return self.dims is not None

    @property
    def rank(self) -> int:
        """How many indices the kernel uses: 0 for scalars, 1 for `T[...]`, 1 + len(dims) for `T[..., dims]`."""
        return len(self.dims or ()) + self.ellipsis

    @property
    def writable(self) -> bool:
        return self.role != "in"


class Signature(NamedTuple):
    text: str
    parameters: tuple[Parameter, ...]  # inputs, then outputs, then scratch
    symbols: tuple[str, ...]  # dimension symbols in order of first appearance, `size` and `rows` among them

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.is_input)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role == "out")

    @property
    def scratch(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role == "temp")

    @property
    def written(self) -> tuple[Parameter, ...]:
        """What a caller finds changed."""
        return tuple(p for p in self.parameters if p.role in ("inout", "out"))


def fill_value(text: str, dtype: str) -> bool | int | float | complex:
    """The value of a `= fill` literal: `0`, `-1`, `0.5`, `-inf`, `nan`, `True`. ValueError: not one of dtype's."""
    if text in ("True", "true", "False", "false"):
        value: bool | int | float | complex = text in ("True", "true")
    elif dtype.startswith("complex"):
        value = complex(text)
    elif "float" in dtype:
        value = float(text)
    else:
        value = int(text)
    return bool(value) if dtype == "bool" else value


def default_value(text: str, dtype: str) -> bool | int | float | complex:
    """The value of the default of a scalar argument as a call would write it; dtype: as declared, perhaps a variable.
    """
    if text in ("True", "False") or dtype == "bool":
        return fill_value(text, "bool")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return complex(text)
