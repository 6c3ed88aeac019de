"""Where the threads of a block must wait for each other, for backends that run the iterations of `threads` at once.

A barrier stands between two accesses to one shared or argument array, at least one a store or an atomic (two atomics
of one kind need none), unless both are by the same thread: both in `threads` loops with the same counts, with each
index of the loop itself as the same coordinate; or both by the thread that does a block's stores. Back edges of the
sequential loops in a block count, and that of the `blocks` loop itself, where shared arrays serve the next block.

What this relies on, and a backend keeps:
- a statement of a block outside `threads` is executed by every thread, but a Store or Atomic, with all its
  expressions, by one thread alone;
- the counts of a `threads` loop are evaluated by every thread; its iterations are dealt to the threads in a way that
  depends on the counts alone.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import tree as t
from . import affine
from .accesses import Access, Accesses, Scope
from .symbolic import collect

Path = tuple[int, ...]


class Touch(NamedTuple):
    """What decides about an access: large kernels have hundreds that are alike."""

    array: str
    kind: str
    op: str
    by_one: bool
    threads: Scope | None
    own: tuple[int, ...] | None  # at which coordinates the indices of the `threads` loop stand, if all do


class Pending(NamedTuple):
    """An access since the last barrier. `moved`: the counts of its loop may have changed since."""

    access: Touch
    moved: bool


def barriers(tree: t.KernelTree, reductions_synchronise: bool = False) -> frozenset[Path]:
    """The points of the body of the kernel's `blocks` loop at which a barrier must stand; empty for `grid` kernels.

    A point is a path: (k,) is before statement k of the block's body. (k, 0, j) is before statement j of the body of
    statement k (If, For, While), (k, 1, j) the same in the `orelse` of an If, and so on. j may be the number of
    statements: the end of the body. (k, 0, 0) of a `threads` loop, which has no other: after its counts are
    evaluated, before its iterations.

    reductions_synchronise: the lowering of a `threads` loop with reductions ends in a barrier that comes after every
    access in the loop.
    """
    if tree.main is None or tree.main.kind != "blocks":
        return frozenset()
    return _Placing(tree, collect(tree), reductions_synchronise).points()


class _Placing:
    def __init__(self, tree: t.KernelTree, found: Accesses, reductions_synchronise: bool):
        self.tree, self.found, self.synchronise = tree, found, reductions_synchronise
        self.placed: set[Path] = set()
        self.at: dict[Path, set[Touch]] = {}
        private = {a.name for a in tree.arrays.values() if a.kind not in ("shared", "call")}
        for access in found.all:
            if access.scopes and access.scopes[0].kind == "blocks" and access.array not in private:
                self.at.setdefault(access.path, set()).add(_touch(access))
        self.leaving: list[tuple[set[Pending], set[Pending], set[Touch]]] = []  # breaks, continues, loop condition
        # what comes of a loop: by its path, what is pending before it, and the barriers so far; nested loops ask again
        # and again
        self.looped: dict[tuple[Path, frozenset[Pending], frozenset[Path]], tuple[set[Pending], set[Path]]] = {}

    def points(self) -> frozenset[Path]:
        main = self.tree.main
        assert main is not None
        shared = {a.name for a in self.tree.arrays.values() if a.kind == "shared"}
        pending: set[Pending] = set()
        while True:
            before = set(self.placed), set(pending)
            self.leaving.append((set(), set(), set()))
            end = self.statements(main.body, (), set(pending)) or set()
            end |= self.leaving.pop()[1]
            pending |= {self.carried(p, main) for p in end if p.access.array in shared}
            if (self.placed, pending) == before:
                return frozenset(self.placed)

    def statements(self, body: tuple[t.Stmt, ...], base: Path, pending: set[Pending]) -> set[Pending] | None:
        """What is pending after these statements, None where their end is never reached."""
        for k, s in enumerate(body):
            path = (*base, k)
            if isinstance(s, (t.For, t.While)):
                pending = self.loop(s, path, pending)
                continue
            pending = self.reach(path, self.at.get(path, set()), pending)
            pending = self.counted(path, pending)
            match s:
                case t.If():
                    ends = (self.statements(s.body, (*path, 0), set(pending)),
                            self.statements(s.orelse, (*path, 1), set(pending)))  # fmt: skip
                    if ends == (None, None):
                        return None
                    pending = set().union(*(end for end in ends if end is not None))
                case t.Parallel() if s.reductions and self.synchronise:
                    pending = set()
                case t.Break():
                    self.leaving[-1][0].update(pending)
                    return None
                case t.Continue():
                    self.leaving[-1][1].update(self.reach(path, self.leaving[-1][2], pending, add=False))
                    return None
        return pending

    def counted(self, path: Path, pending: set[Pending]) -> set[Pending]:
        """The counts of a `threads` loop that reads them from an array, which its iterations store to."""
        here = self.at.get(path, set())
        counts, body = {a for a in here if a.threads is None}, {a for a in here if a.threads}
        if not any(_conflict(Pending(a, False), b) for a in counts for b in body):
            return pending
        self.placed.add((*path, 0, 0))
        return {Pending(a, False) for a in body}

    def reach(self, path: Path, accesses: set[Touch], pending: set[Pending], add: bool = True) -> set[Pending]:
        """Come to a point with these accesses after it: a barrier, if there is one or must be one, settles what was
        pending."""
        if path in self.placed or any(_conflict(p, a) for p in pending for a in accesses):
            self.placed.add(path)
            pending = set()
        return pending | {Pending(a, False) for a in accesses} if add else pending

    def loop(self, s: t.For | t.While, path: Path, pending: set[Pending]) -> set[Pending]:
        asked = path, frozenset(pending), frozenset(self.placed)
        if asked not in self.looped:
            self.looped[asked] = self.through(s, path, pending), set(self.placed)
        after, placed = self.looped[asked]
        self.placed = set(placed)
        return set(after)

    def through(self, s: t.For | t.While, path: Path, pending: set[Pending]) -> set[Pending]:
        """Barriers for the back edge first: they stand in the body. If what came before the loop still needs one, it
        stands before the loop."""
        head = self.at.get(path, set())
        pending = self.reach(path, head, pending)
        condition = head if isinstance(s, t.While) else set()
        start = {Pending(a, False) for a in head}
        back, _ = self.repeated(s, path, start, condition)
        tried = set(self.placed)
        _, breaks = self.repeated(s, path, pending | back, condition)
        if self.placed != tried:
            self.placed = tried | {path}
            pending = start
            back, breaks = self.repeated(s, path, start, condition)
        else:
            back, breaks = self.repeated(s, path, pending, condition)
        return pending | back | breaks

    def repeated(
        self, s: t.For | t.While, path: Path, entry: set[Pending], condition: set[Touch]
    ) -> tuple[set[Pending], set[Pending]]:
        """Go round the body until nothing changes: what its back edge brings, and what is pending at breaks."""
        back: set[Pending] = set()
        while True:
            before = set(self.placed), set(back)
            self.leaving.append((set(), set(), condition))
            end = self.statements(s.body, (*path, 0), entry | back)
            breaks, continues, _ = self.leaving.pop()
            if end is not None:
                continues |= self.reach((*path, 0, len(s.body)), condition, end, add=False)
            back |= {self.carried(p, s) for p in continues} | {Pending(a, False) for a in condition}
            if (self.placed, back) == before:
                return back, breaks

    def carried(self, pending: Pending, loop: t.Stmt) -> Pending:
        """Across the back edge of a loop, in which the counts of a `threads` loop may be others."""
        threads = pending.access.threads
        atoms = affine.atoms_of(threads.counts) if threads else ()
        varying = any(scope.node is loop for a in atoms for scope in self.found.atoms[a].scopes)
        return Pending(pending.access, pending.moved or varying)


def _conflict(pending: Pending, b: Touch) -> bool:
    a = pending.access
    if a.array != b.array or (a.kind == "load" and b.kind == "load"):
        return False
    if a.kind == b.kind == "atomic" and a.op == b.op:
        return False
    if a.threads is None and b.threads is None:
        return not (a.by_one and b.by_one)
    if a.threads is None or b.threads is None or pending.moved:
        return True
    return a.threads.counts != b.threads.counts or a.own is None or a.own != b.own


def _touch(access: Access) -> Touch:
    threads = access.threads
    indices = [affine.unknown(atom) for atom in threads.indices] if threads else []
    own = tuple(map(access.indices.index, indices)) if all(index in access.indices for index in indices) else None
    return Touch(access.array, access.kind, access.op, access.by_one, threads, own)
