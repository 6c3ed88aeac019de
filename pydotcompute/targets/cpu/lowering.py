"""The typed tree as Python for the CPU compiler: a module of three functions that `run` calls, and what they need.

    begin(words, state) -> units         the scalar set-up; its results and the counts go to `state`; how many units
                                         of work there are: iterations of a grid, blocks, or chunks of a reduction
    body(words, state, partials, start, stop, alone) -> 0
                                         these units; `alone`: no other thread runs
    finish(words, state, partials, units) -> 0
                                         combine the chunks of a reduction over a grid, then what follows the loop

`words` is what abi.py says. `state`: word 0 is the number of units worth a slice, then the counts of the main loop,
then the scalars of the set-up, two words each. `partials`: 512 words for each reduction over a grid.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...artifact import abi
from ...errors import Position
from .arrays import arrays_of
from ...analysis.cost import ATOMIC, SLICE, cost_of
from .loops import UPDATE, assigned
from .loop_versioning import CpuViews
from ..llvm.python_source import Names
from ...ir.tree import Assign, AssignTuple, Atomic, KernelTree, Parallel, walk, all_names

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
    bounds: bool
    files: tuple[str, ...]  # with bounds: the user's files that the fault words number
    kernel: str


def lower(tree: KernelTree, bounds: bool = False) -> CpuSource:
    """Generated Python for one specialisation."""
    return _Module(tree, bounds).source()


class _Module:
    def __init__(self, tree: KernelTree, bounds: bool):
        self.tree, self.bounds = tree, bounds
        self.main = tree.main
        where = tree.body.index(self.main) if self.main else len(tree.body)
        self.before, self.after = tree.body[:where], tree.body[where + 1 :]
        from .namespace import INTRINSIC_NAMES  # here, because it imports Numba

        self.names = Names(all_names(tree), {*RESERVED, *INTRINSIC_NAMES})
        updated = {n.array for s in tree.body for n in walk(s) if isinstance(n, Atomic)}
        self.arrays = arrays_of(tree, self.names, updated)
        self.atomic = bool(updated & {p.name for p in tree.parameters})
        self.slots, self.words = abi.slots(tree.parameters, tree.symbols)
        self.code = CpuViews(tree, self.names, self.arrays, bounds)
        self.saved = [n for n in sorted(assigned(self.before))]  # the locals of the set-up
        self.counts = tuple(self.names.fresh("_count") for _ in self.main.counts) if self.main else ()
        self.state_words = 1 + len(self.counts) + 2 * len(self.saved)

    def source(self) -> CpuSource:
        code = self.code
        self.write_begin()
        variants = ["compute", "compute_shared"] if self.atomic else ["compute"]
        for name in variants:
            code.atomics = "shared" if name == "compute_shared" else "plain"
            self.write_compute(name)
        self.write_body(variants)
        self.write_finish()
        code.atomics = "shared" if self.atomic else "plain"
        order = {h.name: k for k, h in enumerate(self.tree.helpers)}
        made = []
        while code.pending:
            name, helper, arrays = code.pending.pop(0)
            code.line("")
            code.write_helper(name, helper, arrays)
            made.append((order[helper.name], name))
        functions = {name: code.results[name] for _, name in sorted(made)}
        functions |= {name: ("int64",) for name in variants}
        aliased = {name for pair in self.tree.aliases for name in pair}
        parameters = [p.name for p in self.tree.parameters if p.name in self.arrays and p.name not in aliased]
        fastmath = tuple(sorted(set(self.tree.fastmath) - {"contract"}))
        if "fast" in fastmath:
            fastmath = ("afn", "arcp", "ninf", "nnan", "nsz", "reassoc")
        return CpuSource(
            "\n".join(code.lines) + "\n",
            tuple(code.positions),
            functions,
            frozenset(self.names.of(p) for p in parameters),
            fastmath,
            self.state_words,
            2 * CHUNKS * len(self.main.reductions if self.main and self.main.kind == "grid" else ()),
            self.words,
            self.bounds,
            tuple(code.files),
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
            self.code.line(f"{name} = {expression}")
        if self.bounds:
            self.code.line(f"_faults = advance(words, int64({8 * self.words}))")

    def restore(self) -> None:
        """The counts of the main loop and the scalars of the set-up, from the state."""
        for k, count in enumerate(self.counts):
            self.code.line(f"{count} = word_int64(state, int64({1 + k}))")
        for name, index in self.places():
            self.code.line(f"{self.names.of(name)} = word_{self.tree.locals[name]}(state, int64({index}))")

    def places(self):
        return [(name, 1 + len(self.counts) + 2 * k) for k, name in enumerate(self.saved)]

    # ------------------------------------------------------------------------------------------- functions

    def write_begin(self) -> None:
        code, main = self.code, self.main
        with code.block("def begin(words, state):"):
            self.unpack()
            for name, _ in self.places():
                if not self.certainly_set(name):
                    code.line(f"{self.names.of(name)} = {code.constant(0, self.tree.locals[name])}")
            self.body_with_stacks(lambda: code.statements(self.before))
            for name, index in self.places():
                code.line(f"set_word_{self.tree.locals[name]}(state, int64({index}), {self.names.of(name)})")
            if main is None:
                code.line("return int64(0)")
                return
            total = ""
            for k, (name, count) in enumerate(zip(self.counts, main.counts)):
                code.line(f"{name} = maximum({code.expression(count)}, int64(0))")
                code.line(f"set_word_int64(state, int64({1 + k}), {name})")
                total = f"times({total}, {name})" if total else name
            known = {s for s in self.tree.symbols} | set(self.saved)
            known |= {p.name for p in self.tree.parameters if not p.is_array and p.role != "out"}
            bounds, code.bounds = code.bounds, False  # the estimate looks at no elements
            helpers = {h.name: h for h in self.tree.helpers}
            cost = cost_of(main.body, known, code.expression, helpers, atomic=ATOMIC)
            rest = cost_of(main.body, known, code.expression, helpers)
            code.bounds = bounds
            if main.kind == "grid" and main.reductions:
                chunk = code.names.fresh("_chunk")
                code.line(f"{chunk} = chunk_size({total})")
                code.line(f"set_word_int64(state, int64(0), slice_of({SLICE}, mul({chunk}, {cost})))")
                code.line(f"return turns(int64(0), {total}, {chunk})")
            else:
                units = f"slice_of({SLICE}, {cost})"
                if self.atomic:  # several threads pay where there is other work
                    units = f"select(gt({cost}, shl({rest}, int64(1))), maximum({total}, int64(1)), {units})"
                code.line(f"set_word_int64(state, int64(0), {units})")
                code.line(f"return {total}")

    def certainly_set(self, name: str) -> bool:
        return any(
            (isinstance(s, Assign) and s.name == name) or (isinstance(s, AssignTuple) and name in s.names)
            for s in self.before
        )

    def body_with_stacks(self, write) -> None:
        """The lines that `write` makes, after the stack arrays that it asked for."""
        code = self.code
        code.stacks, where = [], len(code.lines)
        write()
        code.lines[where:where] = ["    " * code.depth + line for line in code.stacks]
        code.positions[where:where] = [None] * len(code.stacks)

    def write_compute(self, name: str) -> None:
        code, main = self.code, self.main
        code.line("")
        parameters = [argument for argument, _ in self.arguments()] + ["words"] * self.bounds
        with code.block(f"def {name}({', '.join([*parameters, 'state', 'partials', 'start', 'stop'])}):"):
            if self.bounds:
                code.line(f"_faults = advance(words, int64({8 * self.words}))")
            self.restore()
            code.allocate()
            code.counts = self.counts
            if main is not None:
                self.body_with_stacks(lambda: self.write_main(main))
            code.line("return int64(0)")

    def write_main(self, main: Parallel) -> None:
        code = self.code
        if main.kind == "blocks":
            flat = self.names.of(main.names[0]) if len(main.names) == 1 else self.names.fresh("_block")
            with code.block(f"for {flat} in range(start, stop):"):
                if len(main.names) > 1:
                    code.unpack(main.names, self.counts, flat)
                code.write_block_body(main)
            return
        if not main.reductions:
            code.flat(main, [], "start", "stop", "", "")
            return
        chunk, number, first, last, total = (
            self.names.fresh(n) for n in ("_chunk", "_number", "_from", "_to", "_total")
        )
        product = self.counts[0]
        for count in self.counts[1:]:
            product = f"times({product}, {count})"
        code.line(f"{total} = {product}")
        code.line(f"{chunk} = chunk_size({total})")
        with code.block(f"for {number} in range(start, stop):"):
            code.line(f"{first} = at({number}, {chunk}, int64(0))")
            code.line(f"{last} = minimum({total}, add({first}, {chunk}))")
            lanes = code.open_reductions(main, from_identity=True)
            length = self.counts[-1] if len(self.counts) > 1 else f"sub({last}, {first})"
            passes, width = code.lane_width(lanes, length)
            code.flat(main, lanes, first, last, passes, width)
            code.close_reductions(lanes, passes, width)
            by_name = {lane.reduction.name: lane for lane in lanes}
            for k, r in enumerate(main.reductions):
                place, name = f"at({number}, int64(2), int64({2 * CHUNKS * k}))", self.names.of(r.name)
                if r.op in ("argmin", "argmax"):
                    code.line(f"set_word_{r.operand_type}(partials, {place}, {by_name[r.name].value})")
                    code.line(f"set_word_int64(partials, add({place}, int64(1)), {name})")
                else:
                    code.line(f"set_word_{r.type}(partials, {place}, {name})")

    def write_body(self, variants: list[str]) -> None:
        code = self.code
        code.line("")
        with code.block("def body(words, state, partials, start, stop, alone):"):
            arguments = [expression for _, expression in self.arguments()] + ["words"] * self.bounds
            call = f"({', '.join([*arguments, 'state', 'partials', 'start', 'stop'])})"
            if len(variants) > 1:
                with code.block("if ne(alone, int64(0)):"):
                    code.line(f"return {variants[0]}{call}")
            code.line(f"return {variants[-1]}{call}")

    def write_finish(self) -> None:
        code, main = self.code, self.main
        code.line("")
        with code.block("def finish(words, state, partials, units):"):
            self.unpack()
            self.restore()
            if main is not None and main.kind == "grid":
                for k, r in enumerate(main.reductions):
                    part = f"advance(partials, int64({8 * 2 * CHUNKS * k}))"
                    dtype = r.operand_type if r.op in ("argmin", "argmax") else r.type
                    result = f"combine_{r.op}_{dtype}({part}, units)"
                    name = self.names.of(r.name)
                    if r.op not in ("argmin", "argmax"):
                        begin = code.expression(r.start) if r.start is not None else name
                        result = f"{UPDATE[r.op]}({begin}, {result})"
                    code.line(f"{name} = {result}")
            self.body_with_stacks(lambda: code.statements(self.after))
            code.line("return int64(0)")
