"""What the loops of machine code consist of: instructions by class, and by the elements that a turn does."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from ..errors import Position
from ..ir.contraction import multiply_add
from ..ir.dtypes import FLOATS
from ..ir.tree import Binary, For, KernelTree, Load, Parallel, Reduce, Scatter, Store, Var, While, walk
from .listing import Line, loops_of

# Every instruction is of one class; one of arithmetic that reads memory as well is arithmetic.
CLASSES = (
    "fma", "float arithmetic", "special functions", "integers and addresses", "conversions", "shuffles", "loads",
    "stores", "atomics", "barriers", "branches", "moves",
)  # fmt: skip
LOOPS = (Parallel, For, While, Reduce)
LABEL = re.compile(r"([\w.$]+):")


class Instruction(NamedTuple):
    kind: str  # one of CLASSES
    loads: int = 0  # bytes of memory outside of the stack and of shared memory
    stores: int = 0
    jump: str = ""  # the label that it may go to


Decode = Callable[[str], Instruction | None]  # None: it is no instruction


class Throughput(NamedTuple):
    """What llvm-mca says of a loop on a processor, all its data being in the nearest cache."""

    processor: str | None  # None: it was not asked
    cycles: float | None  # a turn
    bottleneck: str  # "register dependencies", or what there is too little of; empty: nothing holds it up


@dataclass
class Loop:
    """A loop of machine code without another one in it."""

    head: Position | None  # the loop of the kernel that it does; None: one that nobody wrote
    lines: list[str]  # its code
    instructions: dict[str, int] = field(default_factory=dict)  # by class
    loads: int = 0  # bytes of a turn
    stores: int = 0
    elements: int | None = None  # that a turn does; None: not known
    hot: bool = False  # whether it does most of the work: of several of one loop of the kernel, such as tails and
    # versions by how arrays lie, that which does most elements a turn, and those in fewest instructions
    throughput: Throughput | None = None

    @property
    def total(self) -> int:
        return sum(self.instructions.values())

    @property
    def per_element(self) -> float | None:
        return self.total / self.elements if self.elements else None


def loops(lines: Sequence[Line], decode: Decode, tree: KernelTree, scalar: bool = False) -> list[Loop]:
    """The innermost loops of a listing that do elements. Both ways of a branch count, so a turn takes at most what is
    told. scalar: a multiply-add is of one element, not of a vector's."""
    decoded = [decode(line.text) for line in lines]
    places = {found[1]: k for k, line in enumerate(lines) if (found := LABEL.match(line.text.strip()))}
    ranges: dict[int, int] = {}  # from the head of a loop to its last jump back
    for k, instruction in enumerate(decoded):
        head = places.get(instruction.jump, k + 1) if instruction else k + 1
        if head <= k and any(decoded[head:k]):  # what only goes to itself waits for the end
            ranges[head] = max(k, ranges.get(head, 0))
    written, work = list(loops_of(tree)), {head: _work(tree, head, scalar) for head, _ in loops_of(tree)}
    kept: dict[tuple[int, int], Loop] = {}
    for first, last in sorted(ranges.items(), key=lambda one: one[1] - one[0]):
        inner = [place for place in kept if first <= place[0] and place[1] <= last]
        loop = _loop(lines[first : last + 1], decoded[first : last + 1], written, work)
        # Loops of functions for rare arguments, which do no elements, belong to the loop that calls them.
        if all(kept[one].head == loop.head and kept[one].elements is None for one in inner):
            if inner and loop.elements is None:
                continue
            kept = {place: one for place, one in kept.items() if place not in inner} | {(first, last): loop}
    made = list(kept.values())
    for place in {loop.head for loop in made} - {None}:
        max((one for one in made if one.head == place), key=lambda one: (one.elements or 0, -one.total)).hot = True
    return sorted(made, key=lambda one: ((one.head or Position("\uffff", 0, 0))[:3], -one.hot, -(one.elements or 0)))


