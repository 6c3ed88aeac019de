"""Sums over a loop whose threads do several iterations at once: the terms of such a round are added as a balanced tree
before they join the thread's sum, which so carries its rounding error once a round and not once a term.

A tree of eight terms takes three roundings of the 8 + log2(n) that a sum may have, a block of 1,024 threads ten, and of
n terms no more than log2(n) levels have anything to add. Terms that a last, shorter round does not have are 0: the bits
are the same however the round is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.contraction import product_of
from ...ir.dtypes import FLOATS
from ...ir.tree import Accumulate, Parallel, Unary, walk
from ..lane import Lane
from ..llvm.expressions import Expressions, constant
from ..llvm.writer import Writer
from .loop_reductions import Reductions

Term = tuple[str, ...]  # a name, or those of the factors of a product


class RoundSums:
    """The rounds of one loop."""

    def __init__(self, loop: Parallel, writer: Writer, expressions: Expressions, reductions: Reductions):
        self.writer, self.expressions, self.reductions = writer, expressions, reductions
        self.updates: dict[str, Accumulate] = {}
        found = [n for n in walk(loop) if isinstance(n, Accumulate)]
        for update in found:
            once = sum(other.name == update.name for other in found) == 1
            if once and reductions.lanes[update.name].compensated:
                self.updates[update.name] = update
        self.terms: dict[str, list[Term]] = {name: [] for name in self.updates}

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """The next iteration of the round is written inside, maybe under a condition."""
        for name, update in self.updates.items():
            term, zero = self._named(update), constant(0, self._lane(name).dtype)
            for part in term:
                self.writer.assign(part, zero)
            self.terms[name].append(term)
        outer, self.reductions.accumulate_in = self.reductions.accumulate_in, self._keep
        yield
        self.reductions.accumulate_in = outer

    def close(self) -> None:
        """What the round has come to joins the thread's sums."""
        for name, terms in self.terms.items():
            pairs = [terms[k : k + 2] for k in range(0, len(terms), 2)]
            self.reductions.include(self._lane(name), _tree([self._pair(*pair) for pair in pairs]))
            terms.clear()

    def _named(self, update: Accumulate) -> Term:
        """Names of the next term: each second product is rounded together with the sum that it is added in."""
        second = len(self.terms[update.name]) % 2 == 1
        product = second and self.expressions.contract and update.value.type in FLOATS and product_of(update.value)
        names = ("_factor", "_factor") if product else ("_term",)
        return tuple(self.writer.names.fresh(name) for name in names)

    def _keep(self, s: Accumulate) -> bool:
        """Keep the term of an update, if it is one of these sums."""
        if s.name not in self.updates:
            return False
        term, values = self.terms[s.name][-1], [s.value]
        if len(term) == 2 and (product := product_of(s.value)):
            negated, x, y = product
            values = [Unary("-", x, x.type) if negated else x, y]
        for part, value in zip(term, values, strict=True):
            self.writer.assign(part, self.expressions.text(value))
        return True

    def _pair(self, first: Term, second: Term = ()) -> str:
        if not second:
            return first[0]
        return f"fmuladd({', '.join((*second, *first))})" if len(second) == 2 else f"add({first[0]}, {second[0]})"

    def _lane(self, name: str) -> Lane:
        return self.reductions.lanes[name]


def _tree(values: list[str]) -> str:
    middle = (len(values) + 1) // 2
    return values[0] if len(values) == 1 else f"add({_tree(values[:middle])}, {_tree(values[middle:])})"
