"""The arguments of a built OpenCL kernel, out of its artifact's metadata; targets/text/arrays.py says what they mean.
Nothing here needs a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...artifact.signature import Parameter
from ..launch import unit, view

PASSED = {"bool": np.uint8}  # scalars that no kernel may be given as they are


def arguments(
    meta: Mapping[str, Any], parameters: Sequence[Parameter], values: Mapping[str, Any], dims: Mapping[str, int],
    leading: tuple[int, ...] | None, memory: Callable[[Any], Any], start: Callable[[Any], int], scratch: Sequence[Any],
    fault: Sequence[Any] = (),
) -> list[Any]:  # fmt: skip
    """The arguments of every launch of a call. values: by parameter, NumPy scalars and arrays of any kind that has
    shape, strides, dtype and ndim; `memory` is an array's buffer, `start` the byte in it at which the array begins;
    fault: the words for faults, see artifact/launch.py."""
    known = {p.name: p for p in parameters}
    views: dict[str, list[int]] = {}
    result: list[Any] = []
    for kind, name, *rest in meta["arguments"]:
        if kind == "symbol":
            result.append(np.int64(dims[name]))
        elif kind == "scratch":
            result.append(scratch[name])
        elif kind == "fault":
            result.append(fault[name])
        elif kind == "start":
            result.append(np.int64(name))
        elif kind == "scalar":
            value = getattr(values[name], rest[0]) if rest else values[name]
            result.append(PASSED.get(known[name].dtype, lambda v: v)(value))
        elif kind == "data":
            result.append(memory(values[name]))
        else:
            array = values[name]
            trailing = array.ndim - len(known[name].dims or ())
            size = unit(array.dtype)
            if kind == "offset":
                result.append(np.int64(start(array) // size))
            elif kind == "extent":
                result.append(np.int64(array.shape[trailing + rest[0]]))
            elif kind == "stride":
                result.append(np.int64(array.strides[trailing + rest[0]] // size))
            else:
                if name not in views:
                    words = view(array.shape, array.strides, trailing, leading or ())
                    views[name] = [word // size if k % 2 else word for k, word in enumerate(words)]
                result.append(np.int64(views[name][rest[0]]))
    return result
