"""Array operations over this project's kernels, for arrays of any backend: NumPy's on the CPU, CuPy's on CUDA.

One rule for operands on different backends: an operation happens where its first array is, the others are brought
there (`to_backend`) and stay valid where they were; outputs that are given must be there already. A call of a kernel
itself, `pydotcompute.kernels.add(x, y)`, refuses such a mixture instead. Views that are not contiguous are copied.

Types are those that the kernels are declared for, float32 and float64. Arrays of different types are refused. A number
beside an array becomes one of its type, as a scalar argument of a kernel does: Python's if the value fits (beside
float32, 1e300 is an OverflowError and 1j a TypeError), NumPy's from the same kind (a np.float64 is rounded to float32).
NumPy's are what `sum` of a NumPy array gives, so where no operand is an array, the first of them counts as one.
"""

from __future__ import annotations

import builtins
import sys
from math import prod
from typing import Any, Sequence

import numpy as np

from . import kernels
from .backends.cpu.backend import checked_shape
from .backends.names import HOST
from .calls.scalars import convert, is_scalar, type_name
from .devices.registry import get_backend, owner_of
from .devices.transfer import backend_of, to_backend
from .errors import AllocationError

Shape = int | Sequence[int]
_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}  # of dtypes: a number becomes one of its own kind or a higher one
_LARGEST = {np.dtype(kind): float(np.finfo(kind).max) for kind in ("f4", "f8")}
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

    Raises ValueError for a negative size, TypeError for a shape of other than integers and for a dtype without a
    kernel, OverflowError for a value that does not fit it, AllocationError, and BackendNotAvailableError.
    """
    sizes, kind = _sizes(shape), np.dtype(dtype)
    if 0 in sizes and prod(filter(None, sizes)) * kind.itemsize > sys.maxsize:
        raise ValueError(f"shape {sizes} is too large, even for an array without elements")
    out = get_backend(backend).allocate(sizes, kind)
    kernels.fill(int(out.size), value, out.reshape(-1))
    return out


def from_list(data: Any, shape: Shape | None = None, dtype: Any = np.float32, backend: str = "auto") -> Any:
    """A new array of the numbers in `data`, a sequence (of sequences) or an array, in the order of rows.

    shape: default that of `data`. Raises ValueError with both counts where it has another number of elements, and for
    rows of different lengths; TypeError for what is not a number or of a kind that does not become the dtype (complex
    float32, float int64), OverflowError for a number that does not fit it, AllocationError.
    """
    kind = np.dtype(dtype)
    try:
        found = np.asarray(data)
    except ValueError as error:
        raise ValueError("the data must be numbers, in rows of equal lengths") from error
    if found.dtype == object:  # of integers beyond 64 bits, if of numbers at all
        found = np.array([convert(one, kind.name, "the data") for one in found.flat], kind).reshape(found.shape)
    if found.size and _KINDS.get(found.dtype.kind, 4) > _KINDS.get(kind.kind, -1):
        raise TypeError(f"the data is {found.dtype}, which does not become {kind}")
    sizes = found.shape if shape is None else _sizes(shape)
    if prod(sizes) != found.size:
        raise ValueError(f"shape {sizes} has {prod(sizes)} elements, the data {found.size}")
    values = get_backend(HOST).allocate(found.shape, kind)
    with np.errstate(over="ignore"):
        values[...] = found
    lost = values != found if kind.kind in "iu" else np.isinf(values) & ~np.isinf(found)
    if lost.any():
        raise OverflowError(f"the data has {found[lost][0]}, which does not fit {kind}")
    return to_backend(values.reshape(sizes), backend)


def to_list(x: Any) -> list:
    """The numbers of an array as (lists of) Python's own, in the order of rows."""
    return to_backend(x, HOST).tolist()


# ----------------------------------------------------------------------------------------------------- arithmetic


