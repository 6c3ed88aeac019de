"""The arguments of a built WGSL kernel, out of its artifact's metadata: buffers, and words of 32 bits for all else.
Nothing here needs a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...artifact.dimensions import evaluate, from_data, text
from ...artifact.launch import MOST_INDEX
from ...artifact.signature import Parameter
from ..launch import Launch, unit, view

BYTES_OF_WORD, VECTOR = 4, 16


def check_limits(kernel: str, item: Mapping[str, Any], launch: Launch, known: Mapping[str, Any]) -> None:
    """Raise ValueError for a launch that counts beyond what 32 bits hold."""
    counts = [tree for tree in item["grid"]["counts"] if tree is not None]
    for tree in (*counts, *item["limits"]):
        _checked(kernel, text(from_data(tree)), int(evaluate(from_data(tree), known)))
    total = 1
    for tree in counts:
        total *= max(int(evaluate(from_data(tree), known)), 0)
    _checked(kernel, " * ".join(text(from_data(tree)) for tree in counts), total)


def check_array(kernel: str, name: str, first: int, last: int, size: int) -> None:
    """Raise ValueError for an array that reaches beyond element 2**31 of its buffer. first, last: bytes."""
    _checked(kernel, f"the last element of {name} in its buffer", last // size)


def _checked(kernel: str, what: str, value: int) -> None:
    if not -MOST_INDEX <= value <= MOST_INDEX:
        raise ValueError(
            f"{kernel}: {what} is {value}, and on WebGPU, which counts in 32 bits, at most {MOST_INDEX} can be"
        )


def arguments(
    meta: Mapping[str, Any], parameters: Sequence[Parameter], values: Mapping[str, Any], dims: Mapping[str, int],
    leading: tuple[int, ...] | None, scratch: Sequence[Any], fault: Sequence[Any], memory: Callable[[str], Any],
) -> tuple[list[Any], list[int]]:  # fmt: skip
    """(buffers, words) of a launch. values: by parameter, NumPy scalars and arrays that have shape, strides, offset and
    dtype; fault: the words for faults, see artifact/launch.py; memory: the buffer of an array, by its name."""
    known = {p.name: p for p in parameters}
    views: dict[str, list[int]] = {}
    buffers: list[Any] = []
    found: list[int] = []
    for kind, name, *rest in meta["arguments"]:
        if kind == "symbol":
            found += _words(np.int64(dims[name]))
        elif kind == "scratch":
            buffers.append(scratch[name])
        elif kind == "fault" and name != 1:
            buffers.append(fault[name])
        elif kind == "fault":
            found += _words(np.int32(fault[name]))
        elif kind == "start":
            found += _words(np.int32(name))
        elif kind == "scalar":
            found += _words(getattr(values[name], rest[0]) if rest else values[name])
        elif kind == "data":
            buffers.append(memory(name))
        else:
            array = values[name]
            trailing, size = array.ndim - len(known[name].dims or ()), unit(array.dtype)
            if kind == "offset":
                number = array.offset // size
            elif kind == "extent":
                number = array.shape[trailing + rest[0]]
            elif kind == "stride":
                number = array.strides[trailing + rest[0]] // size
            else:
                if name not in views:
                    views[name] = view(array.shape, array.strides, trailing, leading or ())
                number = views[name][rest[0]] // size if rest[0] % 2 else views[name][rest[0]]
            found += _words(np.int32(number))
    return buffers, found


def _words(value: Any) -> list[int]:
    """A NumPy scalar as words; what is smaller than one becomes one, with its sign; float16 and bfloat16 float32."""
    scalar = np.asarray(value)
    if scalar.dtype.itemsize < BYTES_OF_WORD:
        wide = "f4" if scalar.dtype.kind in "fV" else "i4" if scalar.dtype.kind == "i" else "u4"
        scalar = scalar.astype(wide)
    return np.frombuffer(scalar.tobytes(), np.uint32).tolist()


def packed(words: Sequence[int], least: int) -> np.ndarray:
    """As a buffer has them: whole vectors of four, at least `least` words."""
    size = max(-(-max(len(words), least) * BYTES_OF_WORD // VECTOR), 1) * VECTOR // BYTES_OF_WORD
    return np.array([*words, *[0] * (size - len(words))], np.uint32)
