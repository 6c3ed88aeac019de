"""What the interpreter's Python text calls: array accesses that look at every index, loops in an order, reductions.

Reductions collect (position of the iteration, term) and combine at the end of the loop in the order of positions,
sums and products by pairs, so that their results do not depend on the order in which iterations ran.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from types import CodeType
from typing import Callable, Iterable, Sequence

import numpy as np

from ..artifact import dtypes
from ..errors import Position
from ..ir import operations
from ..ir.functions import FUNCTIONS
from . import arithmetic
from .source import Site


def accesses(sites: tuple[Site, ...], met: dict[str, dict[int, list]] | None = None) -> dict[str, Callable]:
    """load, item (a Python bool or int), store, scatter and update (an atomic), for 0, 1, 2 and more indices. The last
    argument is the number of the access in `sites`. IndexError for any index outside 0 ≤ i < n.

    met: takes the values that are scattered, by array and flat index."""

    def fault(array: np.ndarray, indices: Sequence[int], site: int):
        places, name, unsigned = sites[site]
        axis = next(k for k, (i, n) in enumerate(zip(indices, array.shape)) if not 0 <= i < n)
        of_axis = f" of axis {axis}" if array.ndim > 1 else ""
        given = indices[axis] % 2**64 if unsigned[axis] else indices[axis]
        text = f"index {given}{of_axis} is outside {name}, which has {array.shape[axis]}"
        raise IndexError(_told(places[axis], text))

    def check_step(step: int, site: int) -> None:
        if step == 0:
            raise ValueError(_told(sites[site][0][0], "the step of a range is 0"))

    functions: dict[str, Callable] = {"check_step": check_step}
    for rank in {len(places) for places, *_ in sites}:
        exec(_accesses_of(rank), {"fault": fault}, functions)

    def scatter(array, *rest):
        *indices, value, site = rest
        functions[f"store{len(indices)}"](array, *rest)
        if met is not None:
            place = int(np.ravel_multi_index(indices, array.shape)) if indices else 0
            met.setdefault(sites[site][1], {}).setdefault(place, []).append(array[tuple(indices)])

    def update(combine, array, *rest):
        *indices, value, site = rest
        old = functions[f"{'load' if array.dtype.kind in 'fc' else 'item'}{len(indices)}"](array, *indices, site)
        array[tuple(indices)] = combine(old, value)
        return old

    return functions | {"scatter": scatter, "update": update}


@cache
def _accesses_of(rank: int) -> CodeType:
    """load, item and store with so many indices: as little Python as can be, since an interpreted kernel does little
    else. NumPy looks whether an index is too large, and would take negative ones from the end."""
    indices = "".join(f"i{k}, " for k in range(rank))
    place = "i0" if rank == 1 else f"({indices})"  # NumPy takes an index faster than a tuple of one
    inside = f"({' | '.join(f'i{k}' for k in range(rank)) or '0'}) >= 0"
    text = ""
    for name, value, access in (
        ("load", "", f"return array[{place}]"),
        ("item", "", f"return array.item({indices})"),
        ("store", "value, ", f"array[{place}] = value; return"),
    ):
        text += f"""
def {name}{rank}(array, {indices}{value}site):
    if {inside}:
        try:
            {access}
        except IndexError:
            pass
    fault(array, ({indices}), site)
"""
    return compile(text, f"<accesses with {rank} indices>", "exec")


def _told(at: Position | None, text: str) -> str:
    """What is wrong there."""
    where = f"{at.path}:{at.line}:{at.column}: " if at else ""
    if at and at.caller:
        of_file = "" if at.caller.path == at.path else f" of {at.caller.path}"
        text += f", in a helper called on line {at.caller.line}{of_file}"
    return where + text


def loops(order: str, seed: int) -> dict[str, Callable]:
    """`loop(counts…)` and `numbered(counts…)`: the indices, of one count as a number and of more as a tuple, and
    (position, indices), where the position is row-major; `in_order(counts…)` is `numbered` whatever the order.
    order: "forward", "reverse" or "random"; a negative count counts as 0."""
    if order not in ("forward", "reverse", "random"):
        raise ValueError(f'order is "forward", "reverse" or "random", not {order!r}')
    random = np.random.default_rng(seed)

    def arranged(total: int) -> Sequence[int]:  # of any size: some loops are left before they end
        if order == "forward":
            return range(total)
        return range(total - 1, -1, -1) if order == "reverse" else random.permutation(total).tolist()

    def indices(positions: Sequence[int], counts: tuple[int, ...]) -> Iterable:
        if len(counts) == 1:
            return positions
        if not isinstance(positions, range):
            return zip(*(axis.tolist() for axis in np.unravel_index(positions, counts))) if positions else ()
        if max(counts, default=0) <= LISTED:
            return itertools.product(*(range(n)[:: positions.step] for n in counts))
        return (_unraveled(k, counts) for k in positions)

    def loop(*counts):
        return indices(arranged(_total(counts)), counts)

    def numbered(*counts):
        positions = arranged(_total(counts))
        return zip(positions, indices(positions, counts))

    def in_order(*counts):
        positions = range(_total(counts))
        return zip(positions, indices(positions, counts))

    return {"loop": loop, "numbered": numbered, "in_order": in_order}


LISTED = 1 << 20  # elements that itertools.product, which lists its factors first, is given of each


def _total(counts: Sequence[int]) -> int:
    return math.prod(max(n, 0) for n in counts)


def _unraveled(k: int, counts: Sequence[int]) -> tuple[int, ...]:
    found = []
    for n in reversed(counts[1:]):
        k, index = divmod(k, n)
        found.append(index)
    return (k, *reversed(found))


def span(start: int, stop: int, step: int):
    """Python's range, but a step of 0, which is told of, runs nothing."""
    return range(start, stop, step) if step else ()


