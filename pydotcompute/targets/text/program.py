"""The typed tree of one specialisation as a file of a C-like language: a kernel, or two for a reduction over grid or
blocks, and how they are launched.

`launches`, in order: {"entry", "block": threads, "grid": {"kind", "counts"}}, and "fixed": True where the block may
have no other shape; the kinds are those of targets/cuda/lowering.py. `scratch` is memory that the kernels of a call
share: bytes of each array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...artifact.dimensions import Tree
from ...artifact.dtypes import STORED
from ...artifact.launch import MOST_CHUNKS
from ...artifact.signature import DTYPE_BYTES
from ...errors import DeclarationError, Position
from ...ir.dtypes import COMPLEX, DOUBLES, FLOATS
from ...ir.from_zero import from_zero
from ...ir.math import FUNCTIONS as LISTED
from ...ir.names import all_names
from ...ir.storage import BITS, in_bits
from ...ir.tree import Assign, Binary, Call, Const, KernelTree, Node, Parallel, Stmt, walk
from ..intervals import Intervals
from ..lane import lane_dtypes
from ..names import Names
from ..phases import split
from ..private_loops import shared_where_wider
from ..scans import Chunks, lowered
from ..scratch import extents, flattened, largest, planned
from ..sites import Sites
from .arrays import Argument, arguments_of, arrays_of, dimension, updated
from .dialect import Dialect
from .expressions import Expressions
from .faults import NAMES, Faults
from .geometry import grid, threads
from .loops import Loops
from .private import private_widths, slots_of
from .reductions import Reductions
from .scalars import Scalars
from .source import Source
from .statements import Helpers, Statements, declared
from .writer import Writer, elements

CHUNKS = Chunks(most=1024, least=32, of_block=128)  # of a scan, each of which a thread does


def emit(
    tree: KernelTree, dialect: Dialect, launch: dict[str, Any] | None = None, params: dict[str, Any] | None = None
) -> Source:
    """The file of one specialisation. `launch` is the declaration's, `params` the specialisation's values.

    Raises DeclarationError for what the dialect cannot say, naming the line.
    """
    refuse_missing(tree, dialect)
    counted = shared_where_wider(from_zero(tree))
    scanned = lowered(counted, CHUNKS)
    exact = dialect.exact if scanned is not counted else {}  # a scan carries its rounding errors along
    tree = flattened(in_bits(scanned))
    parts = split(tree)
    taken = all_names(tree) | (parts.names if parts else set())
    names = Names(taken, lambda name: name in NAMES or dialect.is_reserved(name), only_ascii=True)
    scalars = Scalars(dialect, names)
    if not dialect.has_pointers:  # all kernels share one declaration of an array
        scalars.updated = frozenset(updated(tree))
    sites = Sites(tree)
    faults = Faults(scalars, sites)
    kernels = parts.kernels if parts else (tree,)
    programs = [
        _Program(kernel, dialect, launch or {}, params or {}, names, scalars, faults, bool(parts), exact)
        for kernel in kernels
    ]
    written = [(program, *program.functions()) for program in programs]
    functions = [w for program, own, _ in written for w in (*program.helpers.functions, *own)]
    features = frozenset(scalars.features.union(*(program.features() for program in programs)))
    of_call = any(program.told > 2 for program in programs)
    checks = ["", *dialect.faults["prologue"](of_call)] if faults.any else []
    layout = None if dialect.has_pointers else scalars.layout
    variables = ["", *dialect.declarations(layout)] if layout else []
    library = [line for text in scalars.texts for line in (*text, "")]
    head = [*dialect.prologue(features), *variables, *checks, "", *library]
    lines = list(head)
    positions: list[Position | None] = [None] * len(head)
    for w in functions:
        lines += [*w.lines, ""]
        positions += [*w.positions, None]
    text, shared = "\n".join(lines).rstrip("\n") + "\n", max(program.shared for program in programs)
    arguments = [program.described() for program in programs]
    given = {entry: own for program in programs for entry, own in program.given.items()}
    scratch = [program.scratch() for program in programs]
    if parts is None:
        (_, _, launches), = written
        return Source(
            text, tuple(positions[: len(lines)]), arguments[0], tuple(launches), scratch[0], shared, features,
            sites=sites if faults.any else None, layout=layout, given=given,
        )  # fmt: skip
    most = max(map(len, scratch))  # which phases share: each is done before the next
    sizes = [largest([own[k] for own in scratch if k < len(own)]) for k in range(most)]
    each, steps = parts.launches([launches for _, _, launches in written], arguments, most)
    told = sites if faults.any else None
    return Source(
        text, tuple(positions[: len(lines)]), (), each, (*sizes, *parts.sizes), shared, features, steps, told, layout,
        given,
    )  # fmt: skip


def refuse_missing(tree: KernelTree, dialect: Dialect) -> None:
    """Raise DeclarationError for a dtype that the language does not have."""
    own = tuple(dtype for dtype in dialect.types if dtype not in dialect.internal)
    known = (*own, *(STORED if BITS in dialect.types else ()))
    for p in tree.parameters:
        if p.dtype not in known:
            raise DeclarationError(
                f"{tree.name}: '{p.name}' is {p.dtype}, which {dialect.name} does not have",
                hint=f"it has {', '.join(known)}",
            )
    for root in (*tree.body, *(s for h in tree.helpers for s in h.body)):
        for node in walk(root):
            dtype = getattr(node, "type", None) or getattr(node, "dtype", None)
            if isinstance(dtype, str) and dtype not in known:
                raise DeclarationError(
                    f"{tree.name} computes in {dtype}, which {dialect.name} does not have", node.at,
                    f"it has {', '.join(known)}",
                )  # fmt: skip
            function, operand = _elementary(node)
            if function and (function, operand) not in dialect.functions and function not in dialect.library:
                told = f"{tree.name} needs {function} of {operand}, which there is not in {dialect.name}"
                raise DeclarationError(told, node.at)


def _elementary(node: Node) -> tuple[str, str]:
    """The elementary function of floats that a node needs, and of what; two empty texts for none."""
    match node:
        case Call(function=function, arguments=(*_, last)) if function in LISTED:
            return function, COMPLEX.get(last.type, last.type)
        case Binary(op="**", type=dtype) if dtype in FLOATS:
            return "pow", dtype
    return "", ""


class _Program:
    def __init__(
        self, tree: KernelTree, dialect: Dialect, launch: dict[str, Any], params: dict[str, Any], names: Names,
        scalars: Scalars, faults: Faults, split: bool, exact: Mapping[str, str],
    ):  # fmt: skip
        self.tree, self.dialect, self.launch, self.params = tree, dialect, launch, params
        self.main = tree.main
        where = tree.body.index(self.main) if self.main else len(tree.body)
        self.before, self.after = tree.body[:where], tree.body[where + 1 :]
        self.names, self.scalars = names, scalars
        contract = "contract" in tree.fastmath or "fast" in tree.fastmath
        self.limits: list[Tree] = []  # what a launch must not count beyond, where the dialect counts in few bits
        self.helpers = Helpers(tree, self.scalars, contract, lambda: Writer(dialect, self.names), faults, self.limits)
        self.faults, self.exact = faults, exact
        self.contract = contract
        self.block = threads(tree, self.launch, self.params)
        self.reduced = self.main.reductions if self.main else ()
        self.reduces = bool(self.reduced)
        self.told = (3 if split or self.reduces else 2) if faults.any else 0  # words that a launch gets for faults
        self.arrays = arrays_of(tree, self.names, self.scalars)
        self.arguments = arguments_of(tree, self.names, self.scalars)
        self.partial = self.partials()
        self.own = {a.name: self.names.fresh("_scratch") for a in tree.arrays.values() if a.scratch}
        if not dialect.has_pointers:
            self.arrays |= {of: replace(self.arrays[of], pointer=name) for of, name in self.own.items()}
        self.plan = planned(tree, grid(tree, self.launch, self.params), self.block)
        self.shared = 0
        self.given: dict[str, tuple[Argument, ...]] = {}  # by kernel, what it gets

    def partials(self) -> list[tuple[str, str]]:
        """(memory, dtype) of the partial values of chunks."""
        dtypes = [dtype for r in self.reduced for dtype in lane_dtypes(r)]
        return [(self.names.fresh("_chunks_of"), dtype) for dtype in dtypes]

    def functions(self) -> tuple[list[Writer], list[dict[str, Any]]]:
        """Its kernels, and how they are launched."""
        functions: list[Writer] = []
        launches: list[dict[str, Any]] = []
        fixed = self.main is None or self.main.kind == "blocks" or self.reduces or bool(self.own)

        def add(name: str, body, block: int | None, grid: dict[str, Any]) -> None:
            functions.append(self.function(name, body, block))
            item = {"entry": name, "block": block or self.block, "grid": grid}
            limits = {"limits": list(dict.fromkeys(self.limits))} if self.limits else {}
            launches.append(item | {"fixed": True} | limits if block else item | limits)

        entry = self.names.of(self.tree.name)
        add(entry, self.write_main, self.block if fixed else None, self.plan.grid)
        if self.reduces or (self.main is not None and self.after):
            one = {"kind": "one", "counts": []}
            add(self.names.fresh(f"{entry}_finish"), self.write_finish, self.block if self.reduces else 1, one)
        return functions, launches

    def scratch(self) -> tuple[Tree, ...]:
        """Bytes of each array of partial values, then of the kernel's own that lie in scratch."""
        return (*(MOST_CHUNKS * DTYPE_BYTES[d] for _, d in self.partial), *self.plan.sizes)

    def described(self) -> tuple[tuple, ...]:
        """The arguments, as the run half reads them."""
        scratch = (("scratch", k) for k in range(len(self.partial) + len(self.own)))
        return (*(a.what for a in self.arguments), *scratch, *(("fault", k) for k in range(self.told)))

    def features(self) -> set[str]:
        """What the dtypes of the tree need of a device."""
        found = {p.dtype for p in self.tree.parameters} | {a.dtype for a in self.tree.arrays.values()}
        for root in (*self.tree.body, *(s for h in self.tree.helpers for s in h.body)):
            found |= {getattr(node, "type", "") for node in walk(root)} | {
                node.operand_type for one in walk(root) if isinstance(one, Parallel) for node in one.reductions
            }
        return {"float64"} if found & DOUBLES else set()

    # ------------------------------------------------------------------------------------------------- functions

    def function(self, name: str, body, block: int | None) -> Writer:
        """One kernel; `body` writes what it does."""
        d, names, w = self.dialect, self.names, Writer(self.dialect, self.names)
        inner = Writer(d, names, 1)
        thread = names.fresh("_thread")
        expressions = Expressions(
            self.scalars, names, self.arrays, self.helpers.call, self.contract, inner, self.faults,
            intervals=Intervals(self.tree, self.tree.body, limits=self.limits),
        )  # fmt: skip
        expressions.exact = self.exact
        reductions = Reductions(inner, expressions, block or self.block, thread)
        loops = Loops(self.tree, inner, Statements(inner, expressions, reductions), reductions, self.faults)
        used = body(loops)
        given = self.given[name] = (*self.parameters(), *self.faults.given(self.told))
        parameters = [self.parameter(a, w) for a in given if a.is_memory or not d.members] if d.has_pointers else []
        members = [a for a in given if not a.is_memory] if d.members else []
        if members:
            parameters.insert(0, self.gather(w, name, members))
        with w.block(d.entry(name, parameters, block)):
            if not d.has_pointers:
                self.take(w, name)
            for a in members:
                w.constant(a.name, passed(a), f"{d.members}.{a.name}")
            self.bind(w)
            if self.told:
                self.faults.begin(w, self.told > 2, loops.votes)
            if any(thread in line for line in inner.lines):
                w.constant(thread, d.index, d.local[0])
            for local, dtype in declared(used, self.helpers.helpers).items():
                w.declare(names.of(local), dtype)
            self.make_arrays(w, used, expressions)
            exchanged = sorted(reductions.exchanged)
            for dtype, number in exchanged:
                self.make(w, reductions.shared(dtype, number), "shared", "shared", dtype, reductions.block)
            w.lines += inner.lines
            w.positions += inner.positions
        arrays = [a for a in self.tree.arrays.values() if a.kind == "shared" and not a.scratch]
        sizes = [(a.dtype, _size(a.fixed)) for a in arrays] + [(dtype, reductions.block) for dtype, _ in exchanged]
        self.shared = max(self.shared, sum(max(d.least, DTYPE_BYTES[dtype]) * size for dtype, size in sizes))
        return w

    def parameters(self) -> list[Argument]:
        memory = [*self.partial, *((name, self.tree.arrays[of].dtype) for of, name in self.own.items())]
        scratch = [Argument(("scratch", k), name, dtype, True) for k, (name, dtype) in enumerate(memory)]
        return [*self.arguments, *scratch]

    def parameter(self, a: Argument, w: Writer) -> str:
        if not a.is_memory:
            return w.parameter(passed(a), a.name)
        array = self.arrays.get(a.what[1]) if a.what[0] == "data" else None
        shared = {name for pair in self.tree.aliases for name in pair}
        alone = array is not None and array.constant and array.name not in shared
        return w.pointer("global", a.dtype, a.name, array is not None and array.constant, alone)

    def gather(self, w: Writer, kernel: str, members: list[Argument]) -> str:
        """A struct of a kernel's scalars, and the parameter in which it gets one."""
        struct = self.names.fresh(f"{kernel}_scalars")
        with w.block(*self.dialect.struct(struct)):
            for a in members:
                w.line(self.dialect.member(a.name, self.dialect.types[passed(a)]))
        w.line("")
        return self.dialect.gathered(struct)

    def take(self, w: Writer, entry: str) -> None:
        """Names for the arguments of a kernel of a language without pointers, and the buffers that it needs."""
        layout, place = self.scalars.layout, 0
        for a in self.given[entry]:
            if a.is_memory:
                array = self.arrays.get(a.what[1]) if a.what[0] == "data" else None
                own = next((self.arrays[of] for of, name in self.own.items() if name == a.name), None)
                found = array or own
                memory = found.memory if found else "updated_global" if a.what[0] == "fault" else "global"
                layout.buffer(entry, a.name, a.dtype, memory)
                continue
            w.constant(a.name, passed(a), self.dialect.word(passed(a), place))
            place += self.dialect.words(passed(a))
        layout.words = max(layout.words, place)
        layout.bindings.setdefault(entry, [])
        for symbol in self.tree.symbols:
            text = self.scalars.convert(self.names.of(symbol), "int64", self.scalars.index)
            w.constant(dimension(symbol, self.names, self.scalars), self.scalars.index, text)

    def bind(self, w: Writer) -> None:
        """The user's names for what the arguments hold."""
        for p in self.tree.parameters:
            if p.in_memory:
                array = self.arrays[p.name]
                if array.start:
                    continue
                start = f"{self.names.part(p.name, 'data')} + {self.names.part(p.name, 'start')}"
                w.point("global", p.dtype, array.pointer, start, array.constant)
            elif p.name not in self.tree.symbols:
                given = self.names.part(p.name, "given")
                if p.dtype in COMPLEX:
                    given = self.dialect.pair(p.dtype, f"{given}_real", f"{given}_imag")
                elif p.dtype == "bool":
                    given = f"{given} != 0"
                w.constant(self.names.of(p.name), p.dtype, given)

    def make_arrays(self, w: Writer, used: tuple[Stmt, ...], expressions: Expressions) -> None:
        if self.main not in used:
            return
        widths, d = private_widths(self.tree), self.dialect
        for a in self.tree.arrays.values():
            array = self.arrays[a.name]
            if a.scratch:
                for name, n, extent in zip(array.extents, a.shape, extents(self.tree, a), strict=True):
                    if not isinstance(n, int):
                        w.constant(name, d.index, expressions.index(extent))
                each = " * ".join((*array.extents, *["2"] * (a.dtype in COMPLEX)))
                number = d.group[0] if a.kind == "shared" else f"({d.group[0]} * {d.size[0]} + {d.local[0]})"
                if array.start:
                    w.constant(array.start, d.index, f"{number} * {each}")
                else:
                    w.point("global", a.dtype, array.pointer, f"{self.own[a.name]} + {number} * {each}", False)
                continue
            count = slots_of(widths[len(a.fixed)], self.block) if a.kind == "private" else _size(a.fixed)
            self.make(w, array.pointer, array.space, array.memory, a.dtype, count)

    def make(self, w: Writer, name: str, space: str, memory: str, dtype: str, count: int) -> None:
        """Memory of the block's or the thread's own."""
        if self.dialect.has_pointers:
            w.array(space, name, dtype, count)
        else:
            self.scalars.layout.array(name, memory, dtype, elements(dtype, count))

    # ---------------------------------------------------------------------------------------------------- bodies

    def write_main(self, loops: Loops) -> tuple[Stmt, ...]:
        """What the first kernel does; the statements whose names it needs."""
        if self.main is None:
            with loops.writer.when(f"{loops.thread} == {loops.number(0)}"):
                loops.statements.write(self.before)
            return self.before
        loops.statements.write(self.before)
        loops.writer.at = self.main.at
        if self.main.kind == "blocks" and self.reduces:
            loops.reduce_blocks(self.main, self.partial)
        elif self.main.kind == "blocks":
            loops.blocks(self.main)
        elif self.reduces:
            loops.reduce_chunks(self.main, self.partial)
        else:
            loops.grid(self.main)
        return (*self.before, self.main)

    def write_finish(self, loops: Loops) -> tuple[Stmt, ...]:
        loops.statements.write(self.before)
        reduced: tuple[Stmt, ...] = ()
        if self.reduces and self.main:
            loops.writer.at = self.main.at
            loops.combine_chunks(self.main, self.partial)
            reduced = tuple(Assign(r.name, Const(0, r.type)) for r in self.reduced)
        with loops.writer.when(f"{loops.thread} == {loops.number(0)}"):
            loops.statements.write(self.after)
        return (*self.before, *reduced, *self.after)


def passed(a: Argument) -> str:
    """The dtype in which a kernel gets a scalar."""
    return "uint8" if a.dtype == "bool" else a.dtype


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
