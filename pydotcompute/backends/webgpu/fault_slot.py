"""Where kernels on a WebGPU device tell of an index outside of its array: a buffer, which is read when the device is
next asked for anything after a launch that may have written to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...artifact.launch import READY, SLOT_WORDS
from ..faults import raise_told
from .arrays import new_buffer
from .devices import usable


class FaultSlot:
    def __init__(self, device: Any):
        self.device = device
        self.buffer = new_buffer(device, 8 * SLOT_WORDS)
        self.asked = False  # whether something has been launched that may tell

    def look(self, wait: bool = False) -> None:
        """Raise what a kernel has told, after waiting for what has been launched. IndexError. wait: also for what has
        nothing to tell; to read a buffer waits for all that was submitted before."""
        usable()
        if not self.asked and not wait:
            return
        self.asked = False
        words = np.frombuffer(self.device.queue.read_buffer(self.buffer), np.int64).copy()
        if words[READY]:
            self.device.queue.write_buffer(self.buffer, 0, np.zeros(SLOT_WORDS, np.int64))
            raise_told(words)
