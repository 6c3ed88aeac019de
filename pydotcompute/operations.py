"""Array operations over this project's kernels, for arrays of any backend: NumPy's on the CPU, CuPy's on CUDA.

One rule for operands on different backends: an operation happens where its first array is, the others are brought
there (`to_backend`) and stay valid where they were; outputs that are given must be there already. A call of a kernel
itself, `pydotcompute.kernels.add(x, y)`, refuses such a mixture instead. Views that are not contiguous are copied.
Types are those that the kernels are declared for, float32 and float64, and nothing is converted.
"""

from __future__ import annotations

import builtins
from operator import index
from typing import Any, Sequence

import numpy as np

from . import kernels
from .backends.registry import get_backend
from .backends.transfer import backend_of, to_backend
from .runtime.dispatch import owner_of

Shape = int | Sequence[int]
_LINES, _LINE = 128, 512  # what is worth a block of its own in a sum over an axis: so many lines of so many elements

# ------------------------------------------------------------------------------------------------------- creation


def zeros(shape: Shape, dtype: Any = np.float32, backend: str = "auto") -> Any:
    """An array of zeros; of shape (), one. Raises as `full`."""
    return full(shape, 0, dtype, backend)


def ones(shape: Shape, dtype: Any = np.float32, backend: str = "auto") -> Any:
    """An array of ones. Raises as `full`."""
    return full(shape, 1, dtype, backend)


def full(shape: Shape, value: float, dtype: Any = np.float32, backend: str = "auto") -> Any:
    """An array with `value` everywhere, on the backend of this name; "auto": the best that is available.

    Raises ValueError for a negative size, TypeError for a dtype without a kernel, AllocationError, and
    BackendNotAvailableError.
    """
    out = get_backend(backend).allocate(shape, np.dtype(dtype))
    kernels.fill(int(out.size), value, out.reshape(-1))
    return out


