# Written by 'pydotcompute build'; what is changed here is lost with the next one.
# Of NumPy's float32 and float64 arrays mypy thinks that one could be both:
# mypy: disable-error-code="overload-overlap"

from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from pydotcompute.runtime.kernel import Kernel

__all__ = ["rows", "saxpy"]

class _OnDevice(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _rows_kernel(Kernel):
    """a choice of rows, checked

    rows(x: float64[n, m], index: int64[k]) -> (out: float64[k, m])

    Outputs that are not given are allocated; what is returned are the outputs.
    """
    @overload
    def __call__(self, x: NDArray[np.float64], index: NDArray[np.int64], out: NDArray[np.float64] | None = None, *, backend: str = ..., stream: Any = None) -> NDArray[np.float64]: ...
    @overload
    def __call__(self, x: _OnDevice, index: _OnDevice, out: _OnDevice | None = None, *, backend: str = ..., stream: Any = None) -> Any: ...

class _saxpy_kernel(Kernel):
    """a * x + y

    saxpy(a: T, x: T[...], y: T[...]) -> (out: T[...])
      T: float32, float64

    Outputs that are not given are allocated; what is returned are the outputs.
    """
    @overload
    def __call__(self, a: float | np.floating[Any] | np.integer[Any], x: NDArray[np.float32], y: NDArray[np.float32], out: NDArray[np.float32] | None = None, *, backend: str = ..., stream: Any = None) -> NDArray[np.float32]: ...
    @overload
    def __call__(self, a: float | np.floating[Any] | np.integer[Any], x: NDArray[np.float64], y: NDArray[np.float64], out: NDArray[np.float64] | None = None, *, backend: str = ..., stream: Any = None) -> NDArray[np.float64]: ...
    @overload
    def __call__(self, a: float | np.floating[Any] | np.integer[Any], x: _OnDevice, y: _OnDevice, out: _OnDevice | None = None, *, backend: str = ..., stream: Any = None) -> Any: ...

rows: _rows_kernel
saxpy: _saxpy_kernel
