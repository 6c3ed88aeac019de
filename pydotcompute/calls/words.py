"""A checked call as the words that `run` takes (abi.py), for arrays in host memory."""

from __future__ import annotations

import ctypes
from typing import Any, Mapping, Sequence

from ..artifact.abi import FAULT_WORDS, Slot
from ..artifact.signature import Parameter
from . import arrays


def fill(
    layout: Sequence[Slot], total: int, parameters: Sequence[Parameter], values: Mapping[str, Any],
    dims: Mapping[str, int], leading: tuple[int, ...] | None,
) -> tuple[ctypes.Array, list]:  # fmt: skip
    """The words, with room for a fault behind them; and what must stay alive until `run` has returned."""
    words = (ctypes.c_int64 * (total + FAULT_WORDS))()
    kept: list = []
    known = {p.name: p for p in parameters}
    for slot in layout:
        if slot.kind == "symbol":
            words[slot.index] = dims[slot.name]
            continue
        value, p = values[slot.name], known[slot.name]
        if slot.kind == "scalar":
            bits = value.tobytes().ljust(8, b"\0")
            for k in range(0, len(bits), 8):
                words[slot.index + k // 8] = int.from_bytes(bits[k : k + 8], "little", signed=True)
        elif slot.kind == "data":
            words[slot.index] = arrays.address(value)
        elif slot.kind == "stride":
            words[slot.index] = value.strides[value.ndim - len(p.dims or ()) + slot.axis]
        else:
            kept.append(view(value, value.ndim - len(p.dims or ()), leading or ()))
            words[slot.index] = ctypes.addressof(kept[-1])
    return words, kept


def view(array: Any, own: int, leading: tuple[int, ...]) -> ctypes.Array:
    """The descriptor of the first `own` dims of an array, seen in the shape `leading`."""
    result = (ctypes.c_int64 * (1 + 2 * len(leading)))(len(leading))
    missing = len(leading) - own
    for axis, size in enumerate(leading):
        stride = 0
        if axis >= missing and array.shape[axis - missing] == size:
            stride = array.strides[axis - missing]
        result[1 + 2 * axis], result[2 + 2 * axis] = size, stride
    return result
