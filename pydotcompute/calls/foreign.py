"""Memory of the host that other packages own, as NumPy arrays of that very memory: nothing is copied.

Taken are: what gives DLPack of the host (PyTorch, JAX) or has `__array_interface__`; Series and Index of pandas and
DataArray of xarray, whose labels are left aside; what has Python's buffer protocol (array.array, memoryview, bytes,
mmap, ctypes arrays).
"""

from __future__ import annotations

from typing import Any

import numpy as np

_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost in dlpack.h: of the last two devices copy faster
_FAULTS = (BufferError, RuntimeError, TypeError, ValueError)  # what packages raise where they have no such memory
_LABELLED = {"pandas": ("Series", "Index"), "xarray": ("DataArray",)}
_NEVER = (int, float, complex, str, list, tuple, type, np.generic)  # most values of calls: not looked at any further


def owns(value: Any) -> bool:
    """Whether this is an array of another package that lies on the host."""
    if isinstance(value, _NEVER):
        return False
    kind = type(value)
    if hasattr(kind, "__dlpack_device__"):
        return dlpack_device(value) in _HOST
    return _has_interface(value) or bool(_labelled(kind)) or _is_buffer(value)


def dlpack_device(value: Any) -> int | None:
    """Which type of device the memory of an array lies on that has `__dlpack_device__`; None where it has none, or on
    a device that DLPack does not know."""
    try:
        return int(value.__dlpack_device__()[0])
    except _FAULTS:
        return None


def require_own_signs(value: Any) -> None:
    """Raise BufferError for a tensor of PyTorch that has the numbers in memory negated, such as the imaginary part of a
    conjugate: DLPack cannot say so, and PyTorch does not look."""
    if hasattr(value, "resolve_neg") and value.is_neg():
        raise BufferError("its numbers are negated when they are read; use tensor.resolve_neg()")


def adopt(value: Any) -> np.ndarray:
    """The memory of `value`, for which `owns` is true.

    Raises TypeError for what NumPy has no array of, or what means more than its memory says; its text goes on after the
    argument's name.
    """
    kind = type(value)
    called = f"is a {kind.__module__}.{kind.__qualname__}"
    if package := _labelled(kind):
        numbers = value.values if package == "pandas" else value.data
        if not isinstance(numbers, np.ndarray):
            advice = "its .to_numpy()" if package == "pandas" else "its .compute()"
            raise TypeError(f"{called} of {_of(numbers)}, which is no memory that kernels know: pass {advice}")
        return numbers
    try:
        if hasattr(kind, "__dlpack_device__"):
            return _of_dlpack(value)
        if not _has_interface(value):
            return np.asarray(memoryview(value))
        masked, array = value.__array_interface__.get("mask") is not None, np.asarray(value)
    except _FAULTS as error:
        raise TypeError(f"{called}, which does not give its memory away: {error}") from error
    if masked:
        raise TypeError(f"{called} with a mask; kernels know no masks")
    if hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"):
        raise TypeError(f"{called}, which means more than its numbers: pass numpy.asarray of it")
    return array


def _of_dlpack(value: Any) -> np.ndarray:
    require_own_signs(value)
    array = np.from_dlpack(value)
    if not array.flags.writeable and hasattr(value, "numpy"):
        # Before DLPack 1.0 nobody said whether memory may be written, and NumPy takes it that it may not.
        own = value.numpy()
        if own.flags.writeable and np.shares_memory(own, array):
            return own
    return array


def _has_interface(value: Any) -> bool:
    # On the object itself it is looked for without asking the object: some make one up, with a warning.
    return hasattr(type(value), "__array_interface__") or "__array_interface__" in getattr(value, "__dict__", ())


def _labelled(kind: type) -> str:
    """The package whose labelled array this is; empty: of none."""
    packages = ((c.__module__.partition(".")[0], c.__name__) for c in kind.__mro__)
    return next((package for package, name in packages if name in _LABELLED.get(package, ())), "")


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _of(value: Any) -> str:
    return f"a {type(value).__module__.partition('.')[0]} {type(value).__name__}"
