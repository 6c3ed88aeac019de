"""How a built kernel is launched on a device, out of its artifact's metadata: grids, blocks and arguments. Nothing here
needs one; artifact/launch.py says what the metadata means."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import prod
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Protocol, Sequence

from ..artifact.dimensions import Operation, evaluate, from_data, names as names_of, shown
from ..artifact.launch import CHUNK_TERMS, FEW_LEVELS, MOST_CHUNKS, MOST_GRID, VIEW_LEVELS, WARP
from ..artifact.signature import Parameter
from ..errors import AllocationError
from .program import expressions, follow, host_names, parsed

ADDRESS = 4  # which word of an array that a raw kernel gets is its address
OF_CALL, FAULT_BYTES = 2, 8  # which of the words for faults is a call's own; of that word
UNKNOWN = 1024  # blocks of all axes, where only the kernel knows its counts

Sizes = tuple[int, int, int]


class Launch(NamedTuple):
    entry: str
    grid: Sizes
    block: Sizes


class Device(Protocol):
    """What a launch needs of the backend that it is for."""

    @property
    def device_id(self) -> int: ...

    def running(self, kernel: str) -> AbstractContextManager: ...

    def keep_captured(self, arrays: Any) -> None: ...


def launches(meta: Mapping[str, Any], names: Mapping[str, Any]) -> list[Launch]:
    """The launches of a call, in order; none for a kernel that has nothing to do.

    names: dimensions and scalars of the call. Raises ValueError for a declared grid that no GPU runs.
    """
    return [one for item in meta["launches"] if (one := _planned(item, names)) is not None]


def prepared(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata with trees for its expressions, which a kernel reads once. In a program each launch has "alike": it
    is the same each time that a call comes to it, for the host's own integers do not decide about it."""
    program = parsed(meta.get("program", ()))
    own, items = set(host_names(program)), []
    for item in meta["launches"]:
        counts = [None if count is None else from_data(count) for count in item["grid"]["counts"]]
        when = from_data(item.get("when", True))
        alike = own.isdisjoint(_names((when, *counts)))
        items.append({**item, "grid": {**item["grid"], "counts": counts}, "when": when, "alike": alike})
    scratch = [from_data(size) for size in meta["scratch"]]
    return {**meta, "launches": items, "scratch": scratch, **({"program": program} if "program" in meta else {})}


def decided_by(meta: Mapping[str, Any]) -> frozenset[str]:
    """The names of what decides about the launches of a call, about scratch and about the host's own integers:
    dimensions, scalars, those integers themselves. What is read from the device decides besides."""
    launched = [part for one in meta["launches"] for part in (one.get("when"), *one["grid"]["counts"])]
    return frozenset(_names((*meta["scratch"], *launched, *expressions(meta.get("program", ())))))


