"""How many warps of a kernel a multiprocessor holds at once, and what limits them, by compute capability.

Limits: CUDA C++ Programming Guide, "Technical specifications per compute capability". Units of allocation:
cuda_occupancy.h of the CUDA toolkit, whose results these are with default settings.
"""

from __future__ import annotations

from typing import NamedTuple


class Multiprocessor(NamedTuple):
    warps: int
    blocks: int
    shared: int  # bytes, at the most
    reserved: int = 1024  # bytes of it that each block has besides its own
    shared_unit: int = 128  # bytes
    partitions: int = 4  # whose registers a warp has


WARP = 32
REGISTERS, REGISTER_UNIT = 65536, 256  # of a multiprocessor; by which a warp gets them
_KIB = 1024
MULTIPROCESSORS = {
    **{(5, k): Multiprocessor(64, 32, size * _KIB, 0, 256) for k, size in ((0, 64), (2, 96), (3, 64))},
    (6, 0): Multiprocessor(64, 32, 64 * _KIB, 0, 256, 2),
    (6, 1): Multiprocessor(64, 32, 96 * _KIB, 0, 256),
    (6, 2): Multiprocessor(64, 32, 64 * _KIB, 0, 256),
    (7, 0): Multiprocessor(64, 32, 96 * _KIB, 0, 256),
    (7, 2): Multiprocessor(64, 32, 96 * _KIB, 0, 256),
    (7, 5): Multiprocessor(32, 16, 64 * _KIB, 0, 256),
    (8, 0): Multiprocessor(64, 32, 164 * _KIB),
    (8, 6): Multiprocessor(48, 16, 100 * _KIB),
    (8, 7): Multiprocessor(48, 16, 164 * _KIB),
    (8, 9): Multiprocessor(48, 24, 100 * _KIB),
    (9, 0): Multiprocessor(64, 32, 228 * _KIB),
    (10, 0): Multiprocessor(64, 32, 228 * _KIB),
    (10, 3): Multiprocessor(64, 32, 228 * _KIB),
    (12, 0): Multiprocessor(48, 24, 100 * _KIB),
    (12, 1): Multiprocessor(48, 24, 100 * _KIB),
}


class Occupancy(NamedTuple):
    warps: int  # on a multiprocessor at once
    most: int  # that there could be
    limit: str  # what there is too little of for more: "warps", "blocks", "registers" or "shared memory"


def occupancy(capability: tuple[int, int], block: int, registers: int, shared: int) -> Occupancy | None:
    """Of blocks of so many threads, with so many registers a thread and bytes of shared memory a block. None: nothing
    is known here of the capability."""
    sm = MULTIPROCESSORS.get(capability)
    if sm is None:
        return None
    warps = -(-block // WARP)
    found = {"warps": sm.warps // warps, "blocks": sm.blocks}
    if registers:
        of_a_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
        found["registers"] = REGISTERS // sm.partitions // of_a_warp * sm.partitions // warps
    if taken := shared + sm.reserved:
        found["shared memory"] = sm.shared // (-(-taken // sm.shared_unit) * sm.shared_unit)
    limit = min(found, key=lambda name: found[name])
    return Occupancy(found[limit] * warps, sm.warps, limit)
