"""A function for all calls on CUDA of one form: straight-line Python that looks at addresses and launches.

It is written out, not interpreted, because a launch from Python costs about what twenty lines of Python do.
"""

from __future__ import annotations

from functools import partial
from struct import Struct, error as StructError
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import cupy
import numpy as np
from cupy.cuda import driver, get_current_stream, runtime

from ...artifact.dtypes import STORED
from ...artifact.launch import READY
from ...artifact.signature import Parameter, fill_value
from ...calls.arguments import Call
from ...calls.scalars import convert
from ..launch import FAULT_BYTES, OF_CALL, Launch
from . import arrays as cuda_arrays, fault_slot, streams as cuda_streams
from .context import CONTEXT, LOST
from .launch_words import FORMATS, Buffers
from .products import Product, product

CachedLaunch = Callable[..., Any]  # of the values of a call; NotImplemented where the rules are to be asked

# What the rules can do better with: they enter the device's context; and say whose fault an earlier one's is.
FOR_THE_RULES = CONTEXT | LOST


class Step(NamedTuple):
    """One launch of a call: its function's handle, grid and block, what its words are, as the metadata says, and they
    themselves."""

    function: int
    launch: Launch
    arguments: Sequence[Sequence[Any]]
    words: Sequence[Any]


class Launched(NamedTuple):
    """What a call that the rules have passed has launched, as every call like it does."""

    decided_by: frozenset[str]  # dimensions and scalars
    steps: Sequence[Step]
    scratch: Sequence[int]  # bytes of each array


NOTHING = Launched(frozenset(), (), ())


def launch_code(
    call: Call, names: Sequence[str], values: Sequence[Any], backend: Any, launched: Launched,
    vendor: Callable | None = None, of_tensors: bool = False,
) -> CachedLaunch | None:  # fmt: skip
    """What serves calls like this one, or None for calls that only the rules serve: with objects that are no CuPy
    arrays, complex scalars, scalars of other libraries. of_tensors: calls with the tensors whose memory these arrays
    are, where torch works on the very stream that the call does. See `LaunchCache.remember`."""
    where = {name: k for k, (name, value) in enumerate(zip(names, values)) if value is not None}
    parameters = {p.name: p for p in call.specialisation.parameters}
    present = [p for p in parameters.values() if p.in_memory and p.name in where]
    if any(type(values[where[p.name]]) is not cupy.ndarray for p in present):
        return None
    multiply = vendor and _product(call, where, values, backend)
    # Tensors are known by their addresses alone, and conjugates are a flag of theirs.
    if of_tensors and (vendor and not multiply or any("complex" in p.dtype for p in present)):
        return None
    numbers = [p for p in parameters.values() if not p.in_memory]
    if any("complex" in p.dtype or not isinstance(values[where[p.name]], (float, int, np.number)) for p in numbers):
        return None
    # What the function sees.
    known: dict[str, Any] = {
        "NotImplemented": NotImplemented, "empty": cupy.empty, "fill": cuda_arrays.fill, "memset": runtime.memsetAsync,
    }  # fmt: skip

    def name(value: Any, base: str) -> str:
        known[f"{base}{len(known)}"] = value
        return f"{base}{len(known) - 1}"

    needed = {(kind, which) for step in launched.steps for kind, which, *_ in step.arguments}
    made: dict[str, str] = {}  # arrays: what makes them
    texts: dict[tuple[str, Any], str] = {}  # what changes from call to call
    filled, unused = [], []
    for k, size in enumerate(launched.scratch):
        if ("scratch", k) in needed:
            made[f"s{k}"], texts["scratch", k] = f"empty({size}, 'uint8')", f"s{k}.data.ptr"
    if ("fault", OF_CALL) in needed:
        made["told"], texts["fault", OF_CALL] = f"empty({FAULT_BYTES}, 'uint8')", "told.data.ptr"
        filled.append(f"memset(told.data.ptr, 0, {FAULT_BYTES}, current)")
    for p in parameters.values():
        if p.name in call.missing:
            made[f"{p.name}_made"] = f"empty({call.missing[p.name]}, {p.dtype!r})"
        if not p.is_input and p.fill is not None:
            filled.append(f"fill({_output(p, call, where)}, {name(fill_value(p.fill, p.dtype), 'value')})")
        if p.in_memory:
            address = f"{p.name}_made.data.ptr" if p.name in call.missing else f"p{where[p.name]}"
            texts["data", p.name] = texts["array", p.name] = address
            continue
        number = f"v{where[p.name]}"
        if p.dtype in STORED:
            number = f"{name(partial(convert, dtype=p.dtype, who=p.name), 'rounded')}({number})"
        texts["scalar", p.name] = number
        if ("scalar", p.name) not in needed:
            unused.append(f"{name(Struct(f'<{FORMATS[p.dtype]}').pack, 'fits')}({number})")
    outputs = [_output(p, call, where) for p in parameters.values() if p.role == "out"]
    scratch = [array for array in made if array not in outputs]
    buffers = Buffers(texts, {p.name: FORMATS[p.dtype] for p in numbers})
    launching = []
    for step in launched.steps:
        extra = _extra(buffers.part(step.arguments, step.words))
        sizes = ", ".join(map(str, (*step.launch.grid, *step.launch.block)))
        launching.append(f"launch({step.function}, {sizes}, 0, current, 0, {extra})")
    free: list[tuple] = []  # buffers that no call is using
    known |= {
        "take": free.pop, "give": free.append, "made": buffers,
        "launch": driver.launchKernel, "stream": get_current_stream, "captures": cuda_streams.captures,
        "keep": backend.keep_captured, "failed": (driver.CUDADriverError, runtime.CUDARuntimeError),
        "refused": (OverflowError, StructError, cupy.cuda.memory.OutOfMemoryError), "for_the_rules": FOR_THE_RULES,
    }  # fmt: skip
    arrays = [where[p.name] for p in present]
    known["slot"] = fault_slot.slot(backend.device_id)[1]
    wrong = [f"slot[{READY}]"]  # what a kernel has told, the rules raise
    if of_tensors:
        known["theirs"] = cuda_streams.of_torch()
        wrong.append(f"theirs({backend.device_id}) != stream().ptr")
    else:
        wrong += [f"m{k}.device_id != {backend.device_id}" for k in arrays]
    wrong += [f"p{k} & {mask}" for k in arrays if (mask := values[k].dtype.alignment - 1)]
    wrong += _meeting(call, present, where, values)
    if vendor is not None:
        inputs = [where[p.name] for p in parameters.values() if p.role == "in"]
        (out,) = outputs
        doing = [f"{name(vendor, 'vendor')}({', '.join(f'v{k}' for k in inputs)}, out={out})"]
        if multiply:
            to = f"{out}.data.ptr" if call.missing else f"p{out[1:]}"
            doing = [f"{name(multiply, 'multiply')}({', '.join(f'p{k}' for k in inputs)}, {to})"]
    else:
        extras = map(_extra, range(len(buffers.places)))
        doing = [
            "current = stream().ptr",
            # A buffer of its own for each call under way: of other threads, and of finalisers that run inside this one.
            "try:",
            "    used = take()",
            "except IndexError:",
            "    used = made()",
            f"{', '.join(('buffer', *extras, '_'))} = used",
            # Both refuse a scalar that does not fit.
            *(f"{name(pack, 'pack')}(buffer, {at}, {given})" for pack, at, given in buffers.packing()),
            *unused,
            *filled,
            *launching,  # the driver copies its part of the buffer before a launch returns
            "give(used)",
            *([f"if captures(current): keep(({', '.join(scratch)},))"] if scratch else []),
        ]
    lines = [
        f"def run({', '.join(f'v{k}' for k in range(len(values)))}):",
        *(f"    p{k} = v{k}.data_ptr()" if of_tensors else f"    m{k} = v{k}.data; p{k} = m{k}.ptr" for k in arrays),
        f"    if {' or '.join(wrong)}:",
        "        return NotImplemented",
        "    try:",
        *(f"        {line}" for line in (*(f'{array} = {code}' for array, code in made.items()), *doing)),
        "    except refused:",
        "        return NotImplemented",
        "    except failed as error:",
        "        if error.status in for_the_rules:",
        "            return NotImplemented",
        "        raise",
        f"    return {', '.join(outputs) or None}",
    ]
    exec("\n".join(lines), known)
    return known["run"]


