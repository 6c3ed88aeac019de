"""What is left of a loop after its last vector, as one more vector of which some lanes do nothing: of much code it
takes longer one by one. Where a processor has no masks, it is left as it is (targets/cpu/masks.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.tree import Access, Binary, Const, Expr, For, Parallel, Reduce, Var, While, walk
from ..llvm.statements import Statements
from ..llvm.writer import Writer
from .bodies import has_much_code, vector_width
from .elements import Elements
from .index_set_splitting import definitions, substituted

_MUCH = 1600  # nodes of the bodies of a vector's lanes, beside which what a mask costs is little
_WORDS = ("float32", "float64", "int32", "int64", "uint32", "uint64")  # that AVX2 has masks for


class Rests:
    def __init__(self, writer: Writer, statements: Statements, elements: Elements):
        self.writer, self.statements, self.elements = writer, statements, elements

    def is_costly(self, loop: Parallel) -> bool:
        """Whether it is to be a vector: of much code, and all that is moved are words side by side."""
        nodes = [node for s in loop.body for node in walk(s)]
        if loop.reductions or any(isinstance(n, (For, While, Reduce)) for n in nodes):
            return False
        if not has_much_code(loop) and len(nodes) * vector_width(loop) < _MUCH:
            return False
        accesses, known = (n for n in nodes if isinstance(n, Access) and n.indices), definitions(loop.body)
        return all(self._lies_along(loop.names[-1], access, known) for access in accesses)

    def _lies_along(self, index: str, access: Access, known: dict[str, Expr]) -> bool:
        """known: what locals stand for."""
        *outer, along = (substituted(e, known) for e in access.indices)
        if any(isinstance(n, Var) and n.name == index for e in outer for n in walk(e)):
            return False
        match along:
            case Var(name) | Binary("+" | "-", Var(name), Const()):
                words = self.elements.arrays[access.array].dtype in _WORDS
                return name == index and words and self.elements.is_dense(access)
        return False

    @contextmanager
    def after(self, loop: Parallel, start: str, stop: str) -> Iterator[tuple[str, str]]:
        """Write the rest after what is written inside: the loop from where to where it goes besides."""
        writer, width = self.writer, vector_width(loop)
        k = writer.names.fresh("_k")
        first = writer.held("_first", start)
        length = writer.held("_length", f"maximum(sub({stop}, {first}), int64(0))")
        rest = writer.held("_rest", f"under_mask(band({length}, int64({width - 1})))")
        last = writer.held("_last", f"add({first}, sub({length}, {rest}))")
        yield first, last
        lanes = writer.held("_lanes", f"to_int32({rest})")
        with writer.if_(f"gt({rest}, int64(0))"), writer.for_(k, "int64(0)", f"int64({width})"):
            writer.line("independent_vectors()")
            writer.assign(writer.names.of(loop.names[-1]), f"add({last}, {k})")
            with writer.if_(f"lt(lane_number({k}), {lanes})"), self.statements.iteration():
                self.statements.write(loop.body)
