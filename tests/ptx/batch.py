"""The threads of some blocks while they run: registers, where each thread stands, shared and local memory."""

from __future__ import annotations

import numpy as np

from .memory import LOCAL_WINDOW, SHARED_WINDOW, STORED, Memory, Space
from .parse import PtxError

READY, AT_BARRIER, AT_WARP, EXITED = 0, 1, 2, 3


class Batch:
    def __init__(self, program, memory: Memory, blocks: np.ndarray, grid, block, parameters: dict[str, bytes], random):
        """`blocks` are linear block numbers; threads of a block lie side by side."""
        threads = block[0] * block[1] * block[2]
        self.program, self.memory, self.parameters, self.random = program, memory, parameters, random
        self.n, self.threads, self.blocks = threads * len(blocks), threads, len(blocks)
        linear = np.tile(np.arange(threads, dtype=np.uint32), len(blocks))
        number = np.repeat(blocks.astype(np.uint32), threads)
        self.block_of = np.repeat(np.arange(len(blocks)), threads)
        self.lane = linear % 32
        warps = -(-threads // 32)
        self.warp = self.block_of * warps + linear // 32
        self.warps = warps * len(blocks)
        self.special = {"%laneid": self.lane, "%warpid": linear // 32}
        for axis, name in enumerate("xyz"):
            below = int(np.prod(block[:axis]))
            self.special[f"%tid.{name}"] = linear // below % block[axis]
            self.special[f"%ctaid.{name}"] = number // int(np.prod(grid[:axis])) % grid[axis]
            self.special[f"%ntid.{name}"] = np.full(1, block[axis], np.uint32)
            self.special[f"%nctaid.{name}"] = np.full(1, grid[axis], np.uint32)
        one = np.uint32(1)
        self.special["%lanemask_lt"] = (one << self.lane) - one
        self.special["%lanemask_eq"] = one << self.lane
        self.registers: list = [None] * len(program.slots)
        self.defined: list = [None] * len(program.slots)
        self.slots: dict[str, np.ndarray] = {}  # parameters of inlined calls, a value a thread
        self.pc = np.zeros(self.n, np.int64)
        self.state = np.zeros(self.n, np.int8)
        self.shared, self.shared_size = self._own(program.shared, self.blocks, "shared memory")
        self.local, self.local_size = self._own(program.local, self.n, "local memory")

    @staticmethod
    def _own(size: int, owners: int, name: str) -> tuple[Space, int]:
        padded = -(-size // 16) * 16
        space = Space(np.zeros(padded * owners, np.uint8), name, True, size, None)
        space.written = Space(np.zeros(padded * owners, np.uint8), name, True, size)
        return space, padded

    def reach(self, kind: str, addresses: np.ndarray, index, item: int, what: str):
        """(space, which of the addresses or None, offsets into its data) for each space that is meant; checked."""
        if kind == "" and (addresses >= np.uint64(SHARED_WINDOW)).any():
            local = addresses >= np.uint64(LOCAL_WINDOW)
            if local.all() or not local.any():
                kind = "local" if local.any() else "shared"
                addresses = addresses - np.uint64(LOCAL_WINDOW if kind == "local" else SHARED_WINDOW)
            else:
                raise PtxError(f"{what}: one access to shared, local and global memory")
        if kind in ("shared", "local"):
            space, padded = (self.shared, self.shared_size) if kind == "shared" else (self.local, self.local_size)
            space.check(addresses, item, what)
            owner = self.block_of if kind == "shared" else np.arange(self.n)
            owner = owner if index is None else owner[index]
            return [(space, None, addresses + (owner * padded).astype(np.uint64))]
        found = self.memory.find(addresses, what)
        for space, _, offsets in found:
            space.check(offsets, item, what)
        return found

    def load(self, kind: str, addresses: np.ndarray, index, item: int, what: str) -> np.ndarray:
        """Unsigned integers of `item` bytes at the addresses of the threads `index`."""
        result = np.empty(len(addresses), f"u{item}")
        for space, chosen, offsets in self.reach(kind, addresses, index, item, what):
            elements = (offsets // np.uint64(item)).astype(np.int64)
            if space.written is not None:
                marks = space.written.view(item)[elements]
                if (marks != np.iinfo(marks.dtype).max).any():
                    raise PtxError(f"{what}: {space.name} is read where nothing was written")
            values = space.view(item)[elements]
            if chosen is None:
                return values
            result[chosen] = values
        return result

    def forget(self, kind: str, addresses: np.ndarray, index, item: int, what: str) -> None:
        """What is stored there is undefined: to be read it must be written first."""
        for space, _, offsets in self.reach(kind, addresses, index, item, what):
            space.written.view(item)[(offsets // np.uint64(item)).astype(np.int64)] = 0

    def store(self, kind: str, addresses: np.ndarray, values: np.ndarray, index, item: int, what: str) -> None:
        for space, chosen, offsets in self.reach(kind, addresses, index, item, what):
            self.writable(space, offsets, item, what)
            elements = (offsets // np.uint64(item)).astype(np.int64)
            space.view(item)[elements] = values if chosen is None or len(values) == 1 else values[chosen]
            if space.written is not None:
                view = space.written.view(item)
                view[elements] = np.iinfo(view.dtype).max

    @staticmethod
    def writable(space: Space, offsets: np.ndarray, item: int, what: str) -> None:
        if not space.writable:
            raise PtxError(f"{what}: {space.name} is read-only")
        if space.written is None:
            space.use(offsets, item, STORED, what)
