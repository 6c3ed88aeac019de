"""The typed tree as Python for the CPU compiler: a module of two functions that `run` calls, and what they need.

    drive(words, state, partials) -> 0   the sequential program; at each of its parallel loops, a phase, it puts the
                                         counts and the scalars that the loop reads into `state`, has all its work items
                                         done (`run_phase`), and combines the chunks of its reductions
    body(words, state, partials, start, stop, alone, phase) -> 0
                                         these work items of a phase: iterations of a grid, blocks, or chunks of a
                                         reduction; `alone`: no other thread runs

`words` is the argument block (artifact/abi.py). `state`: word 0 is the number of work items worth a slice, negative
where other threads do not pay, then the counts of the phase, then the scalars that phases read, two words each.
`partials`: 512 words for each reduction over a grid or blocks of a phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from ...analysis import inside
from ...analysis.cost import ATOMIC, LOOK, SLICE, cost_of
from ...artifact import abi
from ...errors import Position
from ...ir.from_zero import from_zero
from ...ir.names import all_names
from ...ir.storage import in_bits
from ...ir.tree import Atomic, KernelTree, NewArray, Parallel, Reduce, Reduction, Var, While, walk
from ..llvm.expressions import constant
from ..llvm.faults import CALL, FAULTS
from ..llvm.words import COMBINE
from ..names import Names
from ..phases import phases_of
from ..scans import Chunks, lowered
from ..sites import Sites
from . import private_copies
from .arrays import arrays_of
from .bodies import assigned, decides_for_all
from .code import Code
from .counted_loops import counted
from .fast_sums import with_plain_sums
from .few_columns import unrolled
from .if_conversion import without_conditions
from .lanes import in_lanes
from .late_operands import latest_last
from .load_hoisting import with_hoisted_loads
from .loop_reductions import Lanes
from .narrowed_ranges import with_narrowed_ranges
from .periodic import periodic
from .running_totals import in_scalars
from .scratch import Scratch
from .streaming import Streamed, streamed
from .written_out import written_out

CHUNKS = 256
SCANNED = Chunks(most=CHUNKS, least=4096, of_block=None, wide=True)
_CHUNK = {"grid": "chunk_size", "blocks": "blocks_of_chunk"}  # how many iterations it has
RESERVED = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 bool inf nan range True "
    "False None compact independent independent_vectors interleaved rare rolled short unrolled drive body words state "
    "partials start stop alone phase"
).split()


@dataclass(frozen=True)
class CpuSource:
    """Generated Python and what the compiler must know about it."""

    text: str
    positions: tuple[Position | None, ...]  # line k + 1 of the text comes from positions[k]
    functions: dict[str, tuple[str, ...]]  # functions besides drive and body, callees first → result types
    loops: frozenset[str]  # of these, those of phases
    unaliased: frozenset[str]  # their parameters that no other one overlaps
    fastmath: tuple[str, ...]
    state_words: int
    partial_words: int
    words: int  # without the fault words
    faults: Sites  # what the fault words number
    kernel: str
    reduces: bool  # whether some loop of it does
    steady: bool  # whether some condition in a loop of the kernel is the same in all turns


class _Phase:
    """A parallel loop of the sequential program, and how it is called."""

    def __init__(self, number: int, loop: Parallel, brief: bool = False):
        """brief: in its code for work items that end soon, between which alone it looks whether the call is to end."""
        self.number, self.loop, self.brief = number, loop, brief
        self.reductions = loop.reductions
        self.counts: tuple[str, ...] = ()  # names of how many iterations along each index
        self.functions: list[str] = []  # alone; and beside other threads, where that differs
        self.reads: set[str] = set()  # the scalars of the sequential program that it reads
        self.atomic = False  # whether it updates arguments or outputs by atomics
        self.streamed: Streamed | None = None  # how calls do it whose outputs no cache could keep
        self.counters: tuple[str, ...] = ()  # of which slices beside other threads have copies


def lower(tree: KernelTree, bounds: bool = False) -> CpuSource:
    """Generated Python for one specialisation."""
    tree = in_scalars(written_out(with_hoisted_loads(without_conditions(tree))))
    bodies = (tree.body, *(h.body for h in tree.helpers))
    if any(isinstance(n, While) for body in bodies for s in body for n in walk(s)):
        tree = inside.marked(tree, leaves=True)
    steady = any(decides_for_all(n) for body in bodies for s in body for n in walk(s))
    tree = unrolled(from_zero(periodic(latest_last(tree))))
    tree = counted(with_narrowed_ranges(in_lanes(with_plain_sums(tree))))
    several = Names(all_names(tree), lambda name: False).fresh("_several")
    return _Module(in_bits(lowered(tree, SCANNED, several)), bounds, several).source(steady)


class _Module:
    def __init__(self, tree: KernelTree, bounds: bool, several: str):
        """several: the local that says whether there are threads, where it is one."""
        self.tree, self.several = tree, several
        self.of_call = [a for a in tree.arrays.values() if a.kind == "call"]
        phases = phases_of(tree)
        in_phases = {n.name for loop in phases for n in walk(loop) if isinstance(n, NewArray)}
        self.of_lanes = [a for a in tree.arrays.values() if a.kind == "private" and a.name not in in_phases]
        self.phases = [_Phase(k, loop) for k, loop in enumerate(phases)]
        from .namespace import INTRINSIC_NAMES  # here, because it imports Numba

        self.names = Names(all_names(tree), frozenset((*RESERVED, *INTRINSIC_NAMES)).__contains__)
        updated = {n.array for s in tree.body for n in walk(s) if isinstance(n, Atomic)}
        self.arrays = arrays_of(tree, self.names, updated)
        self.slots, self.words = abi.slots(tree.parameters, tree.symbols)
        self.code = Code(tree, self.names, self.arrays, bounds, self.write_phase)
        self.writer, self.write = self.code.writer, self.code.expressions.text
        self.often = [loop for loop in phases if self.code.interruptions.asks_often(loop)]
        self.phases += [_Phase(k, loop, brief=True) for k, loop in enumerate(self.often, len(phases))]
        most = 0
        outside = assigned(tree.body, into=lambda s: not isinstance(s, Parallel))
        for phase in self.phases:
            phase.atomic = any(isinstance(n, Atomic) and n.array in self.parameters for n in walk(phase.loop))
            phase.counts = tuple(self.names.fresh("_count") for _ in phase.loop.counts)
            phase.functions = [self.names.fresh("compute")] + [self.names.fresh("compute_shared")] * phase.atomic
            if phase.atomic and (found := private_copies.few_counters(tree, phase.loop, self.arrays)):
                phase.counters = found
                phase.functions.append(self.names.fresh("compute_copied"))
            phase.streamed = streamed(tree, phase.loop, self.code)
            phase.functions += [self.names.fresh("compute_streamed")] if phase.streamed else []
            phase.reads = {n.name for n in walk(phase.loop) if isinstance(n, Var)} & outside
            most = max(most, len(phase.counts))
        saved = sorted(set().union(*(phase.reads for phase in self.phases)))
        self.places = {name: 1 + most + 2 * k for k, name in enumerate(saved)}  # the words of scalars in the state
        self.state_words = 1 + most + 2 * len(saved)
        self.addresses = {a.name: self.state_words + k for k, a in enumerate(self.of_call)}
        self.state_words += len(self.of_call)

    @property
    def parameters(self) -> set[str]:
        return {p.name for p in self.tree.parameters}

    def source(self, steady: bool) -> CpuSource:
        code = self.code
        for phase in self.phases:
            code.interruptions.off, code.interruptions.long = phase.brief, phase.loop in self.often
            for name in phase.functions:
                code.stores.shared = phase.atomic and name == phase.functions[1]
                self.write_compute(phase, name)
        code.interruptions.off = code.interruptions.long = False
        code.elements.counts = {}
        code.stores.shared = any(phase.atomic for phase in self.phases)
        self.write_body()
        self.write_drive()
        code.faults.call, code.interruptions.in_helper = CALL, True
        code.helpers.define(code.statements)
        code.elements.checked.define()
        order = {h.name: k for k, h in enumerate(self.tree.helpers)}
        made = sorted(code.helpers.made.values(), key=lambda m: (order[m.helper.name], m.name))
        loads = code.elements.checked.functions.values()
        functions: dict[str, tuple[str, ...]] = {name: (array.dtype,) for name, array in loads}
        functions |= {m.name: m.helper.types for m in made}
        loops = [name for phase in self.phases for name in phase.functions]
        functions |= {name: ("int64",) for name in loops}
        aliased = {name for pair in self.tree.aliases for name in pair}
        parameters = [p.name for p in self.tree.parameters if p.name in self.arrays and p.name not in aliased]
        fastmath = tuple(sorted(set(self.tree.fastmath) - {"contract"}))
        if "fast" in fastmath:
            fastmath = ("afn", "arcp", "contract", "ninf", "nnan", "nsz", "reassoc")
        bodies = (self.tree.body, *(h.body for h in self.tree.helpers))
        everything = (n for body in bodies for s in body for n in walk(s))
        return CpuSource(
            "\n".join(self.writer.lines) + "\n",
            tuple(self.writer.positions),
            functions,
            frozenset(loops),
            frozenset(self.names.of(p) for p in parameters),
            fastmath,
            self.state_words,
            2 * CHUNKS * max((len(phase.reductions) for phase in self.phases), default=0),
            self.words,
            code.faults.sites,
            self.tree.name,
            any(isinstance(n, Reduce) or isinstance(n, Parallel) and n.reductions for n in everything),
            steady,
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
                result.append((self.names.of(slot.name), f"word_extent(words, {index})"))
        return result

    def unpack(self) -> None:
        for name, expression in self.arguments():
            self.writer.assign(name, expression)
        self.writer.assign(FAULTS, f"advance(words, int64({8 * self.words}))")

    def restore(self, phase: _Phase) -> None:
        """The counts of the loop and the scalars that it reads, from the state."""
        for k, count in enumerate(phase.counts):
            self.writer.assign(count, f"word_extent(state, int64({1 + k}))")
        for name in sorted(phase.reads):
            dtype = self.tree.locals[name]
            self.writer.assign(self.names.of(name), f"word_{dtype}(state, int64({self.places[name]}))")
        touched = {getattr(n, "array", "") or getattr(n, "name", "") for n in walk(phase.loop)}
        for a in (a for a in self.of_call if a.name in touched):
            where = f"int64({self.addresses[a.name]})"
            self.writer.assign(self.arrays[a.name].pointer, f"pointer_{a.dtype}(state, {where})")
            Scratch(self.code, self.tree, [a]).measure()

    # ------------------------------------------------------------------------------------------- functions

    def write_drive(self) -> None:
        writer = self.writer
        writer.line("")
        with writer.define("drive", ["words", "state", "partials"]):
            self.unpack()
            for name in self.places:  # on some ways to a phase that reads it in some iterations it may not be set
                writer.assign(self.names.of(name), constant(0, self.tree.locals[name]))
            if self.several in self.tree.locals:
                writer.assign(self.names.of(self.several), "several_threads()")
            scratch = self.make_arrays([*self.of_call, *self.of_lanes])
            for name, place in self.addresses.items():
                address = f"address({self.arrays[name].pointer})"
                writer.line(f"set_word_int64(state, int64({place}), {address})")
            with self.code.reductions.stacks_first():
                self.code.statements.write(self.tree.body)
            scratch.release()
            writer.return_("int64(0)")

    def make_arrays(self, made: Sequence[NewArray]) -> Scratch:
        """At the beginning of a function: arrays on its stack, and those that lie in scratch, to be released."""
        for a in (a for a in made if not a.scratch):
            self.writer.assign(self.arrays[a.name].pointer, f"stack_{a.dtype}({prod(a.fixed)})")
        scratch = Scratch(self.code, self.tree, [a for a in made if a.scratch])
        scratch.allocate()
        return scratch

    def write_phase(self, loop: Parallel) -> None:
        """A parallel loop, where it stands in the sequential program."""
        writer = self.writer
        phase, *others = (p for p in self.phases if p.loop is loop)
        for name in sorted(phase.reads):
            value = f"int64({self.places[name]}), {self.names.of(name)}"
            writer.line(f"set_word_{self.tree.locals[name]}(state, {value})")
        total = ""
        for k, (name, count) in enumerate(zip(phase.counts, loop.counts, strict=True)):
            writer.assign(name, f"maximum({self.write(count)}, int64(0))")
            writer.line(f"set_word_int64(state, int64({1 + k}), {name})")
            total = f"times({total}, {name})" if total else name
        cost = writer.held("_cost", self.cost(phase, ATOMIC))
        units = self.write_slice(phase, cost, total)
        number = f"int64({phase.number})"
        for other in others:
            number = f"select(gt({cost}, int64({LOOK})), {number}, int64({other.number}))"
        writer.line(f"run_phase(words, state, partials, {units}, {number})")
        for k, r in enumerate(phase.reductions):
            self.write_combined(r, f"advance(partials, int64({8 * 2 * CHUNKS * k}))", units)

    def write_combined(self, r: Reduction, part: str, units: str) -> None:
        """The result of a reduction over a grid, out of those of its chunks."""
        name = self.names.of(r.name)
        dtype = r.operand_type if r.op in ("argmin", "argmax") else r.type
        result = f"combine_{r.op}_{dtype}({part}, {units})"
        if r.op not in ("argmin", "argmax"):
            begin = self.write(r.start) if r.start is not None else name
            result = f"{COMBINE[r.op]}({begin}, {result})"
        self.writer.assign(name, result)

    def cost(self, phase: _Phase, atomic: int) -> str:
        """Of an iteration."""
        known = {*self.tree.symbols, *self.places}
        known |= {p.name for p in self.tree.parameters if not p.in_memory}
        helpers = {h.name: h for h in self.tree.helpers}
        return cost_of(phase.loop.body, known, self.write, helpers, atomic=atomic)

    def write_slice(self, phase: _Phase, cost: str, total: str) -> str:
        """Put the number of work items that are worth a slice into the state; how many there are of `total`
        iterations."""
        writer, main = self.writer, phase.loop
        if phase.reductions:
            chunk = writer.held("_chunk", f"{_CHUNK[main.kind]}({total})")
            units = writer.held("_units", f"turns(int64(0), {total}, {chunk})")
            writer.line(f"set_word_int64(state, int64(0), slice_of({SLICE}, mul({chunk}, {cost}), {units}))")
            return units
        units = f"slice_of({SLICE}, {cost}, {total})"
        if phase.atomic:  # several threads pay where there is other work
            rest = self.cost(phase, 0)
            alone = f"neg(slice_of({SLICE}, {rest}, {total}))"
            units = f"select(gt({cost}, shl({rest}, int64(1))), {alone}, {units})"
        if phase.counters:
            arrays = [self.arrays[name] for name in phase.counters]
            copied = f"slice_of(add(int64({SLICE}), {private_copies.cost(arrays)}), {rest}, {total})"
            units = f"select({private_copies.all_small(arrays)}, {copied}, {units})"
        writer.line(f"set_word_int64(state, int64(0), {units})")
        return total

    def write_compute(self, phase: _Phase, name: str) -> None:
        writer, loop = self.writer, phase.loop
        writer.line("")
        parameters = [*(argument for argument, _ in self.arguments()), "words", "state", "partials", "start", "stop"]
        copies = phase.counters if name == phase.functions[-1] else ()
        with writer.from_position(loop.at), writer.define(name, parameters):
            if copies:
                with writer.if_(f"invert({private_copies.all_small([self.arrays[n] for n in copies])})"):
                    writer.return_(f"{phase.functions[1]}({', '.join(parameters)})")
            writer.assign(FAULTS, f"advance(words, int64({8 * self.words}))")
            writer.assign("start", "not_negative(start)")
            self.restore(phase)
            kept = zip(loop.names, map(self.write, loop.counts)) if loop.kind == "grid" else ()
            self.code.elements.counts = {name: n for name, n in kept if name not in assigned(loop.body)}
            if phase.streamed and name == phase.functions[-1]:
                phase.streamed.write(self.code, phase.functions[0], parameters[:-2])
                return
            scratch = self.make_arrays([n for n in walk(loop) if isinstance(n, NewArray) and n.kind != "call"])
            with private_copies.copied(self.code, copies), self.code.reductions.stacks_first():
                if phase.reductions:
                    self.write_chunks(loop, phase.counts)
                elif loop.kind == "blocks":
                    self.code.loops.blocks(loop, Lanes(counts=phase.counts), "start", "stop")
                else:
                    self.code.loops.flat(loop, Lanes(counts=phase.counts), "start", "stop")
            scratch.release()
            writer.return_("int64(0)")

    def write_chunks(self, main: Parallel, counts: tuple[str, ...]) -> None:
        """A reduction over a grid or blocks: chunks `start` to `stop`, a partial value for each."""
        writer, reductions = self.writer, self.code.reductions
        chunk, number, first, last, total = (
            self.names.fresh(n) for n in ("_chunk", "_number", "_from", "_to", "_total")
        )
        writer.assign(total, reduce(lambda product, count: f"times({product}, {count})", counts))
        writer.assign(chunk, f"{_CHUNK[main.kind]}({total})")
        with writer.for_(number, "start", "stop"):
            writer.assign(first, f"at({number}, {chunk}, int64(0))")
            writer.assign(last, f"minimum({total}, add({first}, {chunk}))")
            lanes = reductions.open(main, counts, from_identity=True)
            write = self.code.loops.flat if main.kind == "grid" else self.code.loops.blocks
            write(main, lanes, first, last)
            reductions.close(lanes)
            for k, r in enumerate(main.reductions):
                place, name = f"at({number}, int64(2), int64({2 * CHUNKS * k}))", self.names.of(r.name)
                if lanes.search:
                    writer.line(f"set_word_{r.operand_type}(partials, {place}, {lanes.search.value})")
                    writer.line(f"set_word_int64(partials, add({place}, int64(1)), {name})")
                else:
                    writer.line(f"set_word_{r.type}(partials, {place}, {name})")

    def write_body(self) -> None:
        writer = self.writer
        writer.line("")
        arguments = [expression for _, expression in self.arguments()]
        call = f"({', '.join([*arguments, 'words', 'state', 'partials', 'start', 'stop'])})"
        with writer.define("body", ["words", "state", "partials", "start", "stop", "alone", "phase"]):
            for phase in self.phases:
                with writer.if_(f"eq(phase, int64({phase.number}))"):
                    if phase.atomic:
                        with writer.if_("ne(alone, int64(0))"):
                            writer.return_(f"{phase.functions[0]}{call}")
                    if phase.streamed:
                        with writer.if_(phase.streamed.condition("word_int64(state, int64(1))")):
                            writer.return_(f"{phase.functions[-1]}{call}")
                    writer.return_(f"{phase.functions[-1 if phase.atomic else 0]}{call}")
            writer.return_("int64(0)")
