"""Arguments for a case: drawn as `inputs` declares, laid out as asked, outputs between guards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..artifact.dimensions import evaluate
from ..artifact.dtypes import finfo, kind, numpy_dtype
from ..artifact.signature import Parameter
from ..declare.model import Kernel, Specialisation
from ..runtime.reference import function_of
from . import allowed, faults, ranges
from .memory import guarded, scattered, shifted
from .sizes import complete, leading as stands_for

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)


def extremes(dtype: np.dtype, largest: bool) -> np.ndarray:
    """Special values, denormals and the smallest normal numbers; if `largest`, those of both signs too, which are left
    out for sums: whether one overflows depends on its order, which the language leaves open."""
    info = finfo(dtype)
    most = (info.max, info.min) if largest else ()
    return np.array([*SPECIAL, info.tiny, info.smallest_subnormal, -info.tiny, *most], dtype)


class Case(NamedTuple):
    """One call. `arguments` are the inputs; `outputs` the arrays to give as outputs, each inside its buffer."""

    dims: dict[str, int]
    arguments: dict[str, Any]
    outputs: dict[str, np.ndarray]
    buffers: dict[str, np.ndarray]  # around arrays that the kernel writes, and strided ones: with guards and gaps


def draw(
    kernel: Kernel, specialisation: Specialisation, dims: dict[str, int], rng: np.random.Generator,
    root: str, *, special: int = 0, extreme: str = "", strided: bool = False, misaligned: bool = False,
) -> Case:  # fmt: skip
    """A call at these sizes. `special`, from 1, strews NaN, infinities, signed zeros, ones and the float scalars of the
    call over the arrays of floats and complex numbers, and gives one such scalar without a declared range, if there are
    any, another such value each time; `extreme` ("all", or "small" without the largest) strews denormals and the ends
    of the range too. `strided` gives every `strided` or `broadcast` parameter a view that is not contiguous, with
    guards and gaps that nothing may touch; `misaligned` has every array begin one to three elements past what a vector
    is aligned to. Raises Unmet where no scalars are found that `requires` allow, or a range has no values."""
    types = dict(specialisation.types)
    names = {**dict(specialisation.params), **complete(kernel, dims)}
    leading = _leading(names, rng)
    drawn = _drawn(kernel, types, dims, names, leading, rng, root)
    if special or extreme:
        given = [v.item() for v in drawn.values() if v.ndim == 0 and kind(v.dtype) == "f"]
        # An end of a range is as likely as all others.
        given = [*SPECIAL, *given * (len(SPECIAL) // max(len(given), 1))]
        floats = [p for p in kernel.signature.inputs if kind(drawn[p.name].dtype) in "fc"]
        many = special % 2 == 0 if special else bool(rng.integers(2))
        for p in floats:
            real = drawn[p.name].real.dtype
            if p.is_array:
                chosen = extremes(real, extreme == "all") if extreme else np.array(given, real)
                drawn[p.name] = _strewn(drawn[p.name], rng, chosen, many)
        # Every second time each value in turn, of each scalar in turn, of complex numbers each part: beside such a
        # scalar few elements tell anything, so that arrays have many the other times.
        turns = [
            (p.name, value) for v in (*SPECIAL[:3], -0.0) for p in floats
            if not p.is_array and p.name not in _ranges(kernel)
            for value in ((v,) if kind(drawn[p.name].dtype) == "f" else (complex(v, 1), complex(1, v)))
        ]  # fmt: skip
        if turns and special > 1 and not many:
            name, value = turns[(special - 3) // 2 % len(turns)]
            turned = {**drawn, name: np.array(value, drawn[name].dtype)}
            drawn = turned if allowed.hold(kernel, names, turned) else drawn
    arguments, outputs, buffers = {}, {}, {}

    def shift() -> int:
        return int(rng.integers(1, 4)) if misaligned else 0

    for p in kernel.signature.parameters:
        dtype, apart = numpy_dtype(types.get(p.dtype, p.dtype)), strided and p.layout != "C"
        if p.role == "temp":
            continue  # the call's own
        if p.role == "out":
            outputs[p.name], buffers[p.name] = guarded(_shape(p, names, leading), dtype, shift())
        elif not p.is_array:
            arguments[p.name] = drawn[p.name].item()
        elif p.role == "inout" or apart:
            shape = drawn[p.name].shape
            strides = scattered(shape, dtype.itemsize, rng) if apart else None
            arguments[p.name], buffers[p.name] = guarded(shape, dtype, shift(), strides)
            arguments[p.name][...] = drawn[p.name]
        else:
            arguments[p.name] = shifted(drawn[p.name], shift() * dtype.itemsize) if misaligned else drawn[p.name]
    return Case(dims, arguments, outputs, buffers)


def _drawn(
    kernel: Kernel, types: dict[str, str], dims: dict[str, int], names: dict[str, int | float],
    leading: tuple[int, ...], rng: np.random.Generator, root: str,
) -> dict[str, np.ndarray]:  # fmt: skip
    """The value of every argument as it is declared; of a scalar an array without dimensions."""
    custom = _custom(kernel, names, types, rng, root)
    result, widest = {}, False
    for p in kernel.signature.inputs:
        dtype = numpy_dtype(types.get(p.dtype, p.dtype))
        shape = _shape(p, names, leading)
        if p.layout == "broadcast":
            shape = _narrow(shape, rng) if widest else shape
            widest = True  # one of them has the whole shape
        if not p.is_array and p.name in dims:
            result[p.name] = np.array(dims[p.name])
        elif p.name in custom:
            with faults.of("inputs", f"{p.name} by {kernel.inputs}"):
                result[p.name] = np.asarray(custom[p.name], dtype).reshape(shape)
        else:
            result[p.name] = _values(kernel, p, dtype, shape, names, rng)
    if scalars := allowed.named(kernel):
        again = {
            p.name: partial(_values, kernel, p, result[p.name].dtype, (), names, rng)
            for p in kernel.signature.inputs if p.name in scalars and p.name not in dims and p.name not in custom
        }  # fmt: skip
        searched = [name for name in again if name not in _ranges(kernel)]
        allowed.meet(kernel, names, result, again, searched, rng)
    return result


def _leading(names: Mapping[str, int | float], rng: np.random.Generator) -> tuple[int, ...]:
    """The shape behind a `...` of `size` or `rows` elements: one, two or three dims."""
    n = stands_for(names)
    shape = [n]
    for divisor in (2, 3):
        if n and n % divisor == 0 and rng.random() < 0.5:
            shape = [divisor, *shape[:-1], shape[-1] // divisor]
    return tuple(shape)


def _shape(p: Parameter, names: Mapping[str, int | float], leading: tuple[int, ...]) -> tuple[int, ...]:
    dims = tuple(d if isinstance(d, int) else int(evaluate(d, names)) for d in p.dims or ())
    return (*leading, *dims) if p.ellipsis else dims


def _narrow(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`, now and then."""
    choice = rng.integers(4)
    if choice == 0 and len(shape) > 1:
        return shape[1:]
    if choice == 1 and len(shape) > 1:
        return (1, *shape[1:])
    return shape


