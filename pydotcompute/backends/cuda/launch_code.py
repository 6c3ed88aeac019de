"""A function for all calls on CUDA of one form: straight-line Python that looks at addresses and launches.

It is written out, not interpreted, because a launch from Python costs about what twenty lines of Python do.
"""

from __future__ import annotations

from ctypes import addressof, c_char, c_size_t, c_void_p
from functools import partial
from struct import Struct, error as StructError
from typing import Any, Callable, Iterator, Mapping, Sequence

import cupy
import numpy as np
from cupy.cuda import driver, get_current_stream

from ...artifact.dtypes import STORED
from ...artifact.launch import READY
from ...artifact.signature import Parameter, fill_value
from ...calls.arguments import Call
from ...calls.scalars import convert
from ..launch import ADDRESS, FAULT_BYTES, OF_CALL, Launch
from . import arrays as cuda_arrays, fault_slot, streams as cuda_streams
from .context import CONTEXT, LOST
from .platform import PLATFORM
from .products import Product, product

CachedLaunch = Callable[..., Any]  # of the values of a call; NotImplemented where the rules are to be asked

FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "f", "bfloat16": "f", "float32": "f", "float64": "d",
}  # fmt: skip
# A launch's `extra`: a buffer with all arguments, where it is, and where its size is.
BUFFER_POINTER, BUFFER_SIZE = 1, 2
# What the rules can do better with: they enter the device's context; and say whose fault an earlier one's is.
FOR_THE_RULES = CONTEXT | LOST


