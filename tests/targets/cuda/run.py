"""A call of a kernel that is built for CUDA: its PTX interpreted, launched as the backend launches it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pydotcompute.backends import launch as cuda_launch
from pydotcompute.calls import arguments, arrays
from tests.ptx import Memory, Module

POISON = 0xA5


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
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
    names = call.dims | cuda_launch.scalar_names(parameters, values)
    own = [np.full(size, POISON, np.uint8) for size in cuda_launch.scratch_sizes(built.meta, names)]
    scratch = [memory.add("scratch", array) for array in own]
    module = Module(built.ptx)
    for k, (launch, meta, dims) in enumerate(cuda_launch.steps(built.meta, names, lambda k, dtype: own[k].view(dtype)[0].item())):
        given = cuda_launch.arguments(meta, parameters, values, dims, call.leading, address, scratch)
        given = [g.tobytes() if isinstance(g, np.complexfloating) else g for g in given]
        given = [g.view(np.uint16) if isinstance(g, np.float16) else g for g in given]
        module.launch(launch.entry, launch.grid, launch.block, given, memory, seed + k)
    for whole, copy in padded:
        whole[...] = copy[: whole.size]
        assert (copy[whole.size :] == POISON).all(), "bytes behind an array have changed"