def _names(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        if part is not None:
            yield from names_of(from_data(part))


def scratch_sizes(meta: Mapping[str, Any], names: Mapping[str, Any]) -> list[int]:
    """Bytes of each scratch array of a call; names: its dimensions and scalars. Raises AllocationError."""
    sizes = [from_data(size) for size in meta["scratch"]]
    try:
        return [int(evaluate(size, names)) for size in sizes]
    except ValueError as error:
        if not isinstance(error.__context__, OverflowError):
            raise
        given = shown(Operation("max", tuple(sizes)), names)
        raise AllocationError(
            f"no memory for the kernel's own arrays: they take more bytes than an address reaches, for {given}"
        ) from None


def _planned(item: Mapping[str, Any], names: Mapping[str, Any]) -> Launch | None:
    if "when" in item and not evaluate(from_data(item["when"]), names):
        return None
    counts = [None if count is None else int(evaluate(from_data(count), names)) for count in item["grid"]["counts"]]
    planned = _GRIDS[item["grid"]["kind"]](counts, item["block"])
    if planned is None:
        return None
    grid, block = planned
    if most := item["grid"].get("most"):
        grid = _at_most(grid, most)
    # Of so many threads, each of which does what a block does elsewhere; "warps" is what earlier builds say.
    if team := item["grid"].get("team", WARP * ("warps" in item["grid"])):
        several = item["block"] // team
        grid, block = (-(-grid[0] // several), *grid[1:]), (team, several, 1)
    return Launch(item["entry"], grid, _three(item["shape"]) if "shape" in item else block)


def steps(
    meta: Mapping[str, Any], names: Mapping[str, Any], read: Callable[[int, str], bool | int]
) -> Iterator[tuple[Launch, Mapping[str, Any], dict]]:
    """The launches of a call, in order, as the host follows its program: each with the metadata that has its arguments,
    and the integers that these have, the host's own among them. read: see `follow`."""
    if "program" not in meta:
        yield from ((one, meta, dict(names)) for one in launches(meta, names))
        return
    known = {name: 0 for name in host_names(meta["program"])} | dict(names)
    planned: dict[int, Launch | None] = {}
    for number in follow(meta["program"], known, read):
        item = meta["launches"][number]
        if number not in planned or not item.get("alike"):
            planned[number] = _planned(item, known)
        if (one := planned[number]) is not None:
            yield one, item, known


def _grid(counts: list[int | None], block: int) -> tuple[Sizes, Sizes] | None:
    """Threads along the last count, as many rows of them as fit into a block, one element each."""
    if any(c is not None and c <= 0 for c in counts):
        return None
    last = counts[-1]
    width = block
    if len(counts) > 1 and last is not None:
        while width > 32 and width % 2 == 0 and width // 2 >= last:
            width //= 2
    rows = block // width
    sizes = (width, rows, 1)
    extents = [*reversed(counts)]
    unknown = int(UNKNOWN ** (1 / max(counts.count(None), 1)))  # so many in all
    blocks = [unknown if n is None else min(-(-n // size), most) for n, size, most in zip(extents, sizes, MOST_GRID)]
    return _three(blocks), sizes


def _at_most(grid: Sizes, blocks: int) -> Sizes:
    """So many blocks at most, along the first axes as many as there are."""
    x = min(grid[0], blocks)
    y = min(grid[1], max(blocks // x, 1))
    return x, y, min(grid[2], max(blocks // (x * y), 1))


def _three(values: Sequence[int]) -> Sizes:
    return (*values, 1, 1)[:3]  # type: ignore[return-value]


def _of_blocks(counts: list[int | None], block: int) -> tuple[Sizes, Sizes] | None:
    total = _product(counts)
    if total == 0:
        return None
    return (UNKNOWN if total is None else min(total, MOST_GRID[0]), 1, 1), (block, 1, 1)


def _tiles(counts: list[int], block: int) -> tuple[Sizes, Sizes] | None:
    if min(counts) <= 0:
        return None
    return _three([min(n, most) for n, most in zip(reversed(counts), MOST_GRID)]), (block, 1, 1)


def _chunks(counts: list[int | None], block: int) -> tuple[Sizes, Sizes]:
    total = _product(counts)
    if total is None:
        return (MOST_CHUNKS, 1, 1), (block, 1, 1)
    last = max(-(-total // (CHUNK_TERMS * block)), 1) - 1
    twice = max(last.bit_length() - (MOST_CHUNKS - 1).bit_length(), 0)
    return ((last >> twice) + 1, 1, 1), (block, 1, 1)


def _one(counts: list[int | None], block: int) -> tuple[Sizes, Sizes]:
    return (1, 1, 1), (block, 1, 1)


def _given(counts: list[int | None], block: int) -> tuple[Sizes, Sizes] | None:
    grid = [c or 0 for c in counts]
    if any(c <= 0 for c in grid):
        return None
    if any(count > most for count, most in zip(grid, MOST_GRID)):
        raise ValueError(f"the declared grid {tuple(grid)} is larger than a GPU runs: {', '.join(map(str, MOST_GRID))}")
    return _three(grid), (block, 1, 1)


_GRIDS: dict[str, Callable] = {
    "grid": _grid, "blocks": _of_blocks, "tiles": _tiles, "chunks": _chunks, "one": _one, "given": _given,
}  # fmt: skip


def _product(counts: Sequence[int | None]) -> int | None:
    result = 1
    for count in counts:
        if count is None:
            return None
        result *= max(count, 0)
    return result


# ------------------------------------------------------------------------------------------------- arguments


def arguments(
    meta: Mapping[str, Any], parameters: Sequence[Parameter], values: Mapping[str, Any], dims: Mapping[str, int],
    leading: tuple[int, ...] | None, address: Callable[[Any], int], scratch: Sequence[int], fault: Sequence[int] = (),
) -> list[Any]:  # fmt: skip
    """The arguments of every launch of a call: NumPy scalars for scalars, ints (64 bits) for all else.

    values: by parameter, NumPy scalars and arrays of any kind that has shape, strides and ndim; `address` says where
    one lies; scratch: the addresses of the scratch arrays; fault: the words for faults, see artifact/launch.py.
    Raises ValueError for an array of more dimensions than VIEW_LEVELS + 1 that cannot be merged: see `fits`.
    """
    known = {p.name: p for p in parameters}
    views: dict[str, list[int]] = {}
    result: list[Any] = []
    for kind, name, *rest in meta["arguments"]:
        if kind == "symbol":
            result.append(int(dims[name]))
        elif kind == "scratch":
            result.append(scratch[name])
        elif kind == "fault":
            result.append(fault[name])
        elif kind == "scalar":
            result.append(getattr(values[name], rest[0]) if rest else values[name])
        elif kind == "data":
            result.append(address(values[name]))
        elif kind == "array":
            result += array_words(values[name], rest[0], address)
        elif kind == "stride":
            array = values[name]
            result.append(array.strides[array.ndim - len(known[name].dims or ()) + rest[0]])
        else:
            if name not in views:
                array = values[name]
                words = view(array.shape, array.strides, array.ndim - len(known[name].dims or ()), leading or ())
                views[name] = words + reciprocals(words, leading or ())
            result.append(views[name][rest[0]])
    return result


def tells_launches(meta: Mapping[str, Any]) -> bool:
    """Whether launches of a call tell those that follow of a fault: by a word that is to be 0 when it begins."""
    given = [a for one in (meta, *meta["launches"]) for a in one.get("arguments", ())]
    return any(kind == "fault" and name == OF_CALL for kind, name, *_ in given)


def array_words(array: Any, rank: int, address: Callable[[Any], int]) -> list[int]:
    """An array as a raw kernel gets it: two words that are 0, elements, bytes of one, address, shape, strides. Leading
    dims beyond the rank are seen as one; an output scalar has one element."""
    shape, strides = [int(n) for n in array.shape], [int(s) for s in array.strides]
    item = array.dtype.itemsize
    if len(shape) != rank:
        folded = shape[: len(shape) - rank + 1]
        size = 1
        for n in folded:
            size *= n
        shape = [size, *shape[len(folded) :]]
        strides = [item] * rank
        for axis in range(rank - 2, -1, -1):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
    total = 1
    for n in shape:
        total *= n
    return [0, 0, total, item, address(array), *shape, *strides]


def unit(dtype: Any) -> int:
    """Bytes of one element of memory where a complex number has two."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def fits(shape: Sequence[int], strides: Sequence[int], own: int, leading: Sequence[int]) -> bool:
    """Whether an array can be passed as it lies; otherwise a contiguous copy can."""
    return len(merged(shape, strides, own, leading)) <= VIEW_LEVELS + 1


def put_copies(
    parameters: Sequence[Parameter], values: dict[str, Any], leading: tuple[int, ...] | None, copy: Callable[..., Any]
) -> list[tuple[Parameter, Any, Any]]:
    """Put copies for the arrays of a call that cannot be passed as they lie: (parameter, array, copy) of each.
    copy(array, shape): a C-contiguous one, broadcast to the shape."""
    copied = []
    for p in parameters:
        if p.is_array and p.ellipsis and p.layout != "C":
            array, rows = values[p.name], leading or ()
            own = array.ndim - len(p.dims or ())
            if not fits(array.shape, array.strides, own, rows):
                values[p.name] = copy(array, (*rows, *array.shape[own:]))
                copied.append((p, array, values[p.name]))
    return copied


def view(shape: Sequence[int], strides: Sequence[int], own: int, leading: Sequence[int]) -> list[int]:
    """The words of the first `own` dims of an array, seen in the shape `leading`: levels, the outermost stride, then
    (size, stride) innermost first. Raises ValueError where they do not fit."""
    levels = merged(shape, strides, own, leading) or [(1, 0)]
    if len(levels) > VIEW_LEVELS + 1:
        raise ValueError(f"{len(levels)} dimensions that cannot be merged; there may be {VIEW_LEVELS + 1}")
    words = [len(levels) - 1, levels[0][1]]
    for size, stride in reversed(levels[1:]):
        words += [size, stride]
    return words + [1, 0] * (VIEW_LEVELS + 1 - len(levels))


def reciprocals(words: Sequence[int], leading: Sequence[int]) -> list[int]:
    """What divides by the sizes of a view's innermost levels, see artifact/launch.py."""
    levels, outermost, *pairs = words
    used = 2 * FEW_LEVELS
    most = max(prod(leading), *(-1 - stride if stride < 0 else stride for stride in (outermost, *pairs[1:used:2])))
    if levels > FEW_LEVELS or most >= 2**31:
        return [0] * FEW_LEVELS
    shifts = [31 + (size - 1).bit_length() for size in pairs[:used:2]]
    return [-(-(1 << shift) // size) | shift << 32 for size, shift in zip(pairs[:used:2], shifts)]


def merged(shape: Sequence[int], strides: Sequence[int], own: int, leading: Sequence[int]) -> list[tuple[int, int]]:
    """(size, stride in bytes) of the dims of `leading`, outermost first, those of size 1 left out and neighbours made
    one where the outer stride steps over the inner ones; a dim that is broadcast has the stride 0. None of what has no
    elements: nothing is divided by a size of 0."""
    if 0 in leading:
        return []
    missing = len(leading) - own
    result: list[tuple[int, int]] = []
    for axis, size in enumerate(leading):
        if size == 1:
            continue
        stride = strides[axis - missing] if axis >= missing and shape[axis - missing] == size else 0
        if result and result[-1][1] == stride * size:
            result[-1] = (result[-1][0] * size, stride)
        else:
            result.append((size, stride))
    return result


def scalar_names(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> dict[str, int | float]:
    """The scalars of a call that a launch may count with, and that the host decides by."""
    real = [p for p in parameters if not p.in_memory and not p.dtype.startswith("complex")]
    return {p.name: float(values[p.name]) if "float" in p.dtype else int(values[p.name]) for p in real}
