"""The memory of a file whose language has no pointers: buffers and arrays are variables of the file, and all that is no
memory lies as words in one buffer."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Layout:
    """buffers: name → (number, dtype, how its elements are reached), see Array.memory. arrays: of blocks and threads,
    name → (how they are reached, dtype, elements). bindings: by kernel, the numbers of its buffers, in the order of
    its arguments. words: how many there are of 32 bits, at most."""

    buffers: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    arrays: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    bindings: dict[str, list[int]] = field(default_factory=dict)
    words: int = 0

    def buffer(self, entry: str, name: str, dtype: str, memory: str) -> None:
        """One more buffer of a kernel; others may have it too."""
        number, *_ = self.buffers.setdefault(name, (len(self.buffers) + 1, dtype, memory))
        self.bindings.setdefault(entry, []).append(number)

    def told(self) -> dict[str, list[list[object]]]:
        """Of each kernel, the number of each buffer and whether it is written."""
        written = {number: memory != "constant" for number, _, memory in self.buffers.values()}
        return {entry: [[number, written[number]] for number in numbers] for entry, numbers in self.bindings.items()}

    def array(self, name: str, memory: str, dtype: str, count: int) -> None:
        """An array of a block's or a thread's; of several kernels it is as large as the largest."""
        *_, known = self.arrays.get(name, (memory, dtype, 0))
        self.arrays[name] = memory, dtype, max(known, count)
