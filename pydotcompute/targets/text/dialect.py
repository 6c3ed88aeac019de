"""What one C-like language says in its own way: a value that the printer is given, and asks for every spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...ir.dtypes import INTEGER_BITS

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
    # "prologue": lines of a file, by whether launches of a call tell each other.
    faults: Mapping[str, Any] = field(default_factory=dict)
    index: str = "int64"  # the dtype of what the printer itself counts: extents, strides, places of threads
    emulated: frozenset[str] = frozenset()  # integers whose operators and conversions are functions of the library
    orders_bools: bool = True  # whether < is for them too
    doubtful: frozenset[str] = frozenset()  # dtypes whose own comparisons may take NaN for impossible: the library's
    internal: frozenset[str] = frozenset()  # dtypes of the library's functions alone, which no kernel gets
    alone: str = "restrict "  # before the name of a pointer to what nothing else reaches
    members: str = ""  # the name under which a kernel gets its scalars as members of a struct; "": each is a parameter
    has_pointers: bool = True  # else arrays are variables of the file, and an offset tells where one begins
    is_lazy: bool = True  # whether of a choice's two values only the one that is needed is evaluated
    least: int = 1  # bytes of an element of a block's own memory
    # Where compilers reassociate sums, by dtype the function around one that they must leave as it is.
    exact: Mapping[str, str] = field(default_factory=dict)
    # Where there are no pointers, a module with `update` and `scatter`: texts by (scalars, …, array, place, value).
    atomics: Any = None
    # Where rounding errors cannot be carried along, what long sums of floats are: a module with `begin`, `include` and
    # `total`, texts by (scalars, dtype, name of the sum, …).
    sums: Any = None

    def cast(self, dtype: str, text: str, source: str) -> str:
        """A conversion that keeps the value, or wraps integers: what the language's own does."""
        return f"({self.types[dtype]})({text})"

    def negated(self, dtype: str, text: str) -> str:
        """The negative of a number; of an unsigned one, modulo its range."""
        return f"(-{text})"

    def choose(self, dtype: str, condition: str, then: str, otherwise: str) -> str:
        """One of two values; the other is not needed, and may be evaluated."""
        text = f"({condition} ? {then} : {otherwise})"  # of small integers, C makes an int: no type that calls go by
        return self.cast(dtype, text, dtype) if INTEGER_BITS.get(dtype, 32) < 32 else text

    def pair(self, dtype: str, real: str, imaginary: str) -> str:
        """A complex value."""
        return f"(({self.types[dtype]})({real}, {imaginary}))"

    def element(self, dtype: str) -> str:
        """The type of one element of memory; a complex element takes two."""
        return self.elements.get(dtype) or self.types[dtype]

    # ------------------------------------------------------------------------- declarations, as writer.py wants them

    def variable(self, name: str, kind: str, value: str = "") -> str:
        """A variable of a type, which begins with a value or is set later."""
        return f"{kind} {name} = {value};" if value else f"{kind} {name};"

    def constant_of(self, name: str, kind: str, value: str) -> str:
        """A name for a value."""
        return f"const {kind} {name} = {value};"

    def member(self, name: str, kind: str) -> str:
        """Of a struct."""
        return f"{kind} {name};"

    def parameter(self, name: str, kind: str) -> str:
        return f"const {kind} {name}"

    def function(self, result: str, name: str, parameters: list[str]) -> str:
        """The head of a function; `result` is its type."""
        return f"{result} {name}({', '.join(parameters) or 'void'})"

    def struct(self, name: str) -> tuple[str, str]:
        """What stands before the braces of a struct, and after them."""
        return "typedef struct", f" {name};"

    def advance(self, name: str, dtype: str, step: str) -> str:
        """A counter's next value; a step of "1" is one."""
        return f"++{name}" if step == "1" else f"{name} += {step}"

    def below(self, dtype: str, x: str, y: str) -> str:
        """Whether a counter has not come to its end."""
        return f"{x} < {y}"

    def gathered(self, struct: str) -> str:
        """The parameter of a kernel that is a struct of this name, see `members`."""
        raise NotImplementedError

    # --------------------------------------------------------------------------- of a language without pointers

    def word(self, dtype: str, number: int) -> str:
        """A scalar argument that begins at this word."""
        raise NotImplementedError

    def words(self, dtype: str) -> int:
        """How many words it has."""
        return 2 if dtype in self.emulated else 1

    def declarations(self, layout: Any) -> list[str]:
        """The variables of a file."""
        raise NotImplementedError

    def memory(self, name: str, space: str, dtype: str, count: int) -> str:
        """An array of so many elements of memory, of the block's or the thread's own."""
        return f"{self.spaces[space]} {self.element(dtype)} {name}[{count}];".lstrip()