def add(x: Any, y: Any) -> Any:
    """x + y with NumPy's broadcasting; one of them may be a number.

    Raises ValueError for shapes that do not fit; for a number that does not fit the array's type OverflowError, or
    TypeError if it is of another kind.
    """
    return _elementwise("add", x, y)


def sub(x: Any, y: Any) -> Any:
    """x - y, as `add`."""
    return _elementwise("sub", x, y)


def mul(x: Any, y: Any) -> Any:
    """x * y, as `add`."""
    return _elementwise("mul", x, y)


def div(x: Any, y: Any) -> Any:
    """x / y, as `add`; by IEEE's rules: x / 0 is an infinity with the sign of both, 0 / 0 is NaN."""
    return _elementwise("div", x, y)


def matmul(a: Any, b: Any) -> Any:
    """The matrix product of (m, k) and (k, n). Raises ValueError, naming both, for other shapes."""
    a, b = map(_contiguous, _operands("matmul", a=a, b=b))
    return kernels.matmul(a, b)


def matmul_vec(w: Any, x: Any) -> Any:
    """The product of a matrix (n, d) and a vector (d). Raises ValueError, naming both, for other shapes."""
    w, x = map(_contiguous, _operands("matmul_vec", w=w, x=x))
    return kernels.matmul_vec(w, x)


def matmul_vec_into(w: Any, x: Any, out: Any) -> None:
    """`matmul_vec` into `out` (n). Raises ValueError if it has another length, or shares memory with w or x."""
    w, x = map(_contiguous, _operands("matmul_vec_into", w=w, x=x))
    kernels.matmul_vec(w, x, _array(out, "matmul_vec_into: 'out'"))


def compute_attention_scores(q: Any, keys: Any, scores: Any, scale: float) -> None:
    """scores[i] = scale * (keys[i] @ q), for q (d), keys (n, d) and scores (n): no mask, no softmax."""
    q, keys = map(_contiguous, _operands("compute_attention_scores", q=q, keys=keys))
    kernels.attention_scores(q, keys, scale, _array(scores, "compute_attention_scores: 'scores'"))


# ----------------------------------------------------------------------------------------------------- reductions


def sum(x: Any, axis: int | None = None) -> Any:
    """The sum of all elements, or over one axis, which the result lacks; of nothing, 0.

    Raises ValueError for an axis that is not there; negative ones are not.
    """
    if axis is None:
        return kernels.sum(_contiguous(x))
    x, axis = _along(x, axis)
    if axis == x.ndim - 1:
        return _plain(kernels.sum_last(_contiguous(x)))
    return _over(x, axis, 1)


def mean(x: Any, axis: int | None = None) -> Any:
    """The mean, as `sum`; of nothing, NaN."""
    if axis is None:
        return kernels.mean(_contiguous(x))
    x, axis = _along(x, axis)
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


def _elementwise(name: str, x: Any, y: Any) -> Any:
    """A kernel of two operands. NumPy's arrays, and one with a number, are most calls: the kernel itself looks at them,
    and what it refuses is for the rule above to serve, or to say what is wrong."""
    one, other = x, y
    if type(x) is np.ndarray and type(y) in (float, int) and -(most := _LARGEST.get(x.dtype, -1.0)) <= y <= most:
        other = np.array(float(y), x.dtype)
    elif type(y) is np.ndarray and type(x) in (float, int) and -(most := _LARGEST.get(y.dtype, -1.0)) <= x <= most:
        one = np.array(float(x), y.dtype)
    if type(one) is np.ndarray and type(other) is np.ndarray:
        try:
            return getattr(kernels, name)(one, other)
        except (TypeError, ValueError):
            pass
    return getattr(kernels, name)(*_operands(name, x=x, y=y))