def from_list(data: Any, shape: Shape | None = None, dtype: Any = np.float32, backend: str = "auto") -> Any:
    """A new array of the numbers in `data`, a sequence (of sequences) or an array, in the order of rows.

    shape: default that of `data`. Raises ValueError with both counts where it has another number of elements.
    """
    values = np.array(data, np.dtype(dtype), order="C")
    if shape is not None:
        sizes = tuple(index(size) for size in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        count = 1
        for size in sizes:
            count *= size
        if count != values.size or any(size < 0 for size in sizes):
            raise ValueError(f"shape {sizes} has {count} elements, the data {values.size}")
        values = values.reshape(sizes)
    return to_backend(values, backend)


def to_list(x: Any) -> list:
    """The numbers of an array as (lists of) Python's own, in the order of rows."""
    return to_backend(x, "cpu").tolist()


# ----------------------------------------------------------------------------------------------------- arithmetic


def add(x: Any, y: Any) -> Any:
    """x + y with NumPy's broadcasting; one of them may be a number. Raises ValueError for shapes that do not fit."""
    return kernels.add(*_operands(x, y))


def sub(x: Any, y: Any) -> Any:
    """x - y, as `add`."""
    return kernels.sub(*_operands(x, y))


def mul(x: Any, y: Any) -> Any:
    """x * y, as `add`."""
    return kernels.mul(*_operands(x, y))


def div(x: Any, y: Any) -> Any:
    """x / y, as `add`; by IEEE's rules: x / 0 is an infinity with the sign of both, 0 / 0 is NaN."""
    return kernels.div(*_operands(x, y))


def matmul(a: Any, b: Any) -> Any:
    """The matrix product of (m, k) and (k, n). Raises ValueError, naming both, for other shapes."""
    a, b = map(_contiguous, _operands(a, b))
    return kernels.matmul(a, b)


def matmul_vec(w: Any, x: Any) -> Any:
    """The product of a matrix (n, d) and a vector (d). Raises ValueError, naming both, for other shapes."""
    w, x = map(_contiguous, _operands(w, x))
    return kernels.matmul_vec(w, x)


def matmul_vec_into(w: Any, x: Any, out: Any) -> None:
    """`matmul_vec` into `out` (n). Raises ValueError if it has another length, or shares memory with w or x."""
    w, x = map(_contiguous, _operands(w, x))
    kernels.matmul_vec(w, x, out)


def compute_attention_scores(q: Any, keys: Any, scores: Any, scale: float) -> None:
    """scores[i] = scale * (keys[i] @ q), for q (d), keys (n, d) and scores (n): no mask, no softmax."""
    q, keys = map(_contiguous, _operands(q, keys))
    kernels.attention_scores(q, keys, scale, scores)


# ----------------------------------------------------------------------------------------------------- reductions


def sum(x: Any, axis: int | None = None) -> Any:
    """The sum of all elements, or over one axis, which the result lacks; of nothing, 0.

    Raises ValueError for an axis that is not there; negative ones are not.
    """
    if axis is None:
        return kernels.sum(_contiguous(x))
    axis = _axis(x, axis)
    if axis == x.ndim - 1:
        return _plain(kernels.sum_last(_contiguous(x)))
    return _over(x, axis, 1)


def mean(x: Any, axis: int | None = None) -> Any:
    """The mean, as `sum`; of nothing, NaN."""
    if axis is None:
        return kernels.mean(_contiguous(x))
    axis = _axis(x, axis)
    if axis == x.ndim - 1:
        return _plain(kernels.mean_last(_contiguous(x)))
    return _over(x, axis, x.shape[axis])


def min(x: Any, axis: int | None = None) -> Any:
    """The smallest element, as `sum`; NaN if one is NaN; of nothing, infinity."""
    return kernels.min(_contiguous(x)) if axis is None else _plain(kernels.min_last(_moved(x, axis)))


def max(x: Any, axis: int | None = None) -> Any:
    """The largest element, as `sum`; NaN if one is NaN; of nothing, minus infinity."""
    return kernels.max(_contiguous(x)) if axis is None else _plain(kernels.max_last(_moved(x, axis)))


def argmax(x: Any, axis: int | None = None) -> Any:
    """The position of the first largest element, or of the first NaN, in the flattened array or along an axis, as
    `sum`; of nothing, -1."""
    return kernels.argmax(_contiguous(x)) if axis is None else _plain(kernels.argmax_last(_moved(x, axis)))


def _operands(*values: Any) -> list[Any]:
    """All of them where the first array is; numbers become arrays of its dtype."""
    home = next((value for value in values if owner_of(value)), None)
    if home is None:
        raise TypeError(f"one operand must be an array, got {' and '.join(type(value).__name__ for value in values)}")
    backend = backend_of(home)
    result = []
    for value in values:
        if isinstance(value, (bool, int, float)):
            value = np.asarray(value, home.dtype)
        result.append(to_backend(value, backend))
    return result


def _contiguous(x: Any) -> Any:
    """The array, or a copy that lies in the order of its indices."""
    return x if not hasattr(x, "flags") or x.flags.c_contiguous else x.copy(order="C")


def _axis(x: Any, axis: int) -> int:
    number = index(axis)
    if not 0 <= number < x.ndim:
        there = f"there are 0 to {x.ndim - 1}" if x.ndim else "there is none"
        raise ValueError(f"axis {number} is out of range for an array of shape {tuple(x.shape)}; {there}")
    return number


def _over(x: Any, axis: int, divisor: int) -> Any:
    """Sums over an axis that is not the last, divided; of a long one, in parts first."""
    shape, inner, chunks = x.shape, 1, 0
    for size in shape[axis + 1 :]:
        inner *= size
    part = _LINES * builtins.max(inner, _LINE)
    x = _contiguous(x)
    while chunks != 1:
        x = x.reshape(*shape[:axis], -1 if x.size else 0)
        chunks = builtins.max(x.shape[-1] // part, 1)
        x = kernels.sum_axis(x, inner, chunks, divisor if chunks == 1 else 1)
    return x.reshape(*shape[:axis], *shape[axis + 1 :])


def _moved(x: Any, axis: int) -> Any:
    """The array with this axis as its last."""
    axis = _axis(x, axis)
    shape, inner = x.shape, 1
    if axis == x.ndim - 1:
        return _contiguous(x)
    for size in shape[axis + 1 :]:
        inner *= size
    folded = kernels.transpose(_contiguous(x).reshape(*shape[: axis + 1], inner))
    return folded.reshape(*shape[:axis], *shape[axis + 1 :], shape[axis])


def _plain(out: Any) -> Any:
    """NumPy's results without dimensions are scalars."""
    return out[()] if isinstance(out, np.ndarray) and out.ndim == 0 else out
