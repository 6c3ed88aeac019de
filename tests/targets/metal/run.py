"""A call of a kernel that is built for Metal: its text, executed here."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pydotcompute.artifact.launch import SLOT_WORDS
from pydotcompute.backends import launch as device_launch
from pydotcompute.backends.opencl.launch import arguments as arguments_of
from pydotcompute.calls import arguments, arrays
from tests.metal import Program, missing
from tests.targets.cuda.run import POISON, raise_fault

__all__ = ["missing", "program", "run"]


@functools.lru_cache(maxsize=64)
def program(built: Any) -> Program:
    return Program(built.data.decode(), built.meta)


def run(built: Any, values: dict[str, Any], call: arguments.Call, seed: int) -> None:
    parameters, loaded = built.specialisation.parameters, program(built)
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
        loaded.launch(launch.entry, launch.grid, launch.block, words, seed + k)
    raise_fault(built, slot, 7)
