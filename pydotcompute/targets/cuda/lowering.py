"""The typed tree as Python for numba-cuda: a module of one kernel, or of two for a reduction over grid or blocks,
and how they are launched.

`launches`, in order: {"entry", "block": threads, "grid": {"kind", "counts"}}. `counts` are expressions over dimensions
and integer scalars, as data (artifact/dimensions.py), outermost first, or None where only the kernel can know
them; kinds:
    "grid"    a thread each, one to three counts (the first ones of more as one); a grid-stride loop, so any grid
              computes the same. Where threads do several iterations (thread_coarsening.py, block_counters.py), the
              counts are those of threads
    "blocks"  a block each, the product of the counts; block-stride. Also of a reduction over them, in chunks
    "tiles"   a block each along two or three counts, the last along x; block-stride along each
    "chunks"  a block for each chunk of a reduction over the grid; block-stride
    "one"     one block, also where nothing is counted
    "given"   the declaration's own grid: one to three numbers of blocks along x, y, z
`scratch` is memory that both kernels of a call share: bytes of each array, as an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import or_
from typing import Any

from ...artifact.dimensions import Operation, Tree, data
from ...artifact.launch import MOST_BLOCKS, MOST_CHUNKS
from ...artifact.signature import DTYPE_BYTES
from ...errors import DeclarationError
from ...ir.from_zero import from_zero
from ...ir.names import all_names
from ...ir.storage import in_bits
from ...ir.tree import Assign, Const, KernelTree, Parallel, walk
from ..geometry import along_axes, assigned, block_of, declared_grid, expression
from ..llvm.faults import CALL, FAULTS
from ..names import Names
from ..phases import Split, split
from ..private_loops import shared_where_wider
from ..scans import Chunks, lowered
from ..scratch import flattened, largest, planned
from ..sites import Sites
from .arrays import arguments_of, arrays_of, complex_scalars
from .block_counters import BlockCounters, block_counters, counted
from .code import Code
from .counts import held_counts
from .entry_point import EntryPoint
from .near import fits, near_arrays
from .source import CudaSource
from .teams import Team, longest_loop
from .thread_coarsening import coarsened_axis
from .versions import BLOCK, of_versions

CHUNKS = Chunks(most=1024, least=32, of_block=128)  # of a scan, each of which a thread does
SHARED_BYTES = 49152  # of a block, on every GPU
RESERVED = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 bool inf nan range "
    "True False None cuda _thread _lane _warp _inside _members _turn _faults _call _slot _number _of_call"
).split()


def lower(tree: KernelTree, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None) -> CudaSource:
    """Generated Python of one specialisation. `launch` is the declaration's; `params` the specialisation's values.
    Raises DeclarationError for a block that no GPU runs."""
    from .namespace import NAMES  # here, because it imports Numba

    tree = flattened(in_bits(lowered(shared_where_wider(from_zero(tree)), CHUNKS)))
    parts, sites = split(tree), Sites(tree)
    names = Names(all_names(tree) | (parts.names if parts else set()), frozenset((*RESERVED, *NAMES)).__contains__)
    if parts is None:
        return replace(of_versions(Module(tree, launch or {}, params or {}, names, sites)), sites=sites)
    modules = [Module(kernel, launch or {}, params or {}, names, sites, split=True) for kernel in parts.kernels]
    return replace(_joined(parts, [module.source() for module in modules]), sites=sites)


def _joined(parts: Split, sources: Sequence[CudaSource]) -> CudaSource:
    """The sources of a kernel's phases as one, each launch with its own arguments."""
    most = max(len(s.scratch) for s in sources)  # which phases share: each is done before the next
    scratch = [largest([s.scratch[k] for s in sources if k < len(s.scratch)]) for k in range(most)]
    launches, program = parts.launches([s.launches for s in sources], [s.arguments for s in sources], most)
    return CudaSource(
        "\n".join(s.text for s in sources), tuple(p for s in sources for p in (*s.positions, None)),
        reduce(or_, (s.functions for s in sources)), tuple(e for s in sources for e in s.entries), (),
        launches, (*scratch, *parts.sizes), program,
    )  # fmt: skip