def _operands(kernel: str, **values: Any) -> list[Any]:
    """All of them where the first array is; numbers become arrays of its dtype."""
    values = {name: _own(value, f"{kernel}: operand '{name}'") for name, value in values.items()}
    homes = [value for value in values.values() if owner_of(value)]
    homes += [value for value in values.values() if isinstance(value, np.generic)]
    if not homes:
        raise TypeError(f"{kernel}: one operand must be an array, got {' and '.join(map(type_name, values.values()))}")
    home = homes[0]
    backend = backend_of(home) if owner_of(home) else get_backend(HOST)
    result = []
    for name, value in values.items():
        if is_scalar(value):
            dtype = (home if isinstance(home, (np.ndarray, np.generic)) else backend.arrays.plain(home)).dtype
            if dtype.kind == "f":  # others no kernel here takes, and the kernel says so
                value = convert(value, dtype.name, f"{kernel}: operand '{name}'")
            value = np.asarray(value)
        result.append(to_backend(_array(value, f"{kernel}: operand '{name}'"), backend))
    return result


def _array(value: Any, who: str) -> Any:
    """The value, if it is an array."""
    if not owner_of(value):
        raise TypeError(f"{who} must be an array, got {type_name(value)}")
    return value


def _own(value: Any, who: str) -> Any:
    """The value; of an array of another package's that lies on the host, NumPy's of its memory."""
    if isinstance(value, np.ndarray) or owner_of(value) != HOST:
        return value
    try:
        return get_backend(HOST).arrays.adopt(value)
    except TypeError as error:
        raise TypeError(f"{who} {error}") from error


def _sizes(shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple."""
    try:
        return checked_shape(shape)
    except TypeError:
        raise TypeError(f"shape must be an integer or a sequence of integers, got {shape!r}") from None


def _contiguous(x: Any) -> Any:
    """The array, or a copy that lies in the order of its indices."""
    x = _own(x, "'x'")
    if not hasattr(x, "flags") or x.flags.c_contiguous:
        return x
    arrays = backend_of(x).arrays
    try:
        return arrays.contiguous(x) if hasattr(arrays, "contiguous") else x.copy(order="C")
    except MemoryError as error:
        told = f"no memory for a contiguous copy of {x.nbytes} bytes (shape {tuple(x.shape)}, {x.dtype.name})"
        raise AllocationError(told) from error


def _along(x: Any, axis: int) -> tuple[Any, int]:
    """The array, and an axis that it has."""
    x = _own(_array(x, "'x'"), "'x'")
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise TypeError(f"axis must be None or one integer, got {axis!r}")
    if not 0 <= axis < x.ndim:
        there = f"there are 0 to {x.ndim - 1}" if x.ndim else "there is none"
        raise ValueError(f"axis {axis} is out of range for an array of shape {tuple(x.shape)}; {there}")
    return x, int(axis)


def _over(x: Any, axis: int, divisor: int) -> Any:
    """Sums over an axis that is not the last, divided; of a long one, in parts first."""
    shape, chunks = x.shape, 0
    inner = prod(shape[axis + 1 :])
    lines = _LINES if isinstance(x, np.ndarray) else 4 * _LINES  # a GPU's blocks take longer to begin and to end
    part = lines * builtins.max(inner, _LINE)
    x = _contiguous(x)
    while chunks != 1:
        x = x.reshape(*shape[:axis], -1 if x.size else 0)
        chunks = builtins.max(x.shape[-1] // part, 1)
        x = kernels.sum_axis(x, inner, chunks, divisor if chunks == 1 else 1)
    return x.reshape(*shape[:axis], *shape[axis + 1 :])


def _moved(x: Any, axis: int) -> Any:
    """The array with this axis as its last."""
    x, axis = _along(x, axis)
    shape = x.shape
    if axis == x.ndim - 1:
        return _contiguous(x)
    folded = kernels.transpose(_contiguous(x).reshape(*shape[: axis + 1], prod(shape[axis + 1 :])))
    return folded.reshape(*shape[:axis], *shape[axis + 1 :], shape[axis])


def _plain(out: Any) -> Any:
    """NumPy's results without dimensions are scalars."""
    return out[()] if isinstance(out, np.ndarray) and out.ndim == 0 else out
