"""A module of PTX, and the launch of one of its entries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .batch import AT_BARRIER, AT_WARP, EXITED, READY, Batch
from .memory import Memory
from .operation import DTYPES
from .parse import TYPE_BYTES, PtxError, parse
from .program import Program

THREADS_AT_ONCE = 1 << 15
GROUPS = 3  # into which the threads of a block are dealt between two synchronisations


class Module:
    """`target` is the text's; `entries` are its kernels' names."""

    def __init__(self, text: str):
        self.functions, self.tables, self.target = parse(text)
        self.entries = tuple(name for name, f in self.functions.items() if f.entry)
        self.programs: dict[str, tuple[dict, Program]] = {}  # an entry as it was decoded for these addresses of tables

    def launch(
        self, entry: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence, memory: Memory, seed: int = 0
    ) -> None:
        """Run a kernel to its end. Arguments are addresses, numbers or bytes, as the entry's parameters want them."""
        function = self.functions[entry]
        for space in memory.spaces:
            space.uses = None
        grid, block = (tuple(v) + (1,) * (3 - len(v)) for v in (grid, block))
        threads = int(np.prod(block))
        if not 1 <= threads <= 1024 or min(grid) < 1 or grid[0] > 2**31 - 1 or max(grid[1:]) > 65535:
            raise PtxError(f"grid {grid}, block {block} cannot be launched")
        if len(arguments) != len(function.parameters):
            raise PtxError(f"{entry} has {len(function.parameters)} parameters, not {len(arguments)}")
        parameters = {n: _bytes(a, t) for (n, t), a in zip(function.parameters, arguments)}
        addresses, shared = {}, []
        for table in self.tables:
            if table.space == "shared":
                shared.append(table)
            else:
                addresses[table.name] = ("global", memory.constant(table.name, table.data, table.space == "global"))
        known, program = self.programs.get(entry, (None, None))
        if known != addresses:
            program = Program(function, addresses, shared)
            self.programs[entry] = addresses, program
        random = np.random.default_rng(seed)
        count = int(np.prod(grid, dtype=np.int64))
        order = random.permutation(count)
        at_once = max(1, THREADS_AT_ONCE // threads)
        with np.errstate(all="ignore"):
            for first in range(0, count, at_once):
                _run(Batch(program, memory, order[first : first + at_once], grid, block, parameters, random))


def _bytes(value, kind: str) -> bytes:
    if isinstance(value, bytes):
        return value
    dtype = DTYPES[kind]
    if dtype.kind in "iu":
        return (int(value) % (1 << 8 * TYPE_BYTES[kind])).to_bytes(TYPE_BYTES[kind], "little")
    return np.asarray(value, dtype).tobytes()


def _run(batch: Batch) -> None:
    """All threads to their end: groups of those that can go on, then whatever waited, until all have exited."""
    blocks = batch.program.blocks
    alone = not any(block.wait for block in blocks) and not batch.program.shared
    while True:
        ready = np.flatnonzero(batch.state == READY)
        if len(ready):
            group = np.zeros(len(ready), int) if alone else batch.random.integers(0, GROUPS, len(ready))
            for k in batch.random.permutation(GROUPS):
                members = ready[group == k]
                if len(members):
                    _advance(batch, members)
        if (batch.state == EXITED).all():
            return
        if not _release_warps(batch) + _release_blocks(batch):
            raise PtxError(_stuck(batch))


def _advance(batch: Batch, threads: np.ndarray) -> None:
    """Run these threads until each waits or has exited; of those apart, the ones behind go first."""
    blocks, pc = batch.program.blocks, batch.pc
    while len(threads):
        places = pc[threads]
        place = int(places.min())
        here = threads if places[0] == place and (places == place).all() else threads[places == place]
        index = None if len(here) == batch.n else here
        block = blocks[place]
        for step in block.steps:
            step(batch, index)
        if block.kind == "wait":
            batch.state[here] = AT_BARRIER if block.wait.scope == "block" else AT_WARP
        elif block.kind == "next":
            if place + 1 == len(blocks):
                raise PtxError("the text ends without ret")
            pc[here] = place + 1
        else:
            taken = here if block.guard is None else here[block.guard(batch, here) != block.negated]
            pc[here] = place + 1
            if block.kind == "branch":
                pc[taken] = block.target
            else:
                batch.state[taken] = EXITED
        threads = threads[batch.state[threads] == READY]


def _release_warps(batch: Batch) -> int:
    waiting = np.flatnonzero(batch.state == AT_WARP)
    released = 0
    for place in np.unique(batch.pc[waiting]):
        here = waiting[batch.pc[waiting] == place]
        wait = batch.program.blocks[place].wait
        mask = np.broadcast_to(wait.mask(batch, here), len(here))
        arrived = np.zeros(batch.warps, np.uint32)
        bits = np.uint32(1) << batch.lane[here]
        np.bitwise_or.at(arrived, batch.warp[here], bits)
        if (mask & bits == 0).any():
            raise PtxError(f"{wait.text}: a lane that its mask leaves out")
        complete = here[arrived[batch.warp[here]] & mask == mask]
        if len(complete):
            wait.complete(batch, complete)
            batch.pc[complete] += 1
            batch.state[complete] = READY
            released += len(complete)
    return released


def _release_blocks(batch: Batch) -> int:
    state, places = batch.state.reshape(batch.blocks, -1), batch.pc.reshape(batch.blocks, -1)
    at_barrier = state == AT_BARRIER
    done = (at_barrier | (state == EXITED)).all(axis=1) & at_barrier.any(axis=1)
    released = 0
    for k in np.flatnonzero(done):
        if not at_barrier[k].all():
            raise PtxError("a divergent barrier: some threads of the block have exited")
        if (places[k] != places[k][0]).any():
            raise PtxError("a divergent barrier: threads of one block wait at different ones")
    for place in np.unique(places[done]):
        here = np.flatnonzero((done[:, None] & (places == place)).reshape(-1))
        wait = batch.program.blocks[place].wait
        if wait.complete:
            wait.complete(batch, here)
        batch.pc[here] += 1
        batch.state[here] = READY
        released += len(here)
    return released


def _stuck(batch: Batch) -> str:
    waiting = np.flatnonzero((batch.state == AT_BARRIER) | (batch.state == AT_WARP))
    texts = {batch.program.blocks[p].wait.text for p in np.unique(batch.pc[waiting])}
    return f"threads wait for ever at {' and '.join(sorted(texts))}"
