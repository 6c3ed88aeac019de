"""A call of a kernel that is built for CUDA: its PTX interpreted, launched as the backend launches it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pydotcompute.artifact.launch import CALL, CLAIMED, EXTENT, INDEX, KERNEL, READY, SITE, SLOT_WORDS
from pydotcompute.backends import launch as cuda_launch
from pydotcompute.calls import arguments, arrays
from tests.ptx import Memory, Module
from tests.targets.faults import raise_told

POISON = 0xA5
OTHERS = re.compile(r"_(near|counted|to_\d+)$")


def raise_fault(built: Any, slot: Any, number: int) -> None:
    """Raise what a kernel of that number has told: (array, axis, extent, index, line of the site, of the call)."""
    if slot[READY]:
        assert slot[CLAIMED] == 1 and slot[KERNEL] == number
        raise_told(built, *(int(slot[word]) for word in (SITE, CALL, EXTENT, INDEX)))
    assert not slot.any()


def by_blocks(meta: dict[str, Any]) -> dict[str, Any]:
    """How a kernel is launched whose rows are done by blocks, however short they are, and read as often as it says, which
    counts in 64 bits, and in its arrays themselves."""
    launches = [one for one in meta["launches"] if not OTHERS.search(one["entry"])]
    return {**meta, "launches": [{k: v for k, v in one.items() if k != "when"} for one in launches]}


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    """Of the versions of a kernel, an even seed takes the one that a call has."""
    launched = by_blocks(built.meta) if seed % 2 and "program" not in built.meta else built.meta
    memory, known = Memory(), {}
    roots, padded = [], []
    swaps_words = "atom.cas" in built.ptx  # also for a byte, whose word may end behind the array

    def address(array: np.ndarray) -> int:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if id(root) not in known:
            roots.append(root)
            whole = (root.view(np.uint8) if root.ndim else root.reshape(1).view(np.uint8)).reshape(-1)
            if swaps_words and whole.size % 4:
                padded.append((whole, np.append(whole, np.full(-whole.size % 4, POISON, np.uint8))))
                whole = padded[-1][1]
            known[id(root)] = memory.add(str(len(known)), whole) if root.size else 64
        return known[id(root)] + arrays.address(array) - arrays.address(root)

    parameters = built.specialisation.parameters
    slot, of_call = np.zeros(SLOT_WORDS, np.int64), np.zeros(1, np.int64)
    fault = [memory.add("slot", slot), 7, memory.add("of call", of_call)]
    names = call.dims | cuda_launch.scalar_names(parameters, values)
    own = [np.full(size, POISON, np.uint8) for size in cuda_launch.scratch_sizes(built.meta, names)]
    scratch = [memory.add("scratch", array) for array in own]
    module = Module(built.ptx)

    def read(k: int, dtype: str) -> Any:
        raise_fault(built, slot, 7)
        return own[k].view(dtype)[0].item()

    for k, (launch, meta, dims) in enumerate(cuda_launch.steps(launched, names, read)):
        raise_fault(built, slot, 7)
        given = cuda_launch.arguments(meta, parameters, values, dims, call.leading, address, scratch, fault)
        given = [g.tobytes() if isinstance(g, np.complexfloating) else g for g in given]
        module.launch(launch.entry, launch.grid, launch.block, given, memory, seed + k)
    raise_fault(built, slot, 7)
    for whole, copy in padded:
        whole[...] = copy[: whole.size]
        assert (copy[whole.size :] == POISON).all(), "bytes behind an array have changed"