class Module:
    def __init__(
        self, tree: KernelTree, launch: dict[str, Any], params: dict[str, Any], names: Names, sites: Sites,
        split: bool = False, team: Team | None = None, near: bool = False, counters: BlockCounters | None = None,
        name: str = "",
    ):  # fmt: skip
        """name: what this version's entries are called behind the kernel's name."""
        self.tree, self.launch, self.params = tree, launch, params
        self.main = tree.main
        where = tree.body.index(self.main) if self.main else len(tree.body)
        self.before, self.after = tree.body[:where], tree.body[where + 1 :]
        self.names, self.sites, self.name = names, sites, name
        self.block = team.threads if team and not team.several else self.threads()
        self.team = team or Team(self.block)
        arrays = arrays_of(tree, self.names)
        if self.main and near:
            arrays = near_arrays(self.main, arrays)
        self.near, self.counters = near, counters
        self.code = Code(tree, self.names, arrays, self.team, sites, near, counters is not None)
        self.writer = self.code.writer
        self.reductions = self.main.reductions if self.main else ()
        # What a launch gets for faults: the slot, the kernel's number there, the word by which launches tell others.
        told = ("_slot", "int64*"), ("_number", "int64"), ("_of_call", "int64*")
        self.told = told[: (3 if split or self.reductions else 2) if sites.any else 0]

    def version(self, tree: KernelTree | None = None, **how: Any) -> CudaSource:
        """The source of the same kernel, or of a changed one, written in another way."""
        return Module(tree or self.tree, self.launch, self.params, self.names, self.sites, **how).source()

    def source(self) -> CudaSource:
        code, writer, tree = self.code, self.writer, self.tree
        given = arguments_of(tree, self.names)
        scratch: list[tuple[str, str]] = []  # (name, dtype) of partial values, in the order of the lanes
        for r in self.reductions:
            positioned = r.op in ("argmin", "argmax")
            dtype = r.operand_type if positioned else r.type
            for d in (dtype, "int64") if positioned else (dtype,):
                scratch.append((self.names.fresh("_chunks_of"), d))
        partial = [name for name, _ in scratch]
        own = {a.name: self.names.fresh("_scratch") for a in tree.arrays.values() if a.scratch}
        scratch += [(name, tree.arrays[of].dtype) for of, name in own.items()]
        plan = planned(tree, self.grid(), self.block)
        also = [*((name, f"{d}*") for name, d in scratch), *self.told]
        parameters = [name for _, name, _ in given] + [name for name, _ in also]
        types = tuple(t for _, _, t in given) + tuple(t for _, t in also)
        unaliased = self.unaliased()
        noalias = tuple(what[0] == "data" and what[1] in unaliased for what, _, _ in given) + (False,) * len(also)
        entries, launches = [], []

        def function(name: str, body: Callable[[], None], grid: dict[str, Any]) -> None:
            written = self.names.fresh(re.sub(r"\W", "_", name))
            writer.line("")
            with writer.define(written, parameters):
                for whole, real, imaginary in complex_scalars(tree, self.names):
                    writer.assign(whole, f"complex_of({real}, {imaginary})")
                code.begin()
                self.begin_faults()
                start = len(writer.lines)
                body()
                with writer.inserted(start):  # what the body exchanges is known only now
                    code.allocate()
                    code.allocate_scratch(own)
                    code.reductions.allocate_exchange()
                writer.return_()
            entries.append(EntryPoint(name, types, noalias, self.block, written))
            launches.append({"entry": name, "block": self.block, "grid": grid})

        function(tree.name + self.name, lambda: self.write_main(partial), plan.grid)
        if self.reductions:
            code.reductions.exchanged.clear()
            function(f"{tree.name}_finish", lambda: self.write_finish(partial), {"kind": "one", "counts": []})
        self.check_shared()
        code.faults.call = CALL
        code.helpers.define(code.statements)
        code.elements.checked.define()
        functions = {made.name: made.helper.types for made in code.helpers.made.values()}
        functions |= {name: (array.dtype,) for name, array in code.elements.checked.functions.values()}
        arguments = tuple(what for what, _, _ in given) + tuple(("scratch", k) for k in range(len(scratch)))
        arguments += tuple(("fault", k) for k in range(len(self.told)))
        text = "\n".join(writer.lines).lstrip("\n") + "\n"
        return CudaSource(
            text, tuple(writer.positions[1:]), functions, tuple(entries), arguments, tuple(launches),
            (*(MOST_CHUNKS * DTYPE_BYTES[d] for _, d in scratch[: len(partial)]), *plan.sizes),
        )  # fmt: skip

    def begin_faults(self) -> None:
        """A thread's words for faults. All threads of a block begin with the same, where they are to stay together."""
        if not self.told:
            return
        of_call = len(self.told) > 2
        function = "thread_faults_of_call" if of_call else "thread_faults"
        self.writer.assign(FAULTS, f"{function}({', '.join(name for name, _ in self.told)})")
        if of_call and self.main is not None and (self.main.kind == "blocks" or self.reductions):
            self.writer.line(f"block_faulted({FAULTS})")

    def check_shared(self) -> None:
        """Refuse what leaves reductions no shared memory to combine their warps in. The language's own limit, the same
        48 KiB, is checked with the types."""
        shared = [a for a in self.tree.arrays.values() if a.kind == "shared" and not a.scratch]
        own = sum(prod(a.fixed) * DTYPE_BYTES[a.dtype] for a in shared)
        extra = self.code.reductions.exchanged_bytes
        if shared and own + extra > SHARED_BYTES:
            raise DeclarationError(
                f"on CUDA the shared arrays of this block take {own} bytes, and its reductions {extra} more; there are "
                f"{SHARED_BYTES}", shared[-1].at, "make an array smaller",
            )  # fmt: skip

    # -------------------------------------------------------------------------------------------------- bodies

    def write_main(self, partial: list[str]) -> None:
        code, main = self.code, self.main
        code.statements.write(self.before)
        if main is not None:
            with self.writer.from_position(main.at):
                self.write_loop(main, partial)

    def write_loop(self, main: Parallel, partial: list[str]) -> None:
        code = self.code
        counts = held_counts(main, self.writer, code.expressions, code.faults)
        if main.kind == "blocks" and self.reductions:
            code.grid_reduction.blocks(self.tree, main, counts, partial)
        elif main.kind == "blocks":
            (code.loops.tiles if self.tiled else code.loops.blocks)(self.tree, main, counts)
        elif self.reductions:
            code.grid_reduction.chunks(main, counts, partial)
        else:
            if self.launch.get("grid") or None in self.grid()["counts"]:
                # It may be launched for nothing: of nested loops the outer one would be endless, the inner one empty,
                # and of a count that is far below 0 what is subtracted would go round.
                some = " and ".join(f"gt({count}, int64(0))" for count in counts)
                counts = (self.writer.held("_count", f"({counts[0]} if {some} else int64(0))"), *counts[1:])
            with counted(code, self.counters.arrays if self.counters else ()):
                code.loops.grid(main, counts)

    def write_finish(self, partial: list[str]) -> None:
        code, main = self.code, self.main
        assert main is not None  # the kernel is a reduction
        code.statements.write(self.before)
        with self.writer.from_position(main.at):
            counts = held_counts(main, self.writer, code.expressions, code.faults)
            code.grid_reduction.combine(main, counts, partial)
        if self.after:
            with self.writer.if_("eq(_thread, int64(0))"):
                code.statements.write(self.after)

    def unaliased(self) -> set[str]:
        """Arrays that are only read, and that nothing written overlaps."""
        shared = {name for pair in self.tree.aliases for name in pair}
        return {p.name for p in self.tree.parameters if p.role == "in" and p.is_array} - shared

    # -------------------------------------------------------------------------------------------------- launch

    def threads(self) -> int:
        """Threads of a block: as declared, else as many as the largest loop over them can use, at most BLOCK."""
        if self.launch.get("block"):
            return block_of(self.launch, self.params)[0]
        if self.main is None or self.main.kind != "blocks":
            return BLOCK
        sizes = []
        for loop in (n for n in walk(self.main) if isinstance(n, Parallel) and n.kind == "threads"):
            size = 1
            for count in loop.counts:
                known = count.value if isinstance(count, Const) else BLOCK
                size *= max(known, 1) if isinstance(known, int) else BLOCK
            sizes.append(size)
        return min(BLOCK, -(-max(sizes, default=1) // 32) * 32)

    def grid(self) -> dict[str, Any]:
        if self.main is None:
            return {"kind": "one", "counts": []}
        if declared := self.launch.get("grid"):
            return {"kind": "given", "counts": list(map(data, declared_grid(declared, self.params, self.main)))}
        kind = "chunks" if self.reductions and self.main.kind == "grid" else self.main.kind
        counts = self.counts
        kind = "tiles" if self.tiled else kind
        if self.team.several:
            team = {"team": self.team.threads}
            return {"kind": kind, "counts": [data(count) for count in counts if count is not None], **team}
        if self.counters:
            return {"kind": kind, "counts": [data(self.counters.threads)]}
        most: dict[str, int] = {}
        if kind == "grid":
            counts, early = along_axes(counts), self.code.coarsening.early_loads(self.main)
            axis = coarsened_axis(len(counts))
            if early and (count := counts[axis]) is not None:  # rounded up; that many threads are as good as more
                few = Operation("min", (count, 2**62))
                counts[axis] = Operation("//", (Operation("+", (few, early.at_once - 1)), early.at_once))
            if not self.code.loops.contiguous.is_wide(self.main, early):
                most = {"most": MOST_BLOCKS}
        return {"kind": kind, "counts": [None if count is None else data(count) for count in counts], **most}

    @property
    def counts(self) -> list[Tree | None]:
        """Those of the main loop, as a launch can know them."""
        known = self.set_up()
        return [expression(c, known) for c in self.main.counts] if self.main else []

    @property
    def longest(self) -> Tree | None:
        """How long rows are that may be done by a warp; None: by a block alone."""
        if self.launch.get("block") or self.launch.get("grid") or self.block != BLOCK or self.code.faults.any:
            return None
        return None if None in self.counts else longest_loop(self.tree, self.set_up())

    @property
    def fits(self) -> Tree | None:
        """Where a version does that counts in 32 bits; None: there is none."""
        counts = [count for count in self.counts if count is not None]
        blocks = self.main is not None and self.main.kind == "blocks" and len(counts) == len(self.main.counts)
        return fits(self.tree, counts) if blocks and not self.reductions and not self.launch.get("grid") else None

    @property
    def countable(self) -> BlockCounters | None:
        """How a version counts by blocks; None: there is none."""
        if self.launch.get("grid"):
            return None
        return block_counters(self.tree, self.counts, self.code.arrays.by_name, self.block)

    @property
    def tiled(self) -> bool:
        """Whether blocks lie along as many axes as their loop has counts: nothing is divided then."""
        if self.main is None or self.main.kind != "blocks" or self.reductions or self.launch.get("grid"):
            return False
        scratch = any(a.scratch for a in self.tree.arrays.values())  # which is for so many blocks along one axis
        return len(self.main.counts) in (2, 3) and not scratch and None not in self.counts

    def set_up(self) -> dict[str, Tree | None]:
        """Names that a launch can know → expressions: dimensions, integer scalars, and locals made of them."""
        known: dict[str, Tree | None] = {s: s for s in self.tree.symbols}
        for p in self.tree.parameters:
            if not p.in_memory and "int" in p.dtype:
                known[p.name] = p.name
        for s in self.before:
            if isinstance(s, Assign):
                known[s.name] = expression(s.value, known) if s.name not in known else None
            else:
                known.update({name: None for name in assigned((s,))})
        return known
