"""Arguments for a random program: sizes, arrays with ordinary and special values, in the layouts it declares."""

from __future__ import annotations

import numpy as np

from pydotcompute.artifact.dtypes import finfo
from pydotcompute.artifact.signature import fill_value

from .scope import Array
from .values import STORED, rank

SMALL = (0, 1, 2, 3, 5, 9, 17, 40)


def draw_sizes(program, rng: np.random.Generator, long: bool = False, deep: bool = False) -> dict[str, int]:
    """A value for each symbol, small, but `long` for one of the loops, as reductions see it, or where it is `deep` for
    the loops inside: more turns than a vector has elements."""
    names = symbols(program)
    if deep and "k" in names:
        most, others = {0: (40, (2, 3, 19)), 1: (33, (2, 3, 19)), 2: (11, (1, 2))}.get(loops_in_loops(program.lines), (8, (1, 2)))
        return {name: int(rng.integers(8, most + 1) if name == "k" else rng.choice(others)) for name in names}
    main = [d for d in program.main if d in names and d != "k"]
    if long and main and not any(len(p.dims or ()) > len({*(p.dims or ())}) for p in program.parameters):
        dims = {name: int(rng.integers(1, 4)) for name in names}
        dims[rng.choice(main)] = int(rng.choice((130, 257) if program.has_row_sums else (130, 257, 1030, 1537)))
        return dims
    dims = {name: int(rng.choice(SMALL)) for name in names}
    while (
        np.prod(
            [max(dims[d] if isinstance(d, str) and d in dims else 8 if d == "TILE" else d, 1) for d in program.main]
        )
        > 400
    ):
        name = max((d for d in program.main if d in dims), key=dims.get)
        dims[name] //= 2
    if "k" in dims:
        dims["k"] = min(dims["k"], 5)
    return dims


def loops_in_loops(lines: list[str]) -> int:
    """How many ranges of a program are inside one another."""
    most, around = 0, []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        around = [place for place in around if place < indent]
        most = max(most, len(around) + line.count(" in range("))
        around += [indent] * line.lstrip().startswith(("for ", "while ")) * (" in range(" in line or "while " in line)
    return most


def symbols(program) -> list[str]:
    found = {d for p in program.parameters if p.dims for d in p.dims if isinstance(d, str)} - {"?", "TILE"}
    found |= {p.name for p in program.parameters if p.dims is None and p.name in (*program.extents, *program.main)}
    return sorted(found)


def special_values(dtype: str) -> np.ndarray:
    if dtype in STORED:
        info = finfo(np.dtype(dtype))
        found = [0.0, -0.0, 0.5, -1.5, 3e9, -3e9, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny,
                 info.smallest_subnormal, 2049, 257]  # fmt: skip
        with np.errstate(over="ignore"):
            return np.array([float(v) for v in found]).astype(dtype)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        values = [info.min, info.min + 1, -2, -1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, info.max - 1, info.max]
        return np.array([v for v in values if info.min <= v <= info.max], dtype)
    real = np.dtype(dtype).type(0).real.dtype
    info = np.finfo(real)
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, 3e9, -3e9, 2e19, np.inf, -np.inf, np.nan, info.max, -info.max,
              info.tiny, info.smallest_subnormal]  # fmt: skip
    found = np.array(values, real)
    if kind == "f":
        return found
    return (found[:, None] + 1j * found[None, ::3]).ravel().astype(dtype)


def values(dtype: str, count: int, rng: np.random.Generator, data: str = "any", special: float = 0.15) -> np.ndarray:
    kind = "f" if dtype in STORED else np.dtype(dtype).kind
    if data == "places":
        return rng.permutation(count).astype(dtype)
    if data == "count":
        return rng.integers(0, 6, count).astype(dtype)
    if data == "small":
        return rng.integers(-4, 5, count).astype(dtype)
    if kind == "b":
        found = rng.random(count) < 0.5
    elif kind in "iu":
        info = np.iinfo(dtype)
        found = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        small = rng.random(count) < 0.6
        found[small] = rng.integers(0 if kind == "u" else -9, 10, int(small.sum())).astype(dtype)
    elif kind == "f":
        found = (rng.normal(size=count) * 10.0 ** rng.integers(-2, 3, count)).astype(dtype)
    else:
        found = (rng.normal(size=count) + 1j * rng.normal(size=count)).astype(dtype)
    chosen = rng.random(count) < special
    found[chosen] = rng.choice(special_values(dtype), int(chosen.sum()))
    return found


def extent_of(dim, dims: dict, params: dict) -> int:
    return dim if isinstance(dim, int) else eval(dim, {}, {**dims, **params})


