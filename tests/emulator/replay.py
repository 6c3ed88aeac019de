"""Launches of the same code on the same memory, which are interpreted once: what the first has written is written again.

For thousands of calls that should come to few different launches. Which threads go first is then one of many orders.
"""

from bisect import bisect_right

import numpy as np
from cupy._machine import DeviceMemory

from tests.ptx import Module
from tests.ptx.memory import Space


def install() -> dict[str, int]:
    """From now on, in this process. How many launches were interpreted, and how many repeated, so far."""
    known: dict[tuple, list[tuple[int, bytes]]] = {}
    counted, interpret = {"interpreted": 0, "repeated": 0}, Module.launch

    def launch(module, entry, grid, block, arguments, memory, seed=0):
        places, spaces = reached(arguments, memory)
        key = module, entry, grid, block, tuple(places), tuple(bytes(s.data) for s in spaces)
        if key in known:
            counted["repeated"] += 1
            for number, data in known[key]:
                spaces[number].data[:] = np.frombuffer(data, np.uint8)
            return
        counted["interpreted"] += 1
        interpret(module, entry, grid, block, arguments, memory, seed)
        known[key] = [(k, after) for k, s in enumerate(spaces) if (after := bytes(s.data)) != key[-1][k]]

    Module.launch = launch
    return counted


def reached(arguments: list[bytes], memory: DeviceMemory) -> tuple[list, list[Space]]:
    """The arguments, an address as (which of the allocations, how far behind its beginning), and these allocations."""
    spaces: list[Space] = []
    places: list = []
    for data in arguments:
        value = int.from_bytes(data, "little")
        at = bisect_right(memory.starts, value) - 1
        if len(data) == 8 and at >= 0 and value < memory.starts[at] + memory.spaces[at].size:
            if not any(space is memory.spaces[at] for space in spaces):
                spaces.append(memory.spaces[at])
            number = next(k for k, space in enumerate(spaces) if space is memory.spaces[at])
            places.append((number, value - memory.starts[at]))
        else:
            places.append(data)
    return places, spaces
