"""A call of a kernel whose text is executed here: by a program that is made of it, on the arrays of the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from pydotcompute.artifact.launch import SLOT_WORDS
from pydotcompute.backends import launch as device_launch
from pydotcompute.backends.opencl.launch import arguments as arguments_of
from pydotcompute.calls import arguments, arrays
from tests.targets.cuda.run import POISON, raise_fault


def run(program: Any, built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    parameters = built.specialisation.parameters
    slot, of_call = np.zeros(SLOT_WORDS, np.int64), np.zeros(1, np.int64)
    fault = [arrays.address(slot), np.int64(7), arrays.address(of_call)]
    names = call.dims | device_launch.scalar_names(parameters, values)
    own = [np.full(size, POISON, np.uint8) for size in device_launch.scratch_sizes(built.meta, names)]

    def read(k: int, dtype: str) -> Any:
        raise_fault(built, slot, 7)
        return own[k].view(dtype)[0].item()

    for k, (launch, meta, dims) in enumerate(device_launch.steps(built.meta, names, read)):
        raise_fault(built, slot, 7)
        scratch = [arrays.address(one) for one in own]
        given = arguments_of(meta, parameters, values, dims, call.leading, arrays.address, lambda a: 0, scratch, fault)
        words = [g.tobytes() if isinstance(g, np.generic) else np.int64(g).tobytes() for g in given]
        program.launch(launch.entry, launch.grid, launch.block, words, seed + k)
    raise_fault(built, slot, 7)
