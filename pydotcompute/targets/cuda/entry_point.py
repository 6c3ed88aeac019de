"""What a kernel of a module for CUDA is called, and what it takes."""

from __future__ import annotations

from typing import Any, NamedTuple


class EntryPoint(NamedTuple):
    """One kernel of a module: `types` are dtypes ("int64") and pointers to them ("float32*"), an argument each;
    an argument may also be an array of numba's ("float32[:, ::1]"), for raw kernels, or any type of numba's itself."""

    name: str
    types: tuple[Any, ...]
    noalias: tuple[bool, ...] = ()  # for pointers: nothing else of the call reaches what it writes or reads
    block: int = 0  # the most threads that it is launched with; 0: not said
    function: str = ""  # its name in Python, where that is another
