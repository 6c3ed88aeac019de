"""Elements of arrays that a sequential loop adds up in, as scalars of the loop.

    for k in range(n):                   s = y[i]
        y[i] += a[i, k] * x[k]    ⟶      for k in range(n):
                                             s += a[i, k] * x[k]
                                         y[i] = s

What the loop reads of that array besides has to be proved to be other elements, as in `A[i, j] -= A[i, k] * A[j, k]`
for j < i and k < j. The element is read and written where the loop has no turns too: so the tree is only taken if it is
proved again that indices are inside, and that iterations of parallel loops are apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ...analysis.accesses import Accesses
from ...analysis.races import apart_anyhow, check
from ...analysis.symbolic import collect
from ...errors import DeclarationError
from ...ir.names import all_names
from ...ir.tree import (
    Access,
    Assign,
    CallHelper,
    For,
    If,
    KernelTree,
    Load,
    Parallel,
    Stmt,
    Store,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from ..names import Names
from .bodies import assigned, read

_TYPES = ("float32", "float64")
Element = tuple[str, tuple[Any, ...]]


def in_scalars(tree: KernelTree) -> KernelTree:
    """The tree with such elements in scalars."""
    totals = _Totals(tree)
    body = totals.of(tree.body)
    if not totals.locals:
        return tree
    try:
        proved = check(replace(tree, body=body, locals={**tree.locals, **totals.locals}))
    except DeclarationError:
        return tree
    added = [n for s in proved.body for n in _added(s, totals.locals)]
    if tree.aliases - proved.aliases or any(n.indices and not n.inside for n in added):
        return tree
    return replace(proved, aliases=tree.aliases)


def _added(s: Stmt, totals: dict[str, str]) -> Iterator[Load | Store]:
    """The accesses before and after loops."""
    for n in walk(s):
        match n:
            case Assign(name=name, value=Load() as load) if name in totals:
                yield load
            case Store(value=Var(name=name)) if name in totals:
                yield n


class _Totals:
    def __init__(self, tree: KernelTree):
        self.tree, self.names = tree, Names(all_names(tree), lambda name: False)
        self.types = {p.name: p.dtype for p in tree.parameters} | {a.name: a.dtype for a in tree.arrays.values()}
        self.locals: dict[str, str] = {}
        self.partners: dict[str, set[str]] = {}
        for a, b in tree.aliases:
            self.partners.setdefault(a, set()).add(b)
            self.partners.setdefault(b, set()).add(a)
        self.helpers_touch = any(isinstance(n, Access) for h in tree.helpers for s in h.body for n in walk(s))

    def of(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(done for s in body for done in self._changed(s))

    def _changed(self, s: Stmt) -> Iterator[Stmt]:
        match s:
            case If():
                yield replace(s, body=self.of(s.body), orelse=self.of(s.orelse))
            case While() | Parallel():
                yield replace(s, body=self.of(s.body))
            case For():
                held = {e: Var(self.names.fresh(f"{e[0]}_total"), self.types[e[0]]) for e in self._elements(s)}
                self.locals |= {v.name: v.type for v in held.values()}
                for (array, indices), v in held.items():
                    yield Assign(v.name, Load(array, indices, v.type, at=s.at), at=s.at)
                inside = tuple(_with(held, statement) for statement in s.body) if held else s.body
                done = self.of(inside)
                yield s if done == s.body else replace(s, body=done)
                for (array, indices), v in held.items():
                    yield Store(array, indices, v, at=s.at)
            case _:
                yield s

    @cached_property
    def found(self) -> Accesses:
        return collect(self.tree)

    def _elements(self, loop: For) -> Iterable[Element]:
        """What the loop adds up in."""
        nodes = [n for s in loop.body for n in walk(s)]
        if any(isinstance(n, Parallel) or self.helpers_touch and isinstance(n, CallHelper) for n in nodes):
            return ()
        changes, accesses = assigned(loop.body) | {loop.name}, [n for n in nodes if isinstance(n, Access)]
        touched: dict[str, list[Access]] = {}
        for n in accesses:
            touched.setdefault(n.array, []).append(n)
        return [
            (array, place)
            for array, own in touched.items()
            if array not in self.tree.disjoint  # which is said of what the kernel touches, and of nothing else
            and (place := next((n.indices for n in own if isinstance(n, Store)), None)) is not None
            and any(isinstance(n, Load) and n.indices == place for n in own)
            and all(self._is_plain(n, place) for n in own if n.indices == place or not isinstance(n, Load))
            and not read(*place) & changes
            and not any(isinstance(n, (Load, CallHelper)) for e in place for n in walk(e))
            and not self.partners.get(array, set()) & touched.keys()
            and self._are_apart(loop, array, sum(isinstance(n, Load) and n.indices == place for n in own), own)
        ]

    def _are_apart(self, loop: For, array: str, here: int, own: Sequence[Access]) -> bool:
        """Whether all loads of it but so many read other elements than its stores write, in whatever turn."""
        if here == sum(isinstance(n, Load) for n in own):
            return True
        scope = next((scope for one in self.found.all for scope in one.scopes if scope.node is loop), None)
        if scope is None:
            return False
        every = [one for one in self.found.all if one.array == array and scope in one.scopes]
        stores, loads = ([one for one in every if one.kind == kind] for kind in ("store", "load"))
        others = [one for one in loads if one.indices != stores[0].indices]
        return len(loads) - len(others) == here and all(
            apart_anyhow(self.found, scope, store, other) for store in stores for other in others
        )

    def _is_plain(self, n: Access, indices: tuple[Any, ...]) -> bool:
        dtype = self.types[n.array]
        kind = n.value.type if isinstance(n, Store) else n.type if isinstance(n, Load) else ""
        return dtype in _TYPES and kind == dtype and n.indices == indices and (n.inside or not indices)


def _with(held: dict[Element, Var], node: Any) -> Any:
    """A statement with these elements in scalars."""
    made = rebuilt(node, lambda child: _with(held, child))
    if isinstance(made, (Load, Store)) and (v := held.get((made.array, made.indices))):
        return v if isinstance(made, Load) else Assign(v.name, made.value, at=made.at)
    return made
