"""A call of a kernel that is built for a CPU: by the words of its artifact, on one, two or three threads. Raises IndexError, see tests/targets/faults.py."""

import ctypes
import functools

from pydotcompute.artifact import abi
from pydotcompute.calls import words
from tests.targets.cpu.compiled import load
from tests.targets.faults import raise_told

loaded = functools.cache(load)


def run(built, values, call, seed):
    parameters, symbols = built.specialisation.parameters, built.record.signature.symbols
    layout, total = abi.slots(parameters, symbols)
    block, kept = words.fill(layout, total, parameters, values, call.dims, call.leading)
    library = loaded(built.data)
    ctypes.c_int32.in_dll(library, "threads").value = 1 + seed % 3
    if library.run(block):
        raise_told(built, *block[total : total + 4])
    del kept