def _product(call: Call, where: Mapping[str, int], values: Sequence[Any], backend: Any) -> Product | None:
    """What serves a call of a vendor's function, which has the parameters of `matmul`, by addresses alone."""
    *inputs, out = call.specialisation.parameters
    if call.specialisation.aliases or out.name in where and not values[where[out.name]].flags.c_contiguous:
        return None  # CuPy multiplies into memory of its own
    a, b = (values[where[p.name]] for p in inputs)
    return product(a, b, backend.compute_capability)


def _extra(part: int) -> str:
    """What the driver is told of a part of the buffer by."""
    return f"extra{part or ''}"


def _output(p: Parameter, call: Call, where: Mapping[str, int]) -> str:
    return f"{p.name}_made" if p.name in call.missing else f"v{where[p.name]}"


def _meeting(call: Call, present: Sequence[Parameter], where: Mapping[str, int], values: Sequence[Any]) -> Iterator:
    """Conditions under which two arrays, one of them written, may meet in memory."""
    for n, one in enumerate(present):
        for other in present[:n]:
            j, k = where[one.name], where[other.name]
            a, b = values[j], values[k]
            if not (one.writable or other.writable) or not a.size or not b.size:
                continue
            (a_low, a_high), (b_low, b_high) = _reach(a), _reach(b)
            aliases = call.specialisation.aliases
            allowed = (one.name, other.name) in aliases or (other.name, one.name) in aliases
            same = allowed and (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
            yield f"{a_low - b_high} < p{k} - p{j} < {a_high - b_low}" + f" and p{j} != p{k}" * same


def _reach(array: cupy.ndarray) -> tuple[int, int]:
    """The first byte of an array and the one behind its last, from its address."""
    steps = [stride * (size - 1) for stride, size in zip(array.strides, array.shape)]
    return sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps) + array.itemsize
