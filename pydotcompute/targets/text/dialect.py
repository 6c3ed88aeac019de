"""What one C-like language says in its own way: a value that the printer is given, and asks for every spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Template = Callable[[Any, str, str], list[str]]  # (scalars.Scalars, dtype, name) → the lines of a function
Axes = tuple[str, str, str]  # texts for x, y and z


@dataclass(frozen=True)
class Dialect:
    """Texts are expressions of the language; dtypes are the language of kernels' own names.

    A dtype that is missing in `types` does not exist there, and a kernel that computes in it is refused by name.
    """

    name: str  # as messages call it
    types: Mapping[str, str]  # of values; a complex one is a pair with the members x and y
    elements: Mapping[str, str]  # of memory, where it holds another type: a complex element is two of its parts
    spaces: Mapping[str, str]  # "global" "shared" "private" → what stands before the type of a pointer there
    is_reserved: Callable[[str], bool]  # whether a name of the user's would mean something else there
    constant: Callable[[object, str], str]  # (value, dtype)
    functions: Mapping[tuple[str, str], str]  # (listed function, dtype) → its name there; else the library has it
    library: Mapping[str, Template]  # what the language lacks, by name
    wrapping: frozenset[str]  # integers whose + - * wrap by themselves
    local: Axes  # a thread's place in its block along x, y, z, as int64
    size: Axes  # of a block
    group: Axes  # a block's place in the grid
    groups: Axes  # how many there are
    barrier: str  # statement: every thread of a block waits, and sees what others wrote to shared and global memory
    together: str  # statement where a block's threads come by together, in loops and after conditions; "" for none
    load: Callable[[str, str, str, str], str]  # (dtype, space, pointer, offset in elements of memory)
    store: Callable[[str, str, str, str, str], str]  # the same and the value: a statement
    entry: Callable[[str, list[str], int | None], str]  # head of a kernel: name, parameters, threads of each block
    prologue: Callable[[frozenset[str]], list[str]]  # what a file begins with, by the features that it needs
    # What checks of indices say there; empty: nothing is checked. "words": a function's parameter, the thread's words;
    # "in_range": a function; "none": the condition that this thread had no fault; "begin": statements of a kernel;
    # "share", "vote", "together": statements and a condition by which the threads of a block know the same (loops.py);
    # "prologue": of a file.
    faults: Mapping[str, Any] = field(default_factory=dict)

    def cast(self, dtype: str, text: str) -> str:
        """A conversion that keeps the value, or wraps integers: what the language's own does."""
        return f"({self.types[dtype]})({text})"

    def choose(self, condition: str, then: str, otherwise: str) -> str:
        """One of two values; the other is not needed, and may be evaluated."""
        return f"({condition} ? {then} : {otherwise})"

    def pair(self, dtype: str, real: str, imaginary: str) -> str:
        """A complex value."""
        return f"(({self.types[dtype]})({real}, {imaginary}))"

    def element(self, dtype: str) -> str:
        """The type of one element of memory; a complex element takes two."""
        return self.elements.get(dtype) or self.types[dtype]