def _loop(
    lines: Sequence[Line], decoded: Sequence[Instruction | None],
    written: Sequence[tuple[Position, set[tuple[str, int]]]], work: Mapping[Position, tuple[int, int, int]],
) -> Loop:  # fmt: skip
    moving = [line for line, one in zip(lines, decoded) if one is not None and one.loads + one.stores]
    working = [(head, own) for head, own in written if any(work[head])]
    loop = Loop(_head(moving, working) or _head(lines, written), [line.text for line in lines])
    for instruction in filter(None, decoded):
        loop.instructions[instruction.kind] = loop.instructions.get(instruction.kind, 0) + 1
        loop.loads += instruction.loads
        loop.stores += instruction.stores
    if loop.head is not None:
        loop.elements = _elements(loop, *work[loop.head])
    return loop


def _head(lines: Iterable[Line], written: Sequence[tuple[Position, set[tuple[str, int]]]]) -> Position | None:
    """The loop of the kernel that most of the code belongs to, the innermost of those."""
    count: dict[Position, int] = {}
    for line in lines:
        around = [head for head, own in written if line.at is not None and (line.at.path, line.at.line) in own]
        if around:
            count[around[-1]] = count.get(around[-1], 0) + 1
    return max(count, key=lambda head: count[head]) if count else None


def _elements(loop: Loop, stored: int, loaded: int, products: int) -> int | None:
    """A turn does as many iterations as it moves more bytes than one of them does; or, where iterations move none, as
    it has more multiply-adds."""
    added = 0 if stored or loaded else loop.instructions.get("fma", 0)
    for moved, of_one in ((loop.stores, stored), (loop.loads, loaded), (added, products)):
        if of_one and moved:
            return moved // of_one if moved % of_one == 0 else None
    return None


def _work(tree: KernelTree, head: Position, scalar: bool) -> tuple[int, int, int]:
    """The bytes that one iteration of a loop stores into, and loads from, arguments and outputs: loads of one element,
    and those that are the same in every iteration, are done once; and its multiply-adds, if they are `scalar`."""
    sizes = {p.name: np.dtype(p.dtype).itemsize for p in tree.parameters}
    statements = (s for body in (*(h.body for h in tree.helpers), tree.body) for s in body)
    node = next(n for s in statements for n in walk(s) if n.at == head and isinstance(n, LOOPS))
    inside = [n for n in walk(node) if n is not node]
    if any(isinstance(n, LOOPS) for n in inside):
        return 0, 0, 0  # an iteration is not one element
    changed = {name for n in walk(node) for name in (getattr(n, "name", ""), *getattr(n, "names", ()))}
    stores = [n.array for n in inside if isinstance(n, (Store, Scatter)) and n.array in sizes]
    loads = {
        (n.array, n.indices) for n in inside
        if isinstance(n, Load) and n.array in sizes and any(_names(index) & changed for index in n.indices)
    }  # fmt: skip
    sums = (n for n in inside if isinstance(n, Binary) and n.op in ("+", "-") and n.type in FLOATS)
    products = list(filter(multiply_add, sums)) if scalar else []
    return sum(sizes[array] for array in stores), sum(sizes[array] for array, _ in loads), len(products)


def _names(node: Any) -> set[str]:
    return {n.name for n in walk(node) if isinstance(n, Var)}


class Entry(NamedTuple):
    """What a launch of a function of a GPU's takes, and how many of its warps a multiprocessor holds at once."""

    name: str
    block: int  # threads
    warps: int | None  # None: the limits of the architecture are not known here
    most_warps: int | None
    limit: str  # what there is too little of for more warps
    registers: int  # of a thread
    shared: int  # bytes of a block, which are known when it is compiled
    stack: int  # bytes of a thread, as both kinds of spills
    spill_stores: int
    spill_loads: int


class Costs(NamedTuple):
    loops: tuple[Loop, ...] = ()
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader must know