def shape_of(p: Array, dims: dict, params: dict, leading: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array in a call: the leading dims of `T[...]` are as many as there are in `leading`."""
    if p.written:
        most = p.written.removeprefix("<=").partition(":")[0]
        return (extent_of(most, dims, params),)
    rest = tuple(extent_of(d, dims, params) for d in p.dims[p.ellipsis :])
    return (*leading, *rest) if p.ellipsis else rest


def split(size: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A shape of this many elements."""
    if size == 1 and rng.random() < 0.5:
        return ()
    divisors = [d for d in range(1, min(size, 40) + 1) if size % d == 0] or [1]
    first = int(rng.choice(divisors))
    form = rng.integers(3)
    return ((size,), (first, size // first), (size // first, 1, first))[form] if size else ((0,), (3, 0), (0, 2))[form]


def arrange(flat: np.ndarray, shape: tuple[int, ...], layout: str, rng: np.random.Generator, role: str) -> np.ndarray:
    """The values as an array of this shape, in memory as the layout allows: of what is read alone, some have one row
    many times over."""
    whole = flat.reshape(shape)
    if layout != "strided" or not whole.size or not shape:
        return whole.copy()
    form = rng.integers(6)
    if form == 4 and role == "in":
        axis = int(rng.integers(len(shape)))
        return np.broadcast_to(whole.take([0], axis), shape)
    if form == 5:  # complex numbers are not a whole number of their size apart
        view = np.zeros(shape, [("own", whole.dtype), ("other", whole.dtype if whole.dtype.kind == "V" else whole.real.dtype)])["own"]
    elif form == 0:
        room = np.zeros((*(2 * n for n in shape[:-1]), 3 * shape[-1]) if shape else (), whole.dtype)
        view = room[tuple([slice(None, None, 2)] * (len(shape) - 1) + [slice(1, None, 3)])] if shape else room
    elif form == 1:
        view = np.zeros(shape, whole.dtype)[tuple([slice(None, None, -1)] * len(shape))]
    elif form == 2:
        view = np.zeros(shape[::-1], whole.dtype).T
    else:
        view = np.zeros(shape, whole.dtype)
    view[...] = whole
    return view


def draw_arguments(program, dims: dict, params: dict, rng: np.random.Generator, special: float = 0.15) -> dict:
    """Every argument by name; outputs hold random values, which their fills replace."""
    def drawn(p: Array, count: int, special: float) -> np.ndarray:
        usual = not program.has.is_exact and (p.stored in STORED or np.dtype(p.stored).kind in "fc")
        data = "small" if program.is_freed and rank(p.dtype) == 2 else p.data
        return values(p.stored, count, rng, data, 0 if usual else special)

    leading = split(dims.get("size", dims.get("rows", 0)), rng)
    found = {}
    for p in program.parameters:
        if p.dims is None:
            value = dims[p.name] if p.name in dims else drawn(p, 1, 0.3)[0]
            if p.default and rng.random() < 0.4:
                value = fill_value(p.default, p.stored)
            found[p.name] = np.dtype(p.stored).type(value)
            continue
        shape = shape_of(p, dims, params, leading)
        if p.layout == "broadcast":
            keep = rng.random(len(shape)) < 0.75
            shape = tuple(n if k or n != 1 and not n else 1 for n, k in zip(shape, keep))
            shape = shape[int(rng.integers(0, len(shape) + 1)) :] if rng.random() < 0.3 else shape
        flat = drawn(p, int(np.prod(shape)), special)
        found[p.name] = arrange(flat, shape, p.layout, rng, p.role)
    widen(program, found, leading)
    return found


def as_called(program, arguments: dict) -> tuple[tuple, dict]:
    """The arguments of a call, by position; by name where scalars that have their default are left out. Some whole
    numbers are times, which is the same memory."""
    given = {}
    for p in program.parameters:
        if p.name not in arguments:
            continue
        value = arguments[p.name]
        if p.dims and p.stored == "int64" and program.seed % 3 == 0 and not program.type_variables:
            value = value.view("datetime64[s]")
        default = p.default and np.dtype(p.stored).type(fill_value(p.default, p.stored))
        if not p.default or value.tobytes() != default.tobytes():
            given[p.name] = value
    return (tuple(given.values()), {}) if len(given) == len(arguments) else ((), given)


def draw_scratch(program, dims: dict, params: dict, seed: int) -> dict[str, np.ndarray]:
    """What the arrays of a call hold that it allocates: anything."""
    rng, found = np.random.default_rng(seed), {}
    for p in program.temps:
        shape = tuple(extent_of(d, dims, params) for d in p.dims)
        found[p.name] = values(p.stored, int(np.prod(shape)), rng).reshape(shape)
    return found


def widen(program, found: dict, leading: tuple[int, ...]) -> None:
    """Broadcasting arrays together have the leading shape: let the first be whole."""
    for p in program.parameters:
        if p.layout == "broadcast":
            if found[p.name].shape != leading:
                found[p.name] = np.ascontiguousarray(np.broadcast_to(found[p.name], leading))
            return


def as_seen(p: Array, value, leading: tuple[int, ...]):
    """The argument as the kernel sees it: leading dims as one."""
    if p.dims is None or not p.ellipsis:
        return value
    rest = value.shape[value.ndim - len(p.dims) + 1 :] if len(p.dims) > 1 else ()
    whole = np.broadcast_to(value, (*leading, *rest)) if p.layout == "broadcast" else value
    return whole.reshape((-1 if whole.size else int(np.prod(leading)), *rest) if rest else (whole.size,))
