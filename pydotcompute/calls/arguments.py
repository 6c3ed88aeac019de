"""The rules of a call: which value is which argument, types, shapes, layout, overlap. Every error of a call's own.

The same rules and words on every backend: arrays are looked at through `arrays` (see calls/arrays.py).
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from ..artifact.dtypes import dtype_name
from ..artifact.identity import title
from ..artifact.signature import DTYPES, Parameter, Signature, default_value, fill_value
from ..cache.manifest import KernelRecord, SpecialisationRecord
from ..errors import KernelNotBuiltError
from .scalars import choose, convert, is_scalar, type_name
from .shapes import Dimensions, Shape, describe


class Call(NamedTuple):
    """A call whose arguments are right. Outputs that were not given do not exist yet."""

    specialisation: SpecialisationRecord
    values: dict[str, Any]  # parameter → NumPy scalar, or array without a subclass's additions
    dims: dict[str, int]  # every dimension symbol
    leading: Shape | None  # the shape of all `...`
    given: dict[str, Any]  # outputs as they were passed
    missing: dict[str, Shape]  # outputs and scratch to allocate
    arrays: Any
    poison: Callable[[str], Any] | None = None  # what scratch without a fill holds, by dtype; None: anything

    def complete(self) -> tuple[dict[str, Any], Any]:
        """Allocate and fill outputs and scratch. The value of every parameter, and what the call returns."""
        values, results = dict(self.values), []
        for p in self.specialisation.parameters:
            if p.is_input:
                continue
            if p.name in self.missing:
                values[p.name] = self.arrays.empty(self.missing[p.name], p.dtype)
            if p.fill is not None:
                self.arrays.fill(values[p.name], fill_value(p.fill, p.dtype))
            elif p.role == "temp" and self.poison:
                self.arrays.fill(values[p.name], self.poison(p.dtype))
            if p.role == "out":
                results.append((p, self.given.get(p.name, values[p.name])))

        def finish() -> Any:
            final = [
                self.arrays.result(r) if p.dims is None and p.name in self.missing else r for p, r in results
            ]
            final = trimmed(final, lengths([p for p, _ in results]), self.arrays)
            return None if not final else final[0] if len(final) == 1 else tuple(final)

        return values, finish


def lengths(outputs: Sequence[Parameter]) -> list[tuple[int, Parameter, int]]:
    """The outputs that are trimmed: the place of each among all, itself, and the place of that which says to how many
    elements."""
    places = {p.name: k for k, p in enumerate(outputs)}
    return [(k, p, places[p.length]) for k, p in enumerate(outputs) if p.length is not None]


def trimmed(results: Sequence[Any], lengths: Sequence[tuple[int, Parameter, int]], arrays: Any) -> list[Any]:
    """Outputs as they are returned: of those in `lengths` a view of the first elements. Waits for how many these are.
    Raises IndexError where there are not so many."""

    def own(value: Any) -> Any:
        """Of an array of another package's, which may have neither shape nor slices, the backend's own."""
        return arrays.adopt(value) if hasattr(arrays, "adopt") and not isinstance(value, np.generic) else value

    made = list(results)
    for k, p, length in lengths:
        whole = own(results[k])
        count, most = arrays.number(own(results[length])), int(whole.shape[0])
        if not 0 <= count <= most:
            raise IndexError(f"'{p.name}' has room for {most} elements ({describe(p)}), and {p.length} is {count}")
        made[k] = whole[:count]
    return made


def assign(
    kernel: str, signature: Signature, params: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Which value is which parameter, and which params were chosen. Outputs passed as None count as not given.

    Raises TypeError: too many, too few, unknown or doubled arguments.
    """
    inputs = [p.name for p in signature.inputs]
    names = inputs + [p.name for p in signature.outputs]
    if len(args) > len(names):
        least = sum(not p.may_be_left_out for p in signature.inputs)
        takes = f"{least} to {len(names)}" if len(names) > least else f"{len(names)}"
        raise TypeError(f"{kernel} takes {takes} arguments ({', '.join(names)}), got {len(args)}")
    values, chosen = dict(zip(names, args)), {}
    for name, value in kwargs.items():
        if name in values:
            raise TypeError(f"{kernel} got two values for argument '{name}'")
        if name in names:
            values[name] = value
        elif name in params:
            chosen[name] = value
        else:
            from difflib import get_close_matches

            close = get_close_matches(name, [*names, *params], 1)
            hint = f"did you mean '{close[0]}'?" if close else f"it takes {', '.join([*names, *params])}"
            raise TypeError(f"{kernel} has no argument '{name}'; {hint}")
    lacking = [p.name for p in signature.inputs if p.name not in values and not p.may_be_left_out]
    if lacking:
        listed = ", ".join(f"'{name}'" for name in lacking)
        raise TypeError(f"{kernel} is missing argument{'s' * (len(lacking) > 1)} {listed}: {signature.text}")
    values = {name: value for name, value in values.items() if value is not None or name in inputs}
    for p in signature.inputs:
        if p.fill is not None:
            values.setdefault(p.name, default_value(p.fill, p.dtype))
    return values, chosen


