"""Calls on CUDA like an earlier one: what was checked and worked out then is not done again.

Most calls of a program differ from an earlier one in nothing but addresses and the values of scalars. For those the
rules of a call (runtime/arguments.py) come down to what depends on addresses: alignment and overlap. Whatever is not
plainly right here goes back to the rules, which have the texts and the last word.
"""

from __future__ import annotations

import re
from _thread import allocate_lock
from ctypes import addressof, c_char, c_size_t, c_void_p
from struct import Struct, error as StructError
from typing import Any, Mapping, NamedTuple, Sequence

import cupy
import numpy as np
from cupy.cuda import driver, get_current_stream, runtime

from ..cache.manifest import KernelRecord
from ..runtime.arguments import Call
from ..signature import Parameter, fill_value
from . import cuda_arrays
from .cuda_launch import ADDRESS, Launch

MOST = 256  # plans of a kernel; a program whose calls differ more gains nothing from them
FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
# A launch's `extra`: a buffer with all arguments, where it is, and where its size is.
BUFFER_POINTER, BUFFER_SIZE = 1, 2


class Plan(NamedTuple):
    """What calls of one form have in common."""

    launches: tuple[tuple[int, Launch], ...]  # the function's handle, and its grid and block
    device: int
    words: list[Any]  # every argument; those that a call brings are filled in
    packed: Struct
    buffer: Any
    extra: Any
    extra_at: int
    lock: Any  # of the buffer
    arrays: tuple[tuple[int, int, int], ...]  # (which value of the call, which word, alignment - 1)
    scalars: tuple[tuple[int, int], ...]  # (which value of the call, which word)
    made: tuple[tuple[int, tuple[int, ...], Any, Any], ...]  # outputs and scratch: (word, shape, dtype, fill)
    filled: tuple[tuple[int, Any], ...]  # given outputs: (which value of the call, fill)
    apart: tuple[tuple[int, int, int, int, int, int, bool], ...]  # see `_apart`
    results: tuple[tuple[bool, int], ...]  # of the call: (was it made, which of these or of the values)


class Again:
    """Serves the calls of one kernel that are like an earlier one; gives NotImplemented for every other."""

    def __init__(self, record: KernelRecord):
        self.names = [p.name for p in record.signature.parameters]
        self.known = {*record.signature.symbols, *record.params}  # numbers that decide more than their own word
        self.plans: dict[tuple, Plan] = {}

    def __call__(self, args: tuple, kwargs: Mapping[str, Any]) -> Any:
        values = (*args, *kwargs.values()) if kwargs else args
        try:
            plan = self.plans.get(self.form(args, kwargs, values))
        except TypeError:  # a value that has no hash
            return NotImplemented
        if plan is None or runtime.getDevice() != plan.device:
            return NotImplemented
        words, pointers = plan.words[:], {}
        for k, word, mask in plan.arrays:
            data = values[k].data
            words[word] = pointers[k] = pointer = data.ptr
            if pointer & mask or data.device_id != plan.device:
                return NotImplemented
        for k, low, high, other, other_low, other_high, may_be_same in plan.apart:
            one, two = pointers[k], pointers[other]
            if one + low < two + other_high and two + other_low < one + high and not (may_be_same and one == two):
                return NotImplemented
        for k, word in plan.scalars:
            words[word] = values[k]
        return self.run(plan, values, words)

    def run(self, plan: Plan, values: Sequence[Any], words: list[Any]) -> Any:
        made = []
        try:
            for word, shape, dtype, fill in plan.made:
                array = cupy.empty(shape, dtype)
                if fill is not None:
                    cuda_arrays.fill(array, fill)
                words[word] = array.data.ptr
                made.append(array)
            with plan.lock:
                plan.packed.pack_into(plan.buffer, 0, *words)  # refuses a scalar that does not fit
                for k, fill in plan.filled:
                    cuda_arrays.fill(values[k], fill)
                stream = get_current_stream().ptr
                for function, (_, grid, block) in plan.launches:
                    driver.launchKernel(function, *grid, *block, 0, stream, 0, plan.extra_at)
        except (OverflowError, StructError, cupy.cuda.memory.OutOfMemoryError):
            return NotImplemented
        results = tuple(made[k] if new else values[k] for new, k in plan.results)
        return None if not results else results[0] if len(results) == 1 else results

    def form(self, args: tuple, kwargs: Mapping[str, Any], values: Sequence[Any]) -> tuple:
        """What a plan is found by: how values are assigned, the layout of arrays, types of scalars, all else whole."""
        form: list[Any] = [len(args), *kwargs]
        for value, name in zip(values, (*self.names[: len(args)], *kwargs) if kwargs else self.names):
            kind = type(value)
            if kind is cupy.ndarray:
                form += value.dtype, value.shape, value.strides
            elif (kind is float or kind is int or isinstance(value, np.generic)) and name not in self.known:
                form.append(kind)
            else:
                form += kind, value
        return tuple(form)

    def remember(
        self, call: Call, args: tuple, kwargs: Mapping[str, Any], meta: Mapping[str, Any], device: int,
        launches: Sequence[tuple[int, Launch]], words: Sequence[Any],
    ) -> None:  # fmt: skip
        """Keep what a call that the rules have passed worked out. Calls that are not plain are not kept.

        launches: the handles of functions with their grids and blocks; words: the arguments of every launch, which
        have their places from `meta`.
        """
        values = (*args, *kwargs.values())
        names = [*self.names[: len(args)], *kwargs]
        where = {name: k for k, (name, value) in enumerate(zip(names, values)) if value is not None}
        for item in meta["launches"]:
            for text in item["grid"]["counts"]:
                self.known.update(re.findall(r"[A-Za-z_]\w*", text or ""))
        plan = _plan(call, where, values, meta, device, launches, words)
        if plan is None:
            return
        if len(self.plans) >= MOST:
            self.plans.clear()
        try:
            self.plans[self.form(args, kwargs, values)] = plan
        except TypeError:
            pass  # a value without a hash: the rules serve such calls