def launch_code(
    call: Call, names: Sequence[str], values: Sequence[Any], meta: Mapping[str, Any], backend: Any,
    launches: Sequence[tuple[int, Launch]], words: Sequence[Any], vendor: Callable | None = None,
    of_tensors: bool = False,
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
    known: dict[str, Any] = {"NotImplemented": NotImplemented}  # what the function sees

    def name(value: Any, base: str) -> str:
        known[f"{base}{len(known)}"] = value
        return f"{base}{len(known) - 1}"

    if not all(isinstance(size, int) for size in meta["scratch"]):
        return None  # it may follow from scalars, which differ from call to call
    formats, texts, filled, made, scratch = "", [], [], [], []
    for kind, which, *rest in meta["arguments"]:
        if kind == "scalar":
            if rest or not isinstance(values[where[which]], (float, int, np.number)):
                return None
            dtype, text = parameters[which].dtype, f"v{where[which]}"
            formats += FORMATS[dtype]
            if dtype in STORED:
                text = f"{name(partial(convert, dtype=dtype, who=which), 'rounded')}({text})"
            texts.append(text)
            continue
        count = ADDRESS + 1 + 2 * rest[0] if kind == "array" else 1
        formats += "q" * count
        texts += [""] * count
        at = len(texts) - count + (ADDRESS if kind == "array" else 0)
        if kind == "scratch":
            made.append(f"s{which} = {name(cupy.empty, 'empty')}({meta['scratch'][which]}, 'uint8')")
            texts[at] = f"s{which}.data.ptr"
            scratch.append(f"s{which}")
        elif (kind, which) == ("fault", OF_CALL):
            made.append(f"told = {name(cupy.empty, 'empty')}({FAULT_BYTES}, 'uint8')")
            filled.append(f"{name(cuda_arrays.fill, 'fill')}(told, 0)")
            texts[at] = "told.data.ptr"
            scratch.append("told")
        elif kind in ("data", "array") and which in call.missing:
            texts[at] = f"{which}_made.data.ptr"
        elif kind in ("data", "array"):
            texts[at] = f"p{where[which]}"
    for p in parameters.values():
        if p.name in call.missing:
            made.append(f"{p.name}_made = {name(cupy.empty, 'empty')}({call.missing[p.name]}, {p.dtype!r})")
            scratch += [f"{p.name}_made"] if p.role == "temp" else []
        if not p.is_input and p.fill is not None:
            value = name(fill_value(p.fill, p.dtype), "value")
            filled.append(f"{name(cuda_arrays.fill, 'fill')}({_output(p, call, where)}, {value})")
    offsets, size = _offsets(formats)
    first_words = (c_char * max(size, 1))()
    packing = []
    for first, last in _runs(texts):
        run = _aligned(formats, offsets, first, last)
        if texts[first]:
            packing.append(f"{name(run.pack_into, 'pack')}(buffer, {offsets[first]}, {', '.join(texts[first:last])})")
        else:
            run.pack_into(first_words, offsets[first], *words[first:last])
    free: list[tuple] = []  # buffers that no call is using
    known |= {
        "take": free.pop, "give": free.append, "made": lambda: _buffer(first_words, size),
        "launch": driver.launchKernel, "stream": get_current_stream, "captures": cuda_streams.captures,
        "keep": backend.keep_captured, "failed": (driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError),
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
    outputs = [_output(p, call, where) for p in parameters.values() if p.role == "out"]
    if vendor is not None:
        inputs = [where[p.name] for p in parameters.values() if p.role == "in"]
        (out,) = outputs
        doing = [f"{name(vendor, 'vendor')}({', '.join(f'v{k}' for k in inputs)}, out={out})"]
        if multiply:
            to = f"{out}.data.ptr" if call.missing else f"p{out[1:]}"
            doing = [f"{name(multiply, 'multiply')}({', '.join(f'p{k}' for k in inputs)}, {to})"]
    else:
        doing = [
            "current = stream().ptr",
            # A buffer of its own for each call under way: of other threads, and of finalisers that run inside this one.
            "try:",
            "    used = take()",
            "except IndexError:",
            "    used = made()",
            "buffer, extra, _ = used",
            *packing,  # refuses a scalar that does not fit
            *filled,
            *(
                f"launch({function}, {', '.join(map(str, (*one.grid, *one.block)))}, 0, current, 0, extra)"
                for function, one in launches
            ),  # the driver copies the buffer before a launch returns
            "give(used)",
            *([f"if captures(current): keep(({', '.join(scratch)},))"] if scratch else []),
        ]
    lines = [
        f"def run({', '.join(f'v{k}' for k in range(len(values)))}):",
        *(f"    p{k} = v{k}.data_ptr()" if of_tensors else f"    m{k} = v{k}.data; p{k} = m{k}.ptr" for k in arrays),
        f"    if {' or '.join(wrong)}:",
        "        return NotImplemented",
        "    try:",
        *(f"        {line}" for line in (*made, *doing)),
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


def _buffer(words: Any, size: int) -> tuple:
    """A buffer for the arguments of a launch, with those that never change; where the driver is told of it; what has
    to live as long."""
    buffer, length = type(words).from_buffer_copy(words), c_size_t(size)
    extra = (c_void_p * 5)(BUFFER_POINTER, addressof(buffer), BUFFER_SIZE, addressof(length), PLATFORM.end)
    return buffer, addressof(extra), (extra, length)


def _product(call: Call, where: Mapping[str, int], values: Sequence[Any], backend: Any) -> Product | None:
    """What serves a call of a vendor's function, which has the parameters of `matmul`, by addresses alone."""
    *inputs, out = call.specialisation.parameters
    if call.specialisation.aliases or out.name in where and not values[where[out.name]].flags.c_contiguous:
        return None  # CuPy multiplies into memory of its own
    a, b = (values[where[p.name]] for p in inputs)
    return product(a, b, backend.compute_capability)


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


def _offsets(formats: str) -> tuple[list[int], int]:
    """Where each word of a launch's arguments lies, as C has it, and the size of all."""
    offsets, size = [], 0
    for one in formats:
        item = Struct(f"<{one}").size
        offsets.append(size := -(-size // item) * item)
        size += item
    return offsets, size


def _runs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, last) of neighbours that either all change from call to call, or all do not."""
    first = 0
    for k in range(1, len(texts) + 1):
        if k == len(texts) or bool(texts[k]) != bool(texts[first]):
            yield first, k
            first = k


def _aligned(formats: str, offsets: Sequence[int], first: int, last: int) -> Struct:
    """The words of a run with the gaps between them. Not the `@` of struct, which makes infinities of large floats."""
    result = "<"
    for k in range(first, last):
        result += formats[k]
        if k + 1 < last:
            result += "x" * (offsets[k + 1] - offsets[k] - Struct(f"<{formats[k]}").size)
    return Struct(result)
