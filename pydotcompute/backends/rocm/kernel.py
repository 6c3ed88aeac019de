"""A built kernel on an AMD device: its module, loaded from verified bytes; its calls."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ...calls.arguments import Call
from ..cuda import arrays as cuda_arrays
from ..cuda.kernel import CUDAKernel
from ..launch import Launch
from ..opencl.launch import arguments as arguments_of

MOST_ITEMS = 2**32 - 1  # threads along an axis of a launch: a packet of the queue has 32 bits for them


class ROCmKernel(CUDAKernel):
    """As CUDAKernel; the arguments are those that text has (targets/text/arrays.py)."""

    def image(self, data: bytes) -> bytes:
        return data

    def log(self, data: bytes) -> str:
        return ""

    def arguments(
        self, meta: Mapping[str, Any], call: Call, values: Mapping[str, Any], dims: Mapping[str, int],
        scratch: Sequence[int], fault: Sequence[int],
    ) -> list:  # fmt: skip
        return arguments_of(
            meta, self.artifact.parameters, values, dims, call.leading, cuda_arrays.address, lambda array: 0, scratch,
            fault,
        )  # fmt: skip

    def fitted(self, launch: Launch) -> Launch:
        """With fewer blocks, where there are too many threads: any number of blocks does everything."""
        x, y, z = (min(blocks, MOST_ITEMS // threads) for blocks, threads in zip(launch.grid, launch.block))
        return launch._replace(grid=(x, y, z))
