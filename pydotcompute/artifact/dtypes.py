"""The dtypes of kernels as NumPy's, and the two that are stored in 16 bits: float16 and bfloat16. What is computed with
them is float32. bfloat16 is ml_dtypes', which is asked for and never imported here: a program that has such arrays has
imported it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a build with nothing to do names dtypes, and imports no NumPy
    import numpy as np

STORED = ("float16", "bfloat16")  # of elements; a value of theirs is a float32


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype of this name. Raises ImportError for bfloat16 where nothing has imported ml_dtypes."""
    import numpy as np

    try:
        return np.dtype(name)
    except TypeError:
        from .remedies import install

        told = "bfloat16 is a type of ml_dtypes', which this program has not imported: import ml_dtypes first"
        raise ImportError(f"{told} ({install('bfloat16', 'ml_dtypes')})") from None


def kind(dtype: np.dtype[Any]) -> str:
    """NumPy's letter of its kind: of bfloat16, which NumPy does not know as a float, "f" too."""
    return "f" if dtype.name == "bfloat16" else dtype.kind


def finfo(dtype: np.dtype[Any]) -> Any:
    """What `numpy.finfo` says of a float or complex dtype; of bfloat16 what ml_dtypes says in the same words."""
    import numpy as np

    return sys.modules["ml_dtypes"].finfo(dtype) if dtype.name == "bfloat16" else np.finfo(dtype)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """What a signature calls it: datetime64 and timedelta64 are the int64 that they are."""
    return "int64" if dtype.kind in "mM" else dtype.name


def nearest(number: float, dtype: str) -> float:
    """The value of one of STORED that is nearest to a number, of two the even one; an infinity beyond the largest."""
    import numpy as np

    if dtype == "bfloat16":
        return float(of_bfloat16(bfloat16_bits(number)))
    with np.errstate(over="ignore"):
        return float(np.float16(number))


def bfloat16_bits(numbers: Any) -> np.ndarray:
    """The bits, uint16, of the nearest values of bfloat16: rounded once, half to even; a NaN is quiet."""
    import numpy as np

    wide = np.asarray(numbers, np.float64)
    with np.errstate(all="ignore"):
        near = wide.astype(np.float32)
        size, wanted = np.abs(near.astype(np.float64)), np.abs(wide)
    bits = near.view(np.uint32)
    # Rounded to odd first, so that rounding again is correct.
    step = np.where(bits & 1, 0, (size < wanted).astype(np.int64) - (size > wanted))
    odd = (bits + step).astype(np.uint32)
    rounded = (odd + np.uint32(0x7FFF) + (odd >> 16 & 1)) >> 16
    return np.where(np.isnan(wide), bits >> 16 | 0x40, rounded).astype(np.uint16)


def of_bfloat16(bits: Any) -> np.ndarray:
    """The float32 values of these bits."""
    import numpy as np

    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)
