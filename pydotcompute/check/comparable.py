"""Outputs as they are compared: of one that is trimmed to a count what is beyond it does not matter, and those that are
declared unordered are sorted, together, along their first axis."""

from __future__ import annotations

from typing import Mapping

import numpy as np

from ..artifact.dtypes import STORED
from ..declare.model import Kernel


def is_plain(kernel: Kernel) -> bool:
    return not kernel.unordered and not any(p.length for p in kernel.signature.outputs)


def lengths(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> dict[str, int]:
    """How many elements along its first axis count, of each output that is trimmed."""
    found = {}
    for p in kernel.signature.outputs:
        if p.length and p.name in arrays:
            found[p.name] = min(max(int(arrays[p.length]), 0), len(arrays[p.name]))
    return found


def seen(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The written arrays, copies of those that change: what does not count is 0, what is unordered sorted."""
    result, length = dict(arrays), lengths(kernel, arrays)
    for name, count in length.items():
        result[name] = np.array(result[name])
        result[name][count:] = 0
    together: dict[int, list[str]] = {}
    for name in kernel.unordered:
        if name in result:
            together.setdefault(length.get(name, len(result[name])), []).append(name)
    for count, names in together.items():
        order = _order([result[name][:count] for name in names])
        for name in names:
            result[name] = np.concatenate([result[name][:count][order], result[name][count:]])
    return result


def fitted(kernel: Kernel, values: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> dict[str, object]:
    """The values of a reference, those of trimmed outputs as long as the arrays are: zeros behind them."""
    result = dict(values)
    for p in kernel.signature.outputs:
        given, array = np.asarray(values.get(p.name, 0)), arrays[p.name]
        if p.length and given.ndim == array.ndim and given.shape[1:] == array.shape[1:] and len(given) < len(array):
            rest = np.zeros((len(array) - len(given), *given.shape[1:]), given.dtype)
            result[p.name] = np.concatenate([given, rest])
    return result


def _order(arrays: list[np.ndarray]) -> np.ndarray:
    """The rows of several arrays, seen as one, in ascending order: by integers first, which are exact."""
    columns = []
    for array in sorted(arrays, key=lambda a: a.dtype.kind not in "biu"):
        flat = array.reshape(len(array), -1) if array.size else np.zeros((len(array), 0), array.dtype)
        flat = flat.astype(np.float32) if flat.dtype.name in STORED else flat
        parts = (flat.real, flat.imag) if flat.dtype.kind == "c" else (flat,)
        columns += [part[:, k] for part in parts for k in range(part.shape[1])]
    return np.lexsort(columns[::-1]) if columns else np.arange(len(arrays[0]))