def _values(
    kernel: Kernel, p: Parameter, dtype: np.dtype, shape: tuple[int, ...], names: Mapping[str, int | float],
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    declared = _ranges(kernel).get(p.name, {})
    try:
        limits = {key: evaluate(value, names) for key, value in declared.items() if key in ("low", "high")}
    except ValueError as error:  # a division by 0, or beyond 64 bits
        if 0 not in shape:
            raise faults.Unmet(f"of '{p.name}', {error}", "inputs", "say in `requires` which sizes there are") from None
        limits = {}  # nothing is drawn
    if not limits:
        return ranges.anything(dtype, shape, rng)
    if (drawn := ranges.within(dtype, limits.get("low"), limits.get("high"), shape, rng)) is not None:
        return drawn
    low, high = ranges.ends(dtype, limits.get("low"), limits.get("high"))
    if all(isinstance(value, (int, float)) for value in declared.values()):  # none at any sizes
        raise faults.fault("inputs", p.name, f"hold no {dtype} from {low} on and below {high}")
    why = f"no {dtype} for '{p.name}' is from {low} on and below {high}"
    raise faults.Unmet(why, "inputs", "give it a wider range, or say in `requires` which sizes there are")


def _strewn(values: np.ndarray, rng: np.random.Generator, special: np.ndarray, many: bool) -> np.ndarray:
    """The values, some of them replaced, of complex numbers in either part: two, each of which a sum still shows, or,
    if `many`, one in twenty, and so many that each is there; half of a small array at most."""
    result = values.reshape(-1)
    if values.dtype.kind == "c":
        parts = np.ascontiguousarray(result).view(special.dtype)
        return _strewn(parts, rng, special, many).view(values.dtype).reshape(values.shape)
    count = min(max(values.size // 20, len(special)) if many else 2, -(-values.size // 2))
    result = result.copy()
    result[rng.permutation(values.size)[:count]] = np.resize(rng.permutation(special), count)
    return result.reshape(values.shape)


def _custom(
    kernel: Kernel, names: Mapping[str, int | float], types: Mapping[str, str], rng: np.random.Generator, root: str
) -> dict[str, Any]:
    """What `inputs: file.py:function` gives: function(rng, names) -> {argument: values}."""
    if not isinstance(kernel.inputs, str):
        return {}
    with faults.of("inputs", kernel.inputs):
        given = from_file(kernel.inputs, root)(rng, {**names, **types})
        if not isinstance(given, dict) or given.keys() - _inputs_of(kernel):
            raise TypeError(f"{given!r:.60} is not a dict of arguments: {', '.join(_inputs_of(kernel))}")
        return given


def _ranges(kernel: Kernel) -> Mapping[str, Any]:
    """What a declaration says of arguments by name."""
    return kernel.inputs if isinstance(kernel.inputs, dict) else {}


def _inputs_of(kernel: Kernel) -> tuple[str, ...]:
    """The arguments of a kernel, without its outputs."""
    return tuple(p.name for p in kernel.signature.inputs)


def from_file(place: str, root: str) -> Any:
    """The function of `file.py:function`, from the templates folder under root."""
    file, _, name = place.partition(":")
    return function_of(str(Path(root, "templates", file)), name)
