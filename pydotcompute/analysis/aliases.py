"""Which arrays may be the same view in a call: (written, other), where each element of `other` is read only by the
iteration that writes it, before it does, and for what it writes. Cautious: a pair that is left out costs a copy."""

from __future__ import annotations

from ..artifact.signature import Parameter
from ..ir import tree as t
from .accesses import ANYHOW, Access, Accesses, Scope, different, may_meet, other_iteration, same_iteration


def alias_pairs(tree: t.KernelTree, found: Accesses) -> frozenset[tuple[str, str]]:
    """The pairs of C-contiguous array parameters of the same dtype and shape for which a call on one view means what
    the kernel means on two arrays."""
    arrays = [p for p in tree.parameters if p.is_array and p.layout == "C" and p.role != "temp"]
    return frozenset(
        (written.name, other.name)
        for written in arrays
        for other in arrays
        if written is not other and alike(written, other) and _harmless(found, written, other)
    )


def alike(a: Parameter, b: Parameter) -> bool:
    """May a call give one view for both, `a` to be written?"""
    return (a.dtype, a.dims, a.ellipsis) == (b.dtype, b.dims, b.ellipsis) and a.writable and a.fill is None


def _harmless(found: Accesses, written: Parameter, other: Parameter) -> bool:
    stores = [a for a in found.all if a.array == written.name and a.kind != "load"]
    reads = [a for a in found.all if a.array == other.name]
    if other.fill is not None or any(a.kind != "load" for a in reads):
        return False
    if any(a.kind != "store" or not a.scopes or not a.scopes[0].parallel for a in stores):
        return False
    return all(_before(found, store, read) for store in stores for read in reads)


def _before(found: Accesses, store: Access, read: Access) -> bool:
    """Wherever the two touch one element, one iteration does both, the read first and for the sake of the store."""
    main = store.scopes[0]
    if not read.within(main):
        return False  # a thread may run the statements around the loop while another is in it
    if may_meet(found, store, read, (), other_iteration(main)):
        return False
    if not may_meet(found, store, read, (), [[[same_iteration(main)]]]):
        return True
    assert store.value is not None
    if read.number not in store.value.loads | store.guards.loads or read.number > store.number:
        return False
    writer, reader = store.threads, read.threads
    if writer is not None and reader is not None:
        if writer.counts != reader.counts or _other_thread(found, main, writer, reader, store, read):
            return False
    elif main.kind == "blocks":
        return False
    return not any(_in_other_passes(found, scope, store, read) for scope in _common_loops(store, read))


def _other_thread(found: Accesses, main: Scope, a: Scope, b: Scope, store: Access, read: Access) -> bool:
    """May two threads of a block touch one element, in the same `threads` loop or in two with the same counts?"""
    of_main = same_iteration(main)
    ways = [[[[*of_main, *case] for case in cases] for cases in way] for way in different(a.indices, b.indices)]
    return may_meet(found, store, read, (), ways)


def _common_loops(a: Access, b: Access) -> list[Scope]:
    return [scope for scope in a.scopes if scope in b.scopes and not scope.parallel]


def _in_other_passes(found: Accesses, loop: Scope, store: Access, read: Access) -> bool:
    """May one pass through this sequential loop read what another one stores, in one iteration of the parallel ones?"""
    outer = store.scopes[: store.scopes.index(loop)]
    ways = different(loop.indices, loop.indices) if loop.indices else [ANYHOW]
    return may_meet(found, store, read, outer, ways)
