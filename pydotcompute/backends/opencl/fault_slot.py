"""Where kernels in an OpenCL context tell of an index outside of its array: a buffer, which is read behind each launch
that may have written to it, without waiting; a later call looks at what has been read by then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from ...artifact.launch import READY, SLOT_WORDS
from ..faults import raise_told


class FaultSlot:
    def __init__(self, queue: Any):
        self.queue, nothing = queue, np.zeros(SLOT_WORDS, np.int64)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.buffer = cl.Buffer(queue.context, flags, hostbuf=nothing)
        self.asked: list[tuple[Any, np.ndarray]] = []  # (event, what is read), in the order of the calls

    def ask(self, queue: Any, after: list[Any]) -> None:
        """Have it read once these are done."""
        words = np.zeros(SLOT_WORDS, np.int64)
        self.asked.append((cl.enqueue_copy(queue, words, self.buffer, is_blocking=False, wait_for=after), words))

    def look(self, wait: bool = False) -> None:
        """Raise what a kernel has told, as far as it has been read; all of it after waiting. IndexError."""
        done = cl.command_execution_status.COMPLETE
        while self.asked and (wait or self.asked[0][0].command_execution_status == done):
            event, words = self.asked.pop(0)
            event.wait()
            if words[READY]:
                self._clear()
                raise_told(words)

    def _clear(self) -> None:
        """Nothing is told any more: what was asked meanwhile says the same."""
        for event, _ in self.asked:
            event.wait()
        self.asked.clear()
        cl.enqueue_fill_buffer(self.queue, self.buffer, np.zeros((), np.int64), 0, 8 * SLOT_WORDS).wait()
