"""At which sizes a kernel is checked: nothing, one, odd, prime, around vector widths and block sizes, large."""

from __future__ import annotations

import itertools
from typing import Iterator, Mapping

import numpy as np

from ..artifact.dimensions import evaluate, names as names_of
from ..declare.model import Kernel, Specialisation

LARGEST = 400_000  # elements of one array
ALONE = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 127, 128, 129, 255, 257, 1000, 1021, 1025, 4099, 16_411, 65_537, 300_007)
TOGETHER = (0, 1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 65, 127, 129, 257, 1021)
COMBINATIONS = 12  # of several symbols
FEW = (1, 2, 3, 5, 7)
SMALL = 6  # combinations of few, for which the interpreter can be asked


def cases(kernel: Kernel, specialisation: Specialisation, seed: int) -> Iterator[dict[str, int]]:
    """Choices of the kernel's dimension symbols that a call allows, the declared ones first.

    `size` and `rows` stand for the number of elements, or of rows, of its `...`.
    """
    seen = set()
    drawn = (_fitting(kernel, specialisation, dims) for dims in _drawn(free_symbols(kernel), seed))
    for dims in itertools.chain(declared(kernel), drawn):
        key = tuple(dims.values())
        if key not in seen and allowed(kernel, specialisation, dims):
            seen.add(key)
            yield dims


def declared(kernel: Kernel) -> list[dict[str, int]]:
    """The sizes that the declaration asks for."""
    return [{s: int(dims.get(s, 1)) for s in free_symbols(kernel)} for dims in kernel.sizes.get("check", ())]


def elements(kernel: Kernel, specialisation: Specialisation, dims: dict[str, int]) -> list[float]:
    """How many each array has, the call's own among them. Infinite where that is no number: of a division by zero, or
    beyond 64 bits."""
    names = {**dict(specialisation.params), **complete(kernel, dims)}
    try:
        return [
            float(np.prod([evaluate(d, names) for d in p.dims or ()] + [leading(names)] * p.ellipsis, dtype=float))
            for p in kernel.signature.parameters if p.is_array
        ]  # fmt: skip
    except ValueError:
        return [np.inf]


def work(kernel: Kernel, specialisation: Specialisation, dims: dict[str, int]) -> float:
    """What tells which of two cases takes longer: of loops over vectors the product of the dimensions, of those over
    rows of a square matrix its elements."""
    known = [n for n in elements(kernel, specialisation, dims) if n < np.inf]
    return max([float(np.prod([max(n, 1) for n in dims.values()], dtype=float)), *known])


def _fitting(kernel: Kernel, specialisation: Specialisation, dims: dict[str, int]) -> dict[str, int]:
    """The same sizes, the largest of them halved until no array is larger than it may be. It stays odd, so that it is
    no multiple of a vector or a block; small ones, beside which it is long, stay as they are."""
    while max(dims.values(), default=0) > 1 and max(elements(kernel, specialisation, dims), default=0) > LARGEST:
        largest = max(dims, key=dims.__getitem__)
        dims = {**dims, largest: dims[largest] // 2 | 1}
    return dims


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


def leading(names: Mapping[str, float]) -> int:
    """How many elements, or rows, a `...` stands for."""
    return int(names.get("rows", names.get("size", 0)))


def complete(kernel: Kernel, dims: dict[str, int]) -> dict[str, int]:
    """With `size` where the signature has both a `...` and a `..., n`: the same number as `rows`."""
    if "size" in kernel.signature.symbols and "rows" in dims:
        return {**dims, "size": dims["rows"]}
    return dict(dims)
