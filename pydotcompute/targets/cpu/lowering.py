"""The typed tree as Python for the CPU compiler: a module of three functions that `run` calls, and what they need.

    begin(words, state) -> units         the scalar set-up; its results and the counts go to `state`; how many work
                                         items there are: iterations of a grid, blocks, or chunks of a reduction
    body(words, state, partials, start, stop, alone) -> 0
                                         these work items; `alone`: no other thread runs
    finish(words, state, partials, units) -> 0
                                         combine the chunks of a reduction over a grid, then what follows the loop

`words` is the argument block (artifact/abi.py). `state`: word 0 is the number of work items worth a slice, then the
counts of the main loop, then the scalars of the set-up, two words each. `partials`: 512 words for each reduction over a
grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import prod

from ...analysis.cost import ATOMIC, SLICE, cost_of
from ...artifact import abi
from ...errors import Position
from ...ir.tree import Assign, AssignTuple, Atomic, KernelTree, Parallel, all_names, walk
from ..llvm.expressions import constant
from ..llvm.words import COMBINE
from ..names import Names
from .arrays import arrays_of
from .bodies import assigned
from .code import Code
from .faults import CALL, FAULTS, Faults
from .loop_reductions import Lanes

CHUNKS = 256
RESERVED = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 bool inf nan range True "
    "False None begin body finish compute compute_shared words state partials start stop alone units"
).split()


@dataclass(frozen=True)
class CpuSource:
    """Generated Python and what the compiler must know about it."""

    text: str
    positions: tuple[Position | None, ...]  # line k + 1 of the text comes from positions[k]
    functions: dict[str, tuple[str, ...]]  # functions besides begin, body and finish, callees first → result types
    unaliased: frozenset[str]  # parameters of `compute` that no other one overlaps
    fastmath: tuple[str, ...]
    state_words: int
    partial_words: int
    words: int  # without the fault words
    faults: Faults  # what the fault words number; they are there if `faults.any`
    kernel: str


def lower(tree: KernelTree, bounds: bool = False) -> CpuSource:
    """Generated Python for one specialisation."""
    return _Module(tree, bounds).source()


class _Module:
    def __init__(self, tree: KernelTree, bounds: bool):
        self.tree = tree
        self.main = tree.main
        where = tree.body.index(self.main) if self.main else len(tree.body)
        self.before, self.after = tree.body[:where], tree.body[where + 1 :]
        from .namespace import INTRINSIC_NAMES  # here, because it imports Numba

        self.names = Names(all_names(tree), frozenset((*RESERVED, *INTRINSIC_NAMES)).__contains__)
        updated = {n.array for s in tree.body for n in walk(s) if isinstance(n, Atomic)}
        self.arrays = arrays_of(tree, self.names, updated)
        self.atomic = bool(updated & {p.name for p in tree.parameters})
        self.slots, self.words = abi.slots(tree.parameters, tree.symbols)
        self.code = Code(tree, self.names, self.arrays, bounds)
        self.checks = self.code.faults.any
        self.writer, self.write = self.code.writer, self.code.expressions.text
        self.saved = [n for n in sorted(assigned(self.before))]  # the locals of the set-up
        self.counts = tuple(self.names.fresh("_count") for _ in self.main.counts) if self.main else ()
        self.state_words = 1 + len(self.counts) + 2 * len(self.saved)

    def source(self) -> CpuSource:
        code = self.code
        self.write_begin()
        variants = ["compute", "compute_shared"] if self.atomic else ["compute"]
        for name in variants:
            code.stores.shared = name == "compute_shared"
            self.write_compute(name)
        self.write_body(variants)
        self.write_finish()
        code.stores.shared = self.atomic
        code.faults.call = CALL
        code.helpers.define(code.statements)
        order = {h.name: k for k, h in enumerate(self.tree.helpers)}
        made = sorted(code.helpers.made.values(), key=lambda m: (order[m.helper.name], m.name))
        code.elements.define()
        functions: dict[str, tuple[str, ...]] = {name: (array.dtype,) for name, array in code.elements.getters.values()}
        functions |= {m.name: m.helper.types for m in made}
        functions |= {name: ("int64",) for name in variants}
        aliased = {name for pair in self.tree.aliases for name in pair}
        parameters = [p.name for p in self.tree.parameters if p.name in self.arrays and p.name not in aliased]
        fastmath = tuple(sorted(set(self.tree.fastmath) - {"contract"}))
        if "fast" in fastmath:
            fastmath = ("afn", "arcp", "ninf", "nnan", "nsz", "reassoc")
        return CpuSource(
            "\n".join(self.writer.lines) + "\n",
            tuple(self.writer.positions),
            functions,
            frozenset(self.names.of(p) for p in parameters),
            fastmath,
            self.state_words,
            2 * CHUNKS * len(self.main.reductions if self.main and self.main.kind == "grid" else ()),
            self.words,
            code.faults,
            self.tree.name,
        )

    # ------------------------------------------------------------------------------------------- arguments

    def arguments(self) -> list[tuple[str, str]]:
        """(name, how to get it from the words) of everything a call brings."""
        dtypes = {p.name: p.dtype for p in self.tree.parameters}
        result = []
        for slot in self.slots:
            index = f"int64({slot.index})"
            if slot.kind == "scalar" and slot.name in self.tree.symbols:
                continue  # a dimension that a scalar argument binds: its symbol has the value
            if slot.kind == "scalar":
                result.append((self.names.of(slot.name), f"word_{dtypes[slot.name]}(words, {index})"))
            elif slot.kind == "data":
                result.append((self.names.of(slot.name), f"pointer_{dtypes[slot.name]}(words, {index})"))
            elif slot.kind == "view":
                result.append((self.names.part(slot.name, "view"), f"pointer_int64(words, {index})"))
            elif slot.kind == "stride":
                result.append((self.names.part(slot.name, f"s{slot.axis}"), f"word_int64(words, {index})"))
            else:
                result.append((self.names.of(slot.name), f"word_int64(words, {index})"))
        return result

    def unpack(self) -> None:
        for name, expression in self.arguments():
            self.writer.assign(name, expression)
        if self.checks:
            self.writer.assign(FAULTS, f"advance(words, int64({8 * self.words}))")

    def restore(self) -> None:
        """The counts of the main loop and the scalars of the set-up, from the state."""
        for k, count in enumerate(self.counts):
            self.writer.assign(count, f"word_int64(state, int64({1 + k}))")
        for name, index in self.places():
            self.writer.assign(self.names.of(name), f"word_{self.tree.locals[name]}(state, int64({index}))")

    def places(self) -> list[tuple[str, int]]:
        """The scalars of the set-up and their words in the state."""
        return [(name, 1 + len(self.counts) + 2 * k) for k, name in enumerate(self.saved)]

    # ------------------------------------------------------------------------------------------- functions

    def write_begin(self) -> None:
        writer, main = self.writer, self.main
        with writer.define("begin", ["words", "state"]):
            self.unpack()
            for name, _ in self.places():
                if not self.certainly_set(name):
                    writer.assign(self.names.of(name), constant(0, self.tree.locals[name]))
            with self.stacks_first():
                self.code.statements.write(self.before)
            for name, index in self.places():
                writer.line(f"set_word_{self.tree.locals[name]}(state, int64({index}), {self.names.of(name)})")
            if main is None:
                writer.return_("int64(0)")
                return
            total = ""
            for k, (name, count) in enumerate(zip(self.counts, main.counts, strict=True)):
                writer.assign(name, f"maximum({self.write(count)}, int64(0))")
                writer.line(f"set_word_int64(state, int64({1 + k}), {name})")
                total = f"times({total}, {name})" if total else name
            self.write_slice(main, total)

    def write_slice(self, main: Parallel, total: str) -> None:
        """The number of work items worth a slice, and how many there are of `total` iterations."""
        writer = self.writer
        known = {s for s in self.tree.symbols} | set(self.saved)
        known |= {p.name for p in self.tree.parameters if not p.is_array and p.role != "out"}
        helpers = {h.name: h for h in self.tree.helpers}
        cost = cost_of(main.body, known, self.write, helpers, atomic=ATOMIC)
        rest = cost_of(main.body, known, self.write, helpers)
        if main.kind == "grid" and main.reductions:
            chunk = writer.held("_chunk", f"chunk_size({total})")
            writer.line(f"set_word_int64(state, int64(0), slice_of({SLICE}, mul({chunk}, {cost})))")
            writer.return_(f"turns(int64(0), {total}, {chunk})")
        else:
            units = f"slice_of({SLICE}, {cost})"
            if self.atomic:  # several threads pay where there is other work
                units = f"select(gt({cost}, shl({rest}, int64(1))), maximum({total}, int64(1)), {units})"
            writer.line(f"set_word_int64(state, int64(0), {units})")
            writer.return_(total)

    def certainly_set(self, name: str) -> bool:
        return any(
            (isinstance(s, Assign) and s.name == name) or (isinstance(s, AssignTuple) and name in s.names)
            for s in self.before
        )

    @contextmanager
    def stacks_first(self) -> Iterator[None]:
        """The lines written inside, after the stack arrays that their reductions want."""
        stacks, where = self.code.reductions.stacks, len(self.writer.lines)
        stacks.clear()
        yield
        with self.writer.inserted(where):
            for line in stacks:
                self.writer.line(line)

    def write_compute(self, name: str) -> None:
        writer = self.writer
        writer.line("")
        parameters = [argument for argument, _ in self.arguments()] + ["words"] * self.checks
        with writer.define(name, [*parameters, "state", "partials", "start", "stop"]):
            if self.checks:
                writer.assign(FAULTS, f"advance(words, int64({8 * self.words}))")
            self.restore()
            for a in self.tree.arrays.values():  # on the stack of this function
                writer.assign(self.arrays[a.name].pointer, f"stack_{a.dtype}({prod(a.shape)})")
            if self.main is not None:
                with self.stacks_first():
                    self.write_main(self.main)
            writer.return_("int64(0)")

    def write_main(self, main: Parallel) -> None:
        loops = self.code.loops
        if main.kind == "blocks":
            loops.blocks(main, self.counts, "start", "stop")
        elif main.reductions:
            self.write_chunks(main)
        else:
            loops.flat(main, Lanes(counts=self.counts), "start", "stop")

    def write_chunks(self, main: Parallel) -> None:
        """A reduction over a grid: chunks `start` to `stop`, a partial value for each."""
        writer, reductions = self.writer, self.code.reductions
        chunk, number, first, last, total = (
            self.names.fresh(n) for n in ("_chunk", "_number", "_from", "_to", "_total")
        )
        writer.assign(total, reduce(lambda product, count: f"times({product}, {count})", self.counts))
        writer.assign(chunk, f"chunk_size({total})")
        with writer.for_(number, "start", "stop"):
            writer.assign(first, f"at({number}, {chunk}, int64(0))")
            writer.assign(last, f"minimum({total}, add({first}, {chunk}))")
            length = self.counts[-1] if len(self.counts) > 1 else f"sub({last}, {first})"
            lanes = reductions.open(main, self.counts, length, from_identity=True)
            self.code.loops.flat(main, lanes, first, last)
            reductions.close(lanes)
            by_name = {lane.reduction.name: lane for lane in lanes.each}
            for k, r in enumerate(main.reductions):
                place, name = f"at({number}, int64(2), int64({2 * CHUNKS * k}))", self.names.of(r.name)
                if r.op in ("argmin", "argmax"):
                    writer.line(f"set_word_{r.operand_type}(partials, {place}, {by_name[r.name].value})")
                    writer.line(f"set_word_int64(partials, add({place}, int64(1)), {name})")
                else:
                    writer.line(f"set_word_{r.type}(partials, {place}, {name})")

    def write_body(self, variants: list[str]) -> None:
        writer = self.writer
        writer.line("")
        with writer.define("body", ["words", "state", "partials", "start", "stop", "alone"]):
            arguments = [expression for _, expression in self.arguments()] + ["words"] * self.checks
            call = f"({', '.join([*arguments, 'state', 'partials', 'start', 'stop'])})"
            if len(variants) > 1:
                with writer.if_("ne(alone, int64(0))"):
                    writer.return_(f"{variants[0]}{call}")
            writer.return_(f"{variants[-1]}{call}")

    def write_finish(self) -> None:
        writer, main = self.writer, self.main
        writer.line("")
        with writer.define("finish", ["words", "state", "partials", "units"]):
            self.unpack()
            self.restore()
            if main is not None and main.kind == "grid":
                for k, r in enumerate(main.reductions):
                    part = f"advance(partials, int64({8 * 2 * CHUNKS * k}))"
                    dtype = r.operand_type if r.op in ("argmin", "argmax") else r.type
                    result = f"combine_{r.op}_{dtype}({part}, units)"
                    name = self.names.of(r.name)
                    if r.op not in ("argmin", "argmax"):
                        begin = self.write(r.start) if r.start is not None else name
                        result = f"{COMBINE[r.op]}({begin}, {result})"
                    writer.assign(name, result)
            with self.stacks_first():
                self.code.statements.write(self.after)
            writer.return_("int64(0)")