def _plan(
    call: Call, where: Mapping[str, int], values: Sequence[Any], meta: Mapping[str, Any], device: int,
    launches: Sequence[tuple[int, Launch]], words: Sequence[Any],
) -> Plan | None:  # fmt: skip
    """`where`: which of the values of a call a parameter has. None for calls that only the rules serve."""
    parameters = {p.name: p for p in call.specialisation.parameters}
    present = [p for p in parameters.values() if _lies(p) and p.name in where]
    if any(type(values[where[p.name]]) is not cupy.ndarray for p in present):
        return None
    formats, arrays, scalars, made, made_at = "", [], [], [], {}
    for kind, name, *rest in meta["arguments"]:
        at = len(formats)
        formats += FORMATS[parameters[name].dtype] if kind == "scalar" else "q" * _words(kind, rest)
        if kind == "array":
            at += ADDRESS
        if kind == "scalar":
            if rest or not isinstance(values[where[name]], (float, int, np.number)):
                return None
            scalars.append((where[name], at))
        elif kind == "scratch":
            made.append((at, (meta["scratch"][name],), np.dtype("uint8"), None))
        elif kind in ("data", "array") and name in call.missing:
            p = parameters[name]
            made_at[name] = len(made)
            fill = None if p.fill is None else fill_value(p.fill, p.dtype)
            made.append((at, call.missing[name], np.dtype(p.dtype), fill))
        elif kind in ("data", "array"):
            arrays.append((where[name], at, values[where[name]].dtype.alignment - 1))
    packed = Struct(_aligned(formats))
    buffer, size = (c_char * max(packed.size, 1))(), c_size_t(packed.size)
    extra = (c_void_p * 5)(BUFFER_POINTER, addressof(buffer), BUFFER_SIZE, addressof(size), 0)
    outputs = [p for p in parameters.values() if p.role == "out"]
    return Plan(
        tuple(launches), device, list(words), packed, buffer, (extra, size), addressof(extra), allocate_lock(),
        tuple(arrays), tuple(scalars), tuple(made),
        tuple((where[p.name], fill_value(p.fill, p.dtype)) for p in outputs if p.fill is not None and p.name in where),
        tuple(_apart(call, present, where, values)),
        tuple((True, made_at[p.name]) if p.name in call.missing else (False, where[p.name]) for p in outputs),
    )  # fmt: skip


def _lies(p: Parameter) -> bool:
    """Whether a parameter is memory."""
    return p.is_array or p.role == "out"


def _words(kind: str, rest: Sequence[int]) -> int:
    """How many words of 64 bits an argument that is no scalar has: see `array_words` for those of raw kernels."""
    return ADDRESS + 1 + 2 * rest[0] if kind == "array" else 1


def _aligned(formats: str) -> str:
    """A format with each word where C has it. Not the `@` of struct, which makes infinities of floats too large."""
    result, size = "<", 0
    for one in formats:
        item = Struct(f"<{one}").size
        gap = -size % item
        result += "x" * gap + one
        size += gap + item
    return result


def _apart(call: Call, present: Sequence[Parameter], where: Mapping[str, int], values: Sequence[Any]) -> Any:
    """Pairs of arrays that may not meet in memory: (value, its first byte, the byte behind its last, both from its
    address; the same of the other; whether the two may be one and the same view)."""
    for n, one in enumerate(present):
        for other in present[:n]:
            a, b = values[where[one.name]], values[where[other.name]]
            if not (one.writable or other.writable) or not a.size or not b.size:
                continue
            aliases = call.specialisation.aliases
            allowed = (one.name, other.name) in aliases or (other.name, one.name) in aliases
            same = allowed and (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
            yield where[one.name], *_reach(a), where[other.name], *_reach(b), same


def _reach(array: cupy.ndarray) -> tuple[int, int]:
    steps = [stride * (size - 1) for stride, size in zip(array.strides, array.shape)]
    return sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps) + array.itemsize
