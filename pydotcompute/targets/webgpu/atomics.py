"""Atomic updates in WGSL: its own for integers of 32 bits, compare-and-swap for the rest, on the word around elements
of 8 and 16 bits. Each gives the value before. A function belongs to one array: there are no pointers to elements."""

from __future__ import annotations

from ...errors import DeclarationError
from ..text.arrays import Array
from ..text.scalars import Scalars
from .memory import GLOBAL, PACKED, place, store, unpacked


def update(s: Scalars, op: str, array: Array, offset: str, value: str) -> str:
    """The update of an element for all threads to see: an expression, the value before. op: add_float16 is that of
    elements which are stored in 16 bits, of a value that is float32."""
    return f"{_function(s, op, array)}({offset}, {value})"


def scatter(s: Scalars, array: Array, offset: str, value: str) -> str:
    """A store at which threads may meet: of the values one stays whole."""
    if array.dtype.startswith("complex"):
        raise DeclarationError(f"scatter of {array.dtype}: WGSL cannot keep both parts of one value")
    if array.memory in GLOBAL and array.dtype in PACKED:
        return f"{_function(s, 'set', array)}({offset}, {value})"
    return store(array.dtype, array.memory, array.pointer, offset, value)


def _function(s: Scalars, op: str, array: Array) -> str:
    key = f"{op} {array.pointer}", array.dtype
    if key not in s.needed:
        made = s.names.fresh(f"{op}_in_{array.pointer}")
        text = _written(s, op, array, made)
        s.needed[key] = made
        s.texts.append(text)
    return s.needed[key]


def _combined(s: Scalars, op: str, dtype: str, x: str, y: str) -> str:
    if op == "set":
        return y
    return s.binary("+", dtype, x, y) if op == "add" else s.function(op, dtype, dtype, [x, y])


def _written(s: Scalars, op: str, array: Array, name: str) -> list[str]:
    op, _, stored = op.partition("_")
    dtype, pointer, kind = array.dtype, array.pointer, s.type("float32" if stored else array.dtype)

    def value_of(element: str) -> str:
        if not stored:
            return element
        return s.call(f"of_{stored}_bits", "int32", s.convert(element, dtype, "int32"))

    new = _combined(s, op, "float32" if stored else dtype, "old", "value")
    if stored:
        new = s.convert(s.call(f"{stored}_bits", "float32", new), "int32", dtype)
    head = f"fn {name}(offset: i32, value: {kind}) -> {kind} {{"
    if array.space == "private":  # one thread's own
        old = value_of(s.dialect.load(dtype, array.memory, pointer, "offset"))
        kept = s.dialect.store(dtype, array.memory, pointer, "offset", new)
        return [head, f"    let old = {old};", f"    {kept};", "    return old;", "}"]
    if dtype in ("int64", "uint64"):
        raise DeclarationError(f"atomic updates of {dtype}, which WGSL does not have", hint="it has those of 32 bits")
    if array.memory in GLOBAL and dtype in PACKED:
        word, shift = place(dtype, "offset")
        mask = 2 ** PACKED[dtype] - 1
        return _swapped(
            head, kind, f"{pointer}[{word}]", [f"    let shift = {shift};"],
            value_of(unpacked(dtype, "(seen >> shift)")),
            f"(seen & ~({mask}u << shift)) | ((u32({new}) & {mask}u) << shift)",
        )  # fmt: skip
    if dtype in ("int32", "uint32"):
        return [head, f"    return atomic{op.title()}(&{pointer}[offset], value);", "}"]
    if dtype == "float32":
        return _swapped(head, kind, f"{pointer}[offset]", [], "bitcast<f32>(seen)", f"bitcast<u32>({new})")
    return _swapped(head, kind, f"{pointer}[offset]", [], value_of("seen"), new)


def _swapped(head: str, kind: str, cell: str, before: list[str], old: str, new: str) -> list[str]:
    """Until nobody came between the look and the swap."""
    return [
        head, *before, "    loop {", f"        let seen = atomicLoad(&{cell});", f"        let old: {kind} = {old};",
        f"        let swapped = atomicCompareExchangeWeak(&{cell}, seen, {new});",
        "        if (swapped.exchanged) {", "            return old;", "        }", "    }",
        "    return value;", "}",
    ]  # fmt: skip