def check(
    record: KernelRecord, values: Mapping[str, Any], chosen: Mapping[str, Any], arrays: Any,
    tuned: Callable[[dict[str, str], dict[str, Any]], Mapping[str, Any]] | None = None,
) -> Call:
    """Everything that can be wrong with the values of a call.

    values: by parameter, as `assign` gives them. tuned: from the types and the arrays, the values of those params that
    a kernel lists under `tune`, where the call names none of them. Raises TypeError, ValueError or OverflowError naming
    the argument; KernelNotBuiltError if the specialisation is in no manifest.
    """
    kernel, signature = record.name, record.signature
    plain = {
        p.name: _plain(kernel, p, values[p.name], arrays)
        for p in signature.parameters if p.name in values and p.in_memory
    }  # fmt: skip
    types = _choose_types(record, values, plain)
    if tuned and not any(name in chosen for name in record.by_size):
        chosen = {**chosen, **tuned(types, plain)}
    params = _choose_params(record, chosen)
    label = ",".join(f"{name}={value}" for name, value in (*types.items(), *params.items())) or "-"
    specialisation = record.specialisation(types, params)
    if specialisation is None:
        raise KernelNotBuiltError(
            f"{title(kernel, label)} is declared, but the manifest does not have it; build the kernel again"
        )

    dimensions = Dimensions(kernel, params)
    for p, concrete in zip(signature.parameters, specialisation.parameters):
        if not p.is_input:
            continue
        if p.is_array:
            dimensions.array(p, tuple(plain[p.name].shape))
            continue
        plain[p.name] = convert(values[p.name], concrete.dtype, f"{kernel}: argument '{p.name}'")
        if p.name in signature.symbols and concrete.dtype.startswith(("int", "uint")):
            dimensions.scalar(p.name, int(plain[p.name]))
    dimensions.join([(p, tuple(plain[p.name].shape)) for p in signature.inputs if p.is_array])
    for p in signature.outputs:
        if p.name in plain:
            dimensions.check_rank(p._replace(dims=p.dims or ()), tuple(plain[p.name].shape))
            dimensions.agree(p, tuple(plain[p.name].shape))
    scalars = {p.name: plain[p.name].item() for p in signature.inputs if not p.is_array} if record.requires else {}
    dimensions.require(signature.symbols, record.requires, scalars)
    missing = {}
    for p in (*signature.outputs, *signature.scratch):
        shape = dimensions.output(p)
        if p.name not in plain:
            missing[p.name] = shape
        elif tuple(plain[p.name].shape) != shape:
            raise ValueError(
                f"{kernel}: output '{p.name}' must have shape {shape} ({describe(p)}), got {tuple(plain[p.name].shape)}"
            )
    present = [p for p in specialisation.parameters if p.in_memory and p.name in plain]
    for p in present:
        _check_memory(kernel, p, plain[p.name], arrays)
    _check_places(kernel, present, plain, arrays)
    _check_overlap(kernel, present, plain, specialisation.aliases, arrays)
    given = {p.name: values[p.name] for p in signature.outputs if p.name in values}
    dims = {name: dimensions.values[name] for name in signature.symbols}
    return Call(specialisation, plain, dims, dimensions.leading, given, missing, arrays)


def _plain(kernel: str, p: Parameter, value: Any, arrays: Any) -> Any:
    if not arrays.owns(value):
        what = "output" if p.role == "out" else "argument"
        hint = ""
        if isinstance(value, type):
            got = f"the class {value.__qualname__}: give an array"
            raise TypeError(f"{kernel}: {what} '{p.name}' must be {arrays.noun}, got {got}")
        like = is_scalar(value) or isinstance(value, (list, tuple)) or hasattr(value, "__array__")
        if arrays.module and p.role == "in" and like:
            hint = f"; {arrays.module}.asarray({p.name}) makes one"
        raise TypeError(f"{kernel}: {what} '{p.name}' must be {arrays.noun}, got {type_name(value)}{hint}")
    try:
        array = arrays.plain(value)
    except TypeError as error:
        raise TypeError(f"{kernel}: '{p.name}' {error}") from None
    dtype = array.dtype
    if not dtype.isnative:
        raise TypeError(
            f"{kernel}: '{p.name}' is byte-swapped ({dtype.str}); {p.name}.astype('{dtype.name}') makes a native copy"
        )
    if dtype.kind in "mM":
        return array.view("int64")
    if dtype.name not in DTYPES:
        raise TypeError(f"{kernel}: '{p.name}' has dtype {dtype}, which no kernel knows; there are {', '.join(DTYPES)}")
    return array