def poisoned(second: bool, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A new kernel array, whose elements hold poison until they are written. Raises MemoryError."""
    try:
        array = np.empty([max(n, 0) for n in shape], dtypes.numpy_dtype(dtype))
    except ValueError as error:
        raise MemoryError(f"no memory for an array of {' × '.join(map(str, shape))} {dtype}: {error}") from None
    poison(array, second)
    return array


def poison(array: np.ndarray, second: bool = False) -> None:
    """Fill an array that nobody has written with what shows when it is read, or left as it is: NaN, of integers the
    largest, True. In a second run with the largest and smallest numbers in turn, of integers the smallest, False: no
    result may depend on which of them it was, and what still holds both, each in its run, was never written."""
    kind, dtype = dtypes.kind(array.dtype), array.dtype
    if kind == "b":
        array[...] = not second
    elif kind in "iu":
        array[...] = np.iinfo(dtype).min if second else np.iinfo(dtype).max
    elif not second:
        array[...] = complex(np.nan, np.nan) if kind == "c" else np.nan
    else:
        in_turn = np.full(array.size, dtypes.finfo(dtype).max, dtype)
        in_turn[1::2] = dtypes.finfo(dtype).min
        array[...] = in_turn.reshape(array.shape)


# ----------------------------------------------------------------------------------------------- reductions
# Each takes what the accumulator starts from, the (position, term) pairs and the dtype of the result.


def _in_order(terms: list) -> list:
    return [term for _, term in sorted(terms, key=lambda pair: pair[0])]  # stable: several terms of one iteration


def _by_pairs(combine: Callable) -> Callable:
    def reduce(start, terms, dtype):
        function = combine(dtype)
        values = _in_order(terms)
        while len(values) > 1:
            pairs = [function(a, b) for a, b in zip(values[::2], values[1::2])]
            values = pairs + values[2 * len(pairs) :]
        return function(start, values[0]) if values else start

    return reduce


def _one_by_one(combine: Callable) -> Callable:
    def reduce(start, terms, dtype):
        function, result = combine(dtype), start
        for term in _in_order(terms):
            result = function(result, term)
        return result

    return reduce


def _position(better: Callable) -> Callable:
    """argmin and argmax: the position of the first NaN, else of the first best; start means "none yet"."""

    def reduce(start, terms, dtype):
        best, found = None, start
        for position, term in sorted(terms, key=lambda pair: pair[0]):
            if best is None or (best == best and (term != term or better(term, best))):
                best, found = term, position
        return found

    return reduce


def running(total):
    """The function that adds a term to a float and gives the sum so far, which is rounded once, whatever its length."""
    rest = total - total

    def add(term):
        nonlocal total, rest
        new = total + term
        back = new - total
        rest = rest + ((total - (new - back)) + (term - back))
        total = new
        known = new + rest
        return known if known == known else new  # of infinities the rest is NaN

    return add


def _reduction(op: str) -> Callable:
    reduction = operations.REDUCTIONS[op]
    symbol = reduction.combine
    if reduction.positioned:
        return _position(arithmetic.comparison(symbol))
    if symbol in FUNCTIONS:
        return _one_by_one(lambda dtype: arithmetic.function(symbol, dtype))
    rounds = symbol in ("+", "*")
    return (_by_pairs if rounds else _one_by_one)(lambda dtype: arithmetic.binary(symbol, dtype))


REDUCTIONS: dict[str, Callable] = {f"reduce_{op}": _reduction(op) for op in operations.REDUCTIONS}
