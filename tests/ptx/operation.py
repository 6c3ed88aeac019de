"""What an instruction that only computes is: types of its results and operands, and a function on vectors of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DTYPES = {
    "pred": np.dtype(bool), "b8": np.dtype("u1"), "u8": np.dtype("u1"), "s8": np.dtype("i1"),
    "b16": np.dtype("u2"), "u16": np.dtype("u2"), "s16": np.dtype("i2"), "f16": np.dtype("f2"),
    "b32": np.dtype("u4"), "u32": np.dtype("u4"), "s32": np.dtype("i4"), "f32": np.dtype("f4"),
    "b64": np.dtype("u8"), "u64": np.dtype("u8"), "s64": np.dtype("i8"), "f64": np.dtype("f8"),
}  # fmt: skip


class Operation(NamedTuple):
    results: tuple[str, ...]  # types of the destinations
    sources: tuple[str, ...]  # types of the operands after them
    compute: Callable
    carry_in: bool = False
    carry_out: bool = False
