"""Elements of memory in WGSL: words of 32 bits. Elements of 8 and 16 bits of buffers share one; in arrays of blocks and
threads each has its own."""

from __future__ import annotations

from ...ir.dtypes import INTEGER_BITS

PACKED = {"bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16}
_OF = {"int32": "i32", "int8": "i32", "int16": "i32", "int64": "vec2<u32>", "uint64": "vec2<u32>", "float32": "f32"}
GLOBAL = ("global", "constant", "updated_global")


def declared(dtype: str, memory: str) -> str:
    """The type of what an array in memory consists of; see text/arrays.py, Array.memory."""
    if dtype.startswith("complex"):
        return "f32"
    if memory in GLOBAL and dtype in PACKED:
        return "u32" if memory == "constant" else "atomic<u32>"
    kind = _OF.get(dtype, "u32")
    if memory.startswith("updated"):
        return "atomic<u32>" if kind == "f32" else f"atomic<{kind}>"
    return kind


def load(dtype: str, memory: str, pointer: str, offset: str) -> str:
    if dtype.startswith("complex"):
        return f"vec2<f32>({pointer}[{offset}], {pointer}[{offset} + 1i])"
    if memory in GLOBAL and dtype in PACKED:
        word, shift = place(dtype, offset)
        whole = f"{pointer}[{word}]" if memory == "constant" else f"atomicLoad(&{pointer}[{word}])"
        return unpacked(dtype, f"({whole} >> {shift})")
    element = f"{pointer}[{offset}]"
    if memory.startswith("updated"):
        element = f"atomicLoad(&{element})"
        return f"bitcast<f32>({element})" if dtype == "float32" else element
    return f"({element} != 0u)" if dtype == "bool" else element


def store(dtype: str, memory: str, pointer: str, offset: str, value: str) -> str:
    if dtype.startswith("complex"):
        at = f"{pointer}[{offset}"
        return f"{{ var _pair = {value}; {at}] = _pair.x; {at} + 1i] = _pair.y; }}"
    if memory in GLOBAL and dtype in PACKED:
        # Others may change the bits around these at the same time, and set these to the same value.
        word, shift = place(dtype, offset)
        mask = f"{2 ** PACKED[dtype] - 1}u"
        return (
            f"{{ let _shift = {shift}; let _new = (u32({value}) & {mask}) << _shift; let _word = &{pointer}[{word}]; "
            f"atomicAnd(_word, _new | ~({mask} << _shift)); atomicOr(_word, _new); }}"
        )
    if dtype == "bool":
        value = f"u32({value})"
    if memory.startswith("updated"):
        value = f"bitcast<u32>({value})" if dtype == "float32" else value
        return f"atomicStore(&{pointer}[{offset}], {value})"
    return f"{pointer}[{offset}] = {value}"


def place(dtype: str, offset: str) -> tuple[str, str]:
    """In which word an element of fewer bits lies, and how many bits are before it there."""
    of_word = 32 // PACKED[dtype]
    by = {4: 2, 2: 1}[of_word]
    return f"u32({offset}) >> {by}u", f"((u32({offset}) & {of_word - 1}u) * {PACKED[dtype]}u)"


def unpacked(dtype: str, text: str) -> str:
    """The value of an element of which the lowest bits are there."""
    bits = PACKED[dtype]
    if dtype == "bool":
        return f"(({text} & 255u) != 0u)"
    if dtype.startswith("u"):
        return f"({text} & {2**bits - 1}u)"
    return f"((bitcast<i32>({text}) << {32 - bits}u) >> {32 - bits}u)"


assert PACKED.keys() == {"bool"} | {d for d, bits in INTEGER_BITS.items() if bits < 32}
