"""A PTX interpreter: runs the text that the compiler made, on NumPy memory, where there is no GPU.

    memory = Memory()
    x = memory.add("x", array)                    # an address; the array is used in place
    Module(text).launch("saxpy", grid=(4,), block=(256,), arguments=[n, a, x, y], memory=memory, seed=0)

Threads run as NumPy vectors. Between two synchronisations the threads of a block are dealt into random groups that
run one after the other, so what needs a barrier and has none goes wrong. Refused with `PtxError`: an instruction or
modifier it does not know, a read of an undefined register or of shared or local memory never written, an address
outside of every array or misaligned, a store to read-only memory, a barrier that not all threads of a block reach.
"""

from .machine import Module
from .memory import Memory
from .parse import PtxError

__all__ = ["Memory", "Module", "PtxError"]
