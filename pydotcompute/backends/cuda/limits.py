"""What every CUDA device that is supported can do, by compute capability, and the largest launches it takes."""

from __future__ import annotations

from ...artifact.launch import MOST_BLOCK, MOST_GRID, MOST_THREADS

# CUDA C++ Programming Guide, "Compute capabilities": the first that has a feature.
_FEATURES = {
    "async": (0, 0), "atomics": (0, 0), "float64": (0, 0), "streams": (0, 0), "shared_memory": (0, 0),
    "fp16": (5, 3), "shared_atomics": (6, 0), "tensor_cores": (7, 0),
}  # fmt: skip

Sizes = tuple[int, int, int]


def minimum_capability(feature: str) -> tuple[int, int] | None:
    """The compute capability that a feature needs; None for one that is not known."""
    return _FEATURES.get(feature)


def check_limits(grid: tuple[int, ...], block: tuple[int, ...]) -> tuple[Sizes, Sizes]:
    """Both with three sizes. Raises ValueError for what no device runs."""
    whole = tuple(((*sizes, 1, 1)[:3]) for sizes in (grid, block))
    for what, sizes, most in (("grid", whole[0], MOST_GRID), ("block", whole[1], MOST_BLOCK)):
        for axis, size, limit in zip("xyz", sizes, most):
            if size > limit:
                raise ValueError(f"{what} {sizes}: at most {limit} along {axis}")
    threads = whole[1][0] * whole[1][1] * whole[1][2]
    if threads > MOST_THREADS:
        raise ValueError(f"block {whole[1]} has {threads} threads; a device runs at most {MOST_THREADS} in one")
    return whole[0], whole[1]  # type: ignore[return-value]
