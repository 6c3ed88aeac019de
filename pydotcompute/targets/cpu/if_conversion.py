"""Conditions of innermost loops as values (if-conversion): what they guard is computed in any case, and chosen from.

    if x[i] > 0:                      c = x[i] > 0
        a = y[i, 0]                   a = where(c, y[i, 0], y[i, 1])
    else:                       ⟶
        a = y[i, 1]
    if a > 1:                         out[i] = where(a > 1, a, out[i])
        out[i] = a

LLVM makes vectors of the loop then. It does so by itself where it takes loads for safe and a masked store for cheap,
which it cannot know, or which the processor has no instruction for. Here each index is proved to be inside without the
condition too, each iteration alone touches the element that it stores again, and is told in which it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ...analysis import inside
from ...analysis.accesses import Accesses
from ...analysis.races import apart_in_turns
from ...analysis.symbolic import collect
from ...artifact.signature import DTYPE_BYTES
from ...ir.names import all_names
from ...ir.tree import (
    Access,
    Assign,
    Binary,
    BoolOp,
    Call,
    CallHelper,
    Const,
    Continue,
    Expr,
    For,
    If,
    KernelTree,
    Load,
    Parallel,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    rebuilt,
    walk,
)  # fmt: skip
from ..llvm.expressions import is_cheap, without_loads
from ..names import Names
from .bodies import assigned, exposed, has_loops, jumps
from .index_set_splitting import index_conditions

_MOST = 200  # nodes of a loop's body
_NARROW = 2  # bytes of elements that x86-64-v3 cannot store some of

_ONE = Const(1, "int64")

Loop = For | Parallel


def without_conditions(tree: KernelTree) -> KernelTree:
    """The tree with such loops."""
    conversion = _Conversion(tree)
    changed = {id(loop): body for loop, within in _innermost(tree.body, ()) if (body := conversion.of(loop, within))}
    while changed:
        proved = inside.marked(_with(tree, changed, conversion))
        unproved = {id(access) for access in inside.unproved(proved)}
        bodies = [loop.body for loop, _ in _innermost(proved.body, ())]
        originals = [loop for loop, _ in _innermost(tree.body, ())]
        wrong = {
            id(loop) for loop, body in zip(originals, bodies, strict=True)
            if id(loop) in changed and any(id(n) in unproved for s in body for n in walk(s))
        }  # fmt: skip
        if not wrong:
            return replace(proved, body=tuple(conversion.stored(s) for s in proved.body))
        changed = {loop: body for loop, body in changed.items() if loop not in wrong}
    return tree


def _with(tree: KernelTree, changed: dict[int, tuple[Stmt, ...]], conversion: _Conversion) -> KernelTree:
    def made(node: Any) -> Any:
        if id(node) in changed:
            return replace(node, body=changed[id(node)])
        return rebuilt(node, made) if isinstance(node, (If, For, While, Parallel)) else node

    return replace(tree, body=tuple(map(made, tree.body)), locals={**tree.locals, **conversion.locals})


def _innermost(body: Iterable[Stmt], within: tuple[str, ...]) -> Iterator[tuple[Loop, tuple[str, ...]]]:
    """Loops that have none inside. within: the indices of the parallel loops around, its own among them, that have
    several iterations."""
    for s in body:
        if isinstance(s, (For, Parallel)):
            several = [n for n, count in zip(s.names, s.counts) if count != _ONE] if isinstance(s, Parallel) else ()
            own = (*within, *several)
            if has_loops(*s.body):
                yield from _innermost(s.body, own)
            else:
                yield s, own
        elif isinstance(s, While):
            yield from _innermost(s.body, within)
        elif isinstance(s, If):
            yield from _innermost((*s.body, *s.orelse), within)


class _Left(Exception):
    """The loop stays as it is."""


class _Conversion:
    def __init__(self, tree: KernelTree):
        self.tree, self.names = tree, Names(all_names(tree) | {tree.name}, lambda name: False)
        self.types = {p.name: p.dtype for p in tree.parameters} | {a.name: a.dtype for a in tree.arrays.values()}
        self.locals: dict[str, str] = {}
        self.before: dict[str, str] = {}  # the value of a store → what its element held before

    @cached_property
    def found(self) -> Accesses:
        return collect(self.tree)

    def of(self, loop: Loop, within: tuple[str, ...]) -> tuple[Stmt, ...]:
        """Its body with stores alone under conditions, which `stored` takes from them; () where it stays as it is."""
        body = _without_continue(loop.body)
        nodes = [n for s in body for n in walk(s)]
        if not any(isinstance(n, If) for n in nodes) or len(nodes) > _MOST or jumps(body) or self._goes_on(loop):
            return ()
        if any(isinstance(n, CallHelper) for n in nodes):
            return ()
        if isinstance(loop, Parallel) and (loop.reductions or index_conditions(loop)):
            return ()
        if isinstance(loop, For) and not self._is_apart(loop):
            return ()
        self.within, self.nodes = within, nodes
        self.touched: dict[str, set[tuple[Expr, ...]]] = {}
        for n in (n for n in nodes if isinstance(n, Access)):
            self.touched.setdefault(n.array, set()).add(n.indices)
        self.read = {n.array for n in nodes if isinstance(n, Load)}
        self.known: set[str] = set()
        self.chooses = False
        try:
            made = tuple(self._block(body, None, {}))
        except _Left:
            return ()
        return made if self.chooses else ()

    def _goes_on(self, loop: Loop) -> bool:
        """Whether a scalar goes on from turn to turn, or is read after the loop."""
        sets = assigned(loop.body)
        inside = sum(isinstance(n, Var) and n.name in sets for s in loop.body for n in walk(s))
        everywhere = sum(isinstance(n, Var) and n.name in sets for s in self.tree.body for n in walk(s))
        return bool(exposed(loop.body)[0] & sets) or inside != everywhere

    def _is_apart(self, loop: For) -> bool:
        """Whether LLVM, too, can tell that no turn touches what another one stores."""
        accesses = [n for s in loop.body for n in walk(s) if isinstance(n, Access)]
        places = {n.array: n.indices for n in accesses if not isinstance(n, Load)}
        if loop.step != _ONE or any(places.get(n.array, n.indices) != n.indices for n in accesses):
            return False
        return apart_in_turns(self.tree, self.found, loop)

    def _block(self, body: Sequence[Stmt], guard: Var | None, env: dict[str, str]) -> Iterator[Stmt]:
        """guard: the condition under which they are executed. env: what the locals are called that they set."""
        for s in body:
            match s:
                case Assign():
                    yield self._assign(s, s.name, self._value(s.value, guard, env), guard, env)
                case Store():
                    yield from self._store(s, guard, env)
                case If():
                    yield from self._if(s, guard, env)
                case _:
                    raise _Left

    def _assign(self, s: Stmt, name: str, value: Expr, guard: Var | None, env: dict[str, str]) -> Assign:
        if guard is None:
            self.known.add(name)
            return Assign(name, value, at=s.at)
        env[name] = self._fresh(name, value.type)
        return Assign(env[name], value, at=s.at)

    def _store(self, s: Store, guard: Var | None, env: dict[str, str]) -> Iterator[Stmt]:
        indices = tuple(self._value(i, guard, env) for i in s.indices)
        value = self._value(s.value, guard, env)
        if guard is None:
            yield replace(s, indices=indices, value=value)
            return
        if not self._is_own(s) or value.type != self.types[s.array]:
            raise _Left
        self.chooses = True
        held = Var(self._fresh("stored", value.type), value.type)
        self.before[held.name] = self._fresh("before", value.type)
        yield Assign(held.name, value, at=s.at)
        yield Assign(self.before[held.name], Load(s.array, indices, value.type, at=s.at), at=s.at)
        yield If(guard, (replace(s, indices=indices, value=held),), at=s.at)

    def _is_own(self, s: Store) -> bool:
        """Whether the element may be stored where it is not changed: no other iteration touches it (what one stores
        and the next loads a part of, that waits for), and it is read in any case, or could not be left out."""
        return (
            (s.array in self.read or DTYPE_BYTES[self.types[s.array]] <= _NARROW)
            and len(self.touched[s.array]) == 1
            and all(any(_is_beside(index, name) for index in s.indices) for name in self.within)
        )

    def _if(self, s: If, guard: Var | None, env: dict[str, str]) -> Iterator[Stmt]:
        condition = Var(self._fresh("chosen", "bool"), "bool")
        yield Assign(condition.name, self._value(s.condition, guard or condition, env), at=s.at)
        then, otherwise = dict(env), dict(env)
        for branch, held, own in ((s.body, then, condition), (s.orelse, otherwise, Unary("not", condition, "bool"))):
            if branch:
                both = BoolOp("and", guard, own) if guard else own
                if not isinstance(both, Var):
                    name = self._fresh("reached", "bool")
                    yield Assign(name, both, at=s.at)
                    both = Var(name, "bool")
                yield from self._block(branch, both, held)
        for name in sorted(name for name in {*then, *otherwise} if then.get(name) != otherwise.get(name)):
            if not self._is_read_after(s, name):
                continue
            self.chooses = True
            value = Call("where", (condition, self._of(name, then), self._of(name, otherwise)), self.tree.locals[name])
            yield self._assign(s, name, value, guard, env)

    def _is_read_after(self, s: If, name: str) -> bool:
        """Of a local that no turn reads before it sets it."""
        reads = sum(isinstance(n, Var) and n.name == name for n in self.nodes)
        return reads > sum(isinstance(n, Var) and n.name == name for n in walk(s))

    def _of(self, name: str, env: dict[str, str]) -> Expr:
        """What a local is at the end of a branch: anything where none reads it."""
        dtype = self.tree.locals[name]
        if name in env:
            return Var(env[name], dtype)
        return Var(name, dtype) if name in self.known else Const(0, dtype)

    def _value(self, e: Expr, guard: Var | None, env: dict[str, str]) -> Expr:
        """With the names of the branch. Raises _Left for what is not to be computed in vain."""
        if guard is not None and not (is_cheap(without_loads(e)) and not any(map(_divides, walk(e)))):
            raise _Left

        def named(node: Any) -> Any:
            made = rebuilt(node, named)
            return replace(made, name=env[made.name]) if isinstance(made, Var) and made.name in env else made

        found: Expr = named(e)
        return found

    def _fresh(self, base: str, dtype: str) -> str:
        if dtype.startswith("complex"):
            raise _Left
        name = self.names.fresh(base)
        self.locals[name] = dtype
        return name

    def stored(self, s: Any) -> Any:
        """A statement with the stores in it that are done in any case."""
        match s:
            case If(guard, (Store(value=Var(name=name)) as store,), ()) if name in self.before:
                held = store.value
                before = Var(self.before[name], held.type)
                return replace(store, value=Call("where", (guard, held, before), held.type))
            case If() | For() | While() | Parallel():
                return rebuilt(s, self.stored)
        return s


def _without_continue(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """What follows `if c: …; continue` as its other branch."""
    for k, s in enumerate(body):
        if isinstance(s, If) and s.body and isinstance(s.body[-1], Continue):
            rest = _without_continue((*s.orelse, *body[k + 1 :]))
            if len(s.body) == 1:
                return (*body[:k], If(Unary("not", s.condition, "bool"), rest, at=s.at))
            return (*body[:k], If(s.condition, s.body[:-1], rest, at=s.at))
    return tuple(body)


def _is_beside(index: Expr, name: str) -> bool:
    """Whether it is the index of a loop, or so much more or less."""
    match index:
        case Var(name=found):
            return found == name
        case Binary("+" | "-", Var(name=found), Const()):
            return found == name
    return False


def _divides(n: Any) -> bool:
    return isinstance(n, Binary) and n.op in ("//", "%") and not isinstance(n.right, Const)