def _choose_types(record: KernelRecord, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, str]:
    """The dtype of every type variable: arrays decide, exactly; where there are none, scalars do."""
    types: dict[str, str] = {}
    origin: dict[str, str] = {}
    for p in record.signature.parameters:
        if p.name not in arrays:
            continue
        found = dtype_name(arrays[p.name].dtype)
        if p.dtype not in record.types:
            if found != p.dtype:
                raise TypeError(f"{record.name}: '{p.name}' must be {p.dtype}, got {found}")
        elif found not in record.types[p.dtype]:
            declared = " or ".join(record.types[p.dtype])
            raise TypeError(f"{record.name}: '{p.name}' must be {declared}, got {found}")
        elif types.setdefault(p.dtype, found) != found:
            raise TypeError(
                f"{record.name}: '{p.name}' is {found}, but '{origin[p.dtype]}' is {types[p.dtype]}: "
                f"both are {p.dtype}"
            )
        else:
            origin.setdefault(p.dtype, p.name)
    for name, dtypes in record.types.items():
        if name not in types:
            scalars = [values[p.name] for p in record.signature.inputs if p.dtype == name]
            types[name] = choose(dtypes, scalars)
    return {name: types[name] for name in record.types}


def _choose_params(record: KernelRecord, chosen: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: choices[0] for name, choices in record.params.items()}
    for name, value in chosen.items():
        match = [c for c in record.params[name] if is_scalar(value) and c == value]
        if not match:
            declared = ", ".join(str(c) for c in record.params[name])
            raise ValueError(f"{record.name}: {name}={value!r} is not declared; {name} may be {declared}")
        params[name] = match[0]
    return params


def _check_memory(kernel: str, p: Parameter, array: Any, arrays: Any) -> None:
    """Layout, alignment, and whether it may be written."""
    if p.layout == "C" and not arrays.is_contiguous(array):
        hint = f"; {arrays.module}.ascontiguousarray({p.name}) makes a copy" if arrays.module and p.role == "in" else ""
        raise ValueError(
            f"{kernel}: '{p.name}' must be C-contiguous, got shape {tuple(array.shape)} with strides "
            f"{tuple(array.strides)}{hint}"
        )
    if not arrays.is_aligned(array):
        hint = f"; {p.name}.copy() is" if p.role == "in" else ""
        raise ValueError(f"{kernel}: '{p.name}' is not aligned to its {array.dtype.name} elements{hint}")
    if p.writable and not arrays.is_writable(array):
        raise ValueError(f"{kernel}: '{p.name}' is written by the kernel, but it is read-only")
    if p.writable and p.layout != "C" and _meets_itself(array):
        raise ValueError(
            f"{kernel}: '{p.name}' is written by the kernel, but elements of it share memory (shape "
            f"{tuple(array.shape)}, strides {tuple(array.strides)})"
        )


def _meets_itself(array: Any) -> bool:
    """Whether two elements may lie in one place: false only if each stride steps over all that is inside it."""
    if array.size == 0:
        return False
    reach = array.dtype.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape) if size > 1):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def _check_places(kernel: str, present: Sequence[Parameter], plain: Mapping[str, Any], arrays: Any) -> None:
    places = [(p.name, arrays.place(plain[p.name])) for p in present]
    for name, place in places[1:]:
        if place != places[0][1]:
            raise ValueError(f"{kernel}: '{name}' is on {place}, but '{places[0][0]}' is on {places[0][1]}")


def _check_overlap(kernel: str, present: Sequence[Parameter], plain: Mapping[str, Any], aliases, arrays: Any) -> None:
    for k, one in enumerate(present):
        for other in present[:k]:
            if not (one.writable or other.writable):
                continue
            a, b = plain[other.name], plain[one.name]
            if not arrays.overlap(a, b):
                continue
            allowed = (one.name, other.name) in aliases or (other.name, one.name) in aliases
            if allowed and _is_same_view(a, b, arrays):
                continue
            written = one if one.writable else other
            why = "and they are not the same view" if allowed else "and the kernel does not work in place there"
            raise ValueError(
                f"{kernel}: '{other.name}' and '{one.name}' share memory, '{written.name}' is written, {why}"
            )


def _is_same_view(one: Any, other: Any, arrays: Any) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape or arrays.address(one) != arrays.address(other):
        return False
    return all(s == t for s, t, size in zip(one.strides, other.strides, one.shape) if size > 1)


