"""Filling and copying arrays on a device, without a compiler: CuPy's own `fill`, `copy` and assignments make one.

Memory that lies together goes through the runtime's memset and memcpy; all else through two small kernels of ours, in
PTX that is written out here for as many dimensions as an array has. All work is put on the current stream of the
current device, where the arrays are to lie. CuPy's own do where the vendor has no such text (platform.py).
"""

from __future__ import annotations

from functools import cache
from typing import Any, Sequence

import cupy
import numpy as np
from cupy.cuda import driver, function, get_current_stream, runtime

from .platform import PLATFORM

WIDEST = 16  # bytes that a thread moves at once
THREADS, MOST_BLOCKS = 256, 2**20
TO_DEVICE_FROM_DEVICE = 3  # cudaMemcpyDeviceToDevice

Level = tuple[int, ...]  # of some dimensions: how many elements, and a stride in bytes for each array


def fill(array: cupy.ndarray, value: Any) -> None:
    """Set every element to a value, whose bytes stay as they are (-0.0, a NaN's)."""
    if not array.size:
        return
    pattern = np.asarray(value).astype(array.dtype).tobytes()
    if PLATFORM.compiles_copies and (len(pattern) > 8 or len(set(pattern)) > 1 or not array.flags.c_contiguous):
        if len(pattern) <= 8:
            array = array.view(f"u{len(pattern)}")
        cupy.copyto(array, cupy.broadcast_to(cupy.array(np.frombuffer(pattern, array.dtype)), array.shape))
        return
    if array.flags.c_contiguous and len(set(pattern)) == 1:
        stream = get_current_stream().ptr
        runtime.memsetAsync(array.data.ptr, pattern[0], array.size * len(pattern), stream)
        return
    found, address = levels(array.shape, array.strides), int(array.data.ptr)
    unit = _unit(len(pattern), address, *(strides for _, *strides in found))
    if unit == len(pattern):
        wide = _unit(WIDEST, address, (found[0][0] * unit,), *(strides for _, *strides in found[1:])) if found else unit
        if found and found[0][1] == unit < wide:
            pattern, found, unit = pattern * (wide // unit), _widened(found, unit, wide), wide
    for at in range(0, len(pattern), unit):  # more than one of elements that are wider than they are aligned
        words = np.frombuffer(pattern[at : at + unit].ljust(WIDEST, b"\0"), np.int64)
        _launch("fill", unit, found, address + at, *(int(w) for w in words))


def copy(target: cupy.ndarray, source: cupy.ndarray) -> None:
    """Copy elements between arrays of one shape and dtype that share no memory; the source may be broadcast."""
    if not target.size:
        return
    if PLATFORM.compiles_copies:
        cupy.copyto(target, source)
        return
    found = levels((*target.shape, target.itemsize), (*target.strides, 1), (*source.strides, 1))
    places = int(target.data.ptr), int(source.data.ptr)
    together = bool(found) and found[0][1:] == (1, 1)
    if not found or together and len(found) == 1:
        size = found[0][0] if found else 1
        runtime.memcpyAsync(*places, size, TO_DEVICE_FROM_DEVICE, get_current_stream().ptr)
        return
    unit = 1
    if together:
        unit = _unit(WIDEST, *places, (found[0][0],), *(strides for _, *strides in found[1:]))
        found = _widened(found, 1, unit)
    _launch("copy", unit, found, *places)


def contiguous(array: cupy.ndarray) -> cupy.ndarray:
    """The array itself if it is C-contiguous, else a copy that is."""
    if array.flags.c_contiguous:
        return array
    result = cupy.empty(array.shape, array.dtype)
    copy(result, array)
    return result


def levels(shape: Sequence[int], *strides: Sequence[int]) -> list[Level]:
    """(size, stride of each array) of the dimensions, innermost first: without those of one element, and with
    neighbours made one where every array's outer stride steps over the inner ones."""
    found: list[Level] = []
    for size, *steps in reversed(list(zip(shape, *strides))):
        if size == 1:
            continue
        if found and all(step == inner * found[-1][0] for step, inner in zip(steps, found[-1][1:])):
            found[-1] = (found[-1][0] * size, *found[-1][1:])
        else:
            found.append((int(size), *map(int, steps)))
    return found


def _unit(most: int, *numbers: Any) -> int:
    """The largest power of two, at most `most`, that divides all numbers and lists of numbers."""
    every = [n for one in numbers for n in (one if isinstance(one, (list, tuple)) else (one,))]
    while most > 1 and any(n % most for n in every):
        most //= 2
    return most


def _widened(found: list[Level], unit: int, wide: int) -> list[Level]:
    """The same bytes, in elements that are wider."""
    size = found[0][0] * unit // wide
    return ([(size, *[wide] * (len(found[0]) - 1))] if size > 1 else []) + found[1:]


def _launch(kind: str, unit: int, found: Sequence[Level], *words: int) -> None:
    count = 1
    for size, *_ in found:
        count *= size
    run = _function(driver.ctxGetCurrent(), kind, unit, len(found))
    blocks = min(-(-count // THREADS), MOST_BLOCKS)
    run((blocks,), (THREADS,), (*words, count, *(n for level in found for n in level)))


@cache
def _function(context: int, kind: str, unit: int, depth: int) -> Any:
    """A kernel, loaded in the current context."""
    capability = cupy.cuda.runtime.getDeviceProperties(runtime.getDevice())
    module = function.Module()
    module.load(ptx(kind, unit, depth, (capability["major"], capability["minor"])).encode() + b"\0")
    return module.get_function(kind)


def ptx(kind: str, unit: int, depth: int, capability: tuple[int, int] = (8, 0)) -> str:
    """The text of a kernel that fills or copies elements of `unit` bytes in `depth` dimensions.

    Its arguments are words of 64 bits: of "fill" an address and both halves of the element, of "copy" the addresses
    of target and source; then the count of elements and, for each dimension, innermost first, its size and strides.
    """
    # The oldest releases of PTX and architectures that drivers for the device are sure to read.
    head = ".version 7.0\n.target sm_80" if capability >= (8, 0) else ".version 5.0\n.target sm_50"
    arrays = ["t", "s"] if kind == "copy" else ["t"]
    first = ["t", "s"] if kind == "copy" else ["t", "low", "high"]
    names = [*first, "count", *(f"{n}{k}" for k in range(depth) for n in ("size", *(f"{a}step" for a in arrays)))]
    vector, half = (".v2", 8) if unit == 16 else ("", unit)
    # A register for a byte is one of 16 bits.
    value = {1: "%h0", 2: "%h0", 4: "%w0", 8: "%low", 16: "{%low, %high}"}[unit]
    made = {1: "cvt.u16.u64 %h0, %low;", 2: "cvt.u16.u64 %h0, %low;", 4: "cvt.u32.u64 %w0, %low;"}.get(unit, "")
    lines = [f"ld.param.u64 %{name}, [p_{name}];" for name in names]
    lines += [made] if kind == "fill" and made else []
    lines += [
        "mov.u32 %a, %ctaid.x;", "mov.u32 %b, %ntid.x;", "mov.u32 %c, %tid.x;", "mov.u32 %d, %nctaid.x;",
        "mul.wide.u32 %index, %a, %b;", "cvt.u64.u32 %rest, %c;", "add.u64 %index, %index, %rest;",
        "mul.wide.u32 %stride, %d, %b;",
        "NEXT:", "setp.ge.u64 %done, %index, %count;", "@%done bra END;", "mov.u64 %rest, %index;",
        *(f"mov.u64 %at_{a}, %{a};" for a in arrays),
    ]  # fmt: skip
    for k in range(depth):
        if k + 1 < depth:
            lines += [f"div.u64 %quotient, %rest, %size{k};", f"mul.lo.u64 %whole, %quotient, %size{k};"]
            lines += ["sub.u64 %rest, %rest, %whole;"]
        for a in arrays:
            lines += [f"mul.lo.u64 %whole, %rest, %{a}step{k};", f"add.u64 %at_{a}, %at_{a}, %whole;"]
        lines += ["mov.u64 %rest, %quotient;"] if k + 1 < depth else []
    lines += [f"ld.global{vector}.u{8 * half} {value}, [%at_s];"] if kind == "copy" else []
    lines += [
        f"st.global{vector}.u{8 * half} [%at_t], {value};", "add.u64 %index, %index, %stride;", "bra NEXT;",
        "END:", "ret;",
    ]  # fmt: skip
    wide = [*dict.fromkeys([*names, "low", "high"]), *(f"at_{a}" for a in arrays)]
    wide += ["index", "stride", "rest", "quotient", "whole"]
    return "\n".join([
        head, ".address_size 64", f".visible .entry {kind}(", ",\n".join(f".param .u64 p_{n}" for n in names), ")", "{",
        ".reg .pred %done;", ".reg .b16 %h0;", ".reg .b32 %w0, %a, %b, %c, %d;",
        f".reg .b64 {', '.join(f'%{n}' for n in wide)};", *lines, "}", "",
    ])  # fmt: skip
