"""At which sizes a kernel is checked: nothing, one, odd, prime, around vector widths and block sizes, large."""

from __future__ import annotations

import itertools
from typing import Iterator

import numpy as np

from ..artifact.dimensions import evaluate, names as names_of
from ..declare.model import Kernel, Specialisation

ALONE = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 127, 128, 129, 255, 257, 1000, 1021, 1025, 4099, 65_537, 300_007)
TOGETHER = (0, 1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 65, 127, 129, 257, 1021)
LARGEST = 400_000  # elements of one array
COMBINATIONS = 12  # of several symbols
FEW = (1, 2, 3, 5, 7)
SMALL = 6  # combinations of few, for which the interpreter can be asked


def cases(kernel: Kernel, specialisation: Specialisation, seed: int) -> Iterator[dict[str, int]]:
    """Choices of the kernel's dimension symbols that a call allows, the declared ones first.

    `size` and `rows` stand for the number of elements, or of rows, of its `...`.
    """
    free = free_symbols(kernel)
    seen = set()
    drawn = (dims for dims in _drawn(free, seed) if len(free) > 1 or _is_small(kernel, specialisation, dims))
    for dims in itertools.chain(kernel.sizes.get("check", ()), drawn):
        dims = {symbol: int(dims.get(symbol, 1)) for symbol in free}
        key = tuple(dims.values())
        if key not in seen and allowed(kernel, specialisation, dims):
            seen.add(key)
            yield dims


def _is_small(kernel: Kernel, specialisation: Specialisation, dims: dict[str, int]) -> bool:
    """Whether no array is larger than one of one dimension may be: a symbol may stand in it twice."""
    names = {**dict(specialisation.params), **complete(kernel, dims)}
    shapes = ([evaluate(d, names) for d in p.dims or ()] for p in kernel.signature.parameters)
    try:
        return all(np.prod(shape, dtype=float) <= LARGEST for shape in shapes)
    except ValueError:
        return True  # a division by zero, which `allowed` leaves to the call


def free_symbols(kernel: Kernel) -> tuple[str, ...]:
    """The dimensions that a size has to name: of `rows` and `size`, which are the same, `rows` alone."""
    symbols = kernel.signature.symbols
    return tuple(s for s in symbols if s != "size" or "rows" not in symbols)


def _drawn(free: tuple[str, ...], seed: int) -> Iterator[dict[str, int]]:
    if len(free) <= 1:
        yield from ({symbol: n for symbol in free} for n in ALONE)
        return
    rng = np.random.default_rng(seed)
    for n in (0, 1, 2, 17, 33, 129):
        yield dict.fromkeys(free, n)
    for symbol in free:  # nothing along one axis only
        yield {other: 0 if other == symbol else 3 for other in free}
    for _ in range(SMALL):
        yield {symbol: int(rng.choice(FEW)) for symbol in free}
    for _ in range(COMBINATIONS):
        dims = {symbol: int(rng.choice(TOGETHER)) for symbol in free}
        while np.prod([float(n) for n in dims.values()]) > LARGEST * 8:
            largest = max(dims, key=dims.__getitem__)
            dims[largest] //= 2
        yield dims
    long = free[-1]
    yield {symbol: 65_537 if symbol == long else 3 for symbol in free}


def allowed(kernel: Kernel, specialisation: Specialisation, dims: dict[str, int]) -> bool:
    """Whether `requires` of dimensions and params hold, and no output would have a negative size."""
    names = {**dict(specialisation.params), **complete(kernel, dims)}
    expressions = [d for p in kernel.signature.parameters for d in p.dims or () if not isinstance(d, int)]
    conditions = [condition for condition in kernel.requires if names.keys() >= {*names_of(condition)}]
    try:
        return all(evaluate(c, names) for c in conditions) and all(evaluate(d, names) >= 0 for d in expressions)
    except ValueError:
        return True  # a division by zero: for the call itself to refuse


def complete(kernel: Kernel, dims: dict[str, int]) -> dict[str, int]:
    """With `size` where the signature has both a `...` and a `..., n`: the same number as `rows`."""
    if "size" in kernel.signature.symbols and "rows" in dims:
        return {**dims, "size": dims["rows"]}
    return dict(dims)
