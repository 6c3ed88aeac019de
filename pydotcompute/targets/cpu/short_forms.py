"""What x86-64 does in fewer instructions than LLVM picks, or in ones that the next have to wait less for.

Minima and maxima of floats: the processors' own returns its second operand where one is NaN or both are zeros. LLVM
mends that by the sign of one operand and a comparison, through masks or jumps. Here it is taken twice, in both orders:
the results are of the same bits but for NaN and zeros, where a minimum is what is set in either, a maximum what is but
for its sign, which has to be set in both.

Choices between two floats: LLVM jumps, which costs most where nobody foretells the way; with AVX-512 it has them wait
for a mask, which it often makes of a flag by way of a register of integers. The older instructions do without either.

Sums of products of int32, of which one factor was of 16 bits at most: LLVM adds neighbours first, for an instruction
that multiplies such pairs, and finds only then that the other factor is none for it (X86PartialReduction.cpp).

Floats of what an int64 has in its low 31 bits: with AVX-512 LLVM converts the int64. Of an int32 it sees that the sums
and products before need no more bits, and that two steps of a generator of random numbers are one.
"""

from __future__ import annotations

import re

PREFIX = "short."
# One that is told of NaN or of zeros, or has a constant, takes LLVM two or three instructions.
_EXTREME = re.compile(
    r"call ((?:contract |reassoc |arcp |afn |ninf )*)(<(\d+) x (?:float|double)>|float|double)"
    r" @llvm\.(minimum|maximum)\.(\w+)\(\2 (%[^,]+), \2 (%[^,)]+)\)"
)
FUNCTION = re.compile(r"^define .*?^}", re.M | re.S)
_COMPARISON = re.compile(r"^ *(%\S+) = fcmp (?:\w+ )*(\w+) (float|double) (\S+), ([^\s,]+)", re.M)
_CHOICE = re.compile(r"= select (?:\w+ )*i1 (%\S+), (float|double) (\S+), \2 ([^\s,]+)")
_EXTENDED = re.compile(r"^ *(%[\w.]+) = [sz]ext (?:nneg )?<\d+ x i(?:8|16)> ", re.M)
_ADDED = re.compile(r"^ *(%[\w.]+) = (?:add|sub) (?:n[us]w )*<\d+ x i32> (%[\w.]+), (%[\w.]+)", re.M)
_PRODUCT = re.compile(r"^( *)%([\w.]+)( = mul (?:n[us]w )*(<\d+ x i32>)) (%[\w.]+), (%[\w.]+)", re.M)
_MASKED = re.compile(r"^ *(%[\w.]+) = and i64 %[\w.]+, (\d+)\b", re.M)
_TO_FLOAT = re.compile(r"^( *)%([\w.]+) = (?:uitofp nneg|sitofp) i64 (%[\w.]+) to ", re.M)
# Numbers of the instruction's, for the operands as they are; those that want them swapped.
_PREDICATES = {"oeq": 0, "olt": 1, "ole": 2, "uno": 3, "une": 4, "uge": 5, "ugt": 6, "ord": 7}
_INSTRUCTIONS = {"float": ("sse.cmp.ps", "sse41.blendvps"), "double": ("sse2.cmp.pd", "sse41.blendvpd")}
_SWAPPED = {"ogt": "olt", "oge": "ole", "ule": "uge", "ult": "ugt"}


def in_short_forms(text: str, masks: bool, blends: bool) -> str:
    """LLVM IR that is ready for its code to be emitted, with calls of functions to inline instead of what LLVM would
    take more instructions for. masks: whether it is for AVX-512; blends: for SSE 4.1 at least."""
    called: dict[str, str] = {}

    def extreme(found: re.Match[str]) -> str:
        flags, t, lanes, which, suffix, x, y = found.groups()
        name = f"{PREFIX}{which}.{suffix}"
        called.update(_extreme(name, t, int(lanes or 0), which == "minimum", masks))
        return f"call {flags}{t} @{name}({t} {x}, {t} {y})"

    def choices(function: re.Match[str]) -> str:
        compared = {name: found for name, *found in _COMPARISON.findall(function[0])}

        def choice(found: re.Match[str]) -> str:
            condition, t, a, b = found.groups()
            predicate, of, x, y = compared.get(condition, ("", "", "", ""))
            if of == t and {a, b} == {x, y}:  # an instruction of its own
                return found[0]
            if predicate in _SWAPPED:
                predicate, x, y = _SWAPPED[predicate], y, x
            if of == t and predicate in _PREDICATES:
                name = f"{PREFIX}{predicate}.{t}"
                called.update(_choice(name, t, _PREDICATES[predicate]))
                return f"= call {t} @{name}({', '.join(f'{t} {value}' for value in (x, y, a, b))})"
            if masks:
                return found[0]
            called.update(_choice_by_bit(f"{PREFIX}{t}", t))
            return f"= call {t} @{PREFIX}{t}(i1 {condition}, {t} {a}, {t} {b})"

        return _CHOICE.sub(choice, function[0])

    def hidden(function: re.Match[str]) -> str:
        return _without_pairs(_of_low_bits(function[0]) if masks else function[0])

    text = FUNCTION.sub(hidden, _EXTREME.sub(extreme, text))
    return (FUNCTION.sub(choices, text) if blends else text) + "".join(called.values())


def _without_pairs(function: str) -> str:
    """The function with such narrow factors hidden from LLVM where they stand, which costs no instruction."""
    narrow = set(_EXTENDED.findall(function))
    narrow |= {name for name, *of in _ADDED.findall(function) if narrow.issuperset(of)}

    def product(found: re.Match[str]) -> str:
        indent, name, multiplied, t, *factors = found.groups()
        if len(narrow.intersection(factors)) != 1:
            return found[0]
        (hidden,) = narrow.intersection(factors)
        a, b = (f"%hidden.{name}" if factor == hidden else factor for factor in factors)
        return f"{indent}%hidden.{name} = freeze {t} {hidden}\n{indent}%{name}{multiplied} {a}, {b}"

    return _PRODUCT.sub(product, function)


def _of_low_bits(function: str) -> str:
    """The function with conversions of int32 where no more bits are set."""
    low = {name for name, mask in _MASKED.findall(function) if int(mask) < 1 << 31}

    def conversion(found: re.Match[str]) -> str:
        indent, name, value = found.groups()
        if value not in low:
            return found[0]
        return f"{indent}%low.{name} = trunc i64 {value} to i32\n{indent}%{name} = sitofp i32 %low.{name} to "

    return _TO_FLOAT.sub(conversion, function)


def _extreme(name: str, t: str, lanes: int, least: bool, masks: bool) -> dict[str, str]:
    """The text of what the definition is made of, by name."""
    bits = 64 if "double" in t else 32
    width = bits * lanes or 128
    # scalars are combined as the first of a vector: as integers they would leave the registers of floats
    held = t if lanes else _vector(t)
    word, truth = re.sub("float|double", f"i{bits}", held), re.sub("float|double", "i1", held)
    order = "olt" if least else "ogt"
    lines = [f"%x.before = fcmp {order} {t} %x, %y", f"%y.before = fcmp {order} {t} %y, %x"]
    for value, other in ("xy", "yx"):
        lines.append(f"%{value}.first = select {truth if lanes else 'i1'} %{value}.before, {t} %{value}, {t} %{other}")
    names = ["x.first", "y.first", "x", "y"]
    if not lanes:
        lines += [_in_lane(t, value) for value in names]
        names = [f"{value}.lane" for value in names]
    texts = {}
    lines += [f"%{which} = bitcast {held} %{value} to {word}" for which, value in zip(("one", "other"), names)]
    if least:
        lines.append(f"%bits = or {word} %one, %other")
    elif masks and width in (128, 256, 512):  # what two of three are: where the third is set, what is set in either
        majority = f"llvm.x86.avx512.pternlog.{'d' if bits == 32 else 'q'}.{width}"
        texts[majority] = f"declare {word} @{majority}({word}, {word}, {word}, i32)\n"
        third = f"{word} splat (i{bits} {2 ** (bits - 1) - 1})"
        lines.append(f"%bits = call {word} @{majority}({word} %one, {word} %other, {third}, i32 232)")
    else:
        lines += [
            f"%nan = fcmp uno {held} %{names[2]}, %{names[3]}",
            f"%ones = sext {truth} %nan to {word}",
            f"%both = and {word} %one, %other",
            f"%bits = or {word} %both, %ones",
        ]
    lines.append(f"%combined = bitcast {word} %bits to {held}")
    if not lanes:
        lines.append(_of_lane(t, "result", "combined"))
    lines.append(f"ret {t} %{'combined' if lanes else 'result'}")
    return {**texts, name: to_inline(f"{t} @{name}({t} %x, {t} %y)", lines)}


def _choice(name: str, t: str, predicate: int) -> dict[str, str]:
    held, compare = _vector(t), f"llvm.x86.{_INSTRUCTIONS[t][0]}"
    mask = [
        *(_in_lane(t, value) for value in "xy"),
        f"%mask = call {held} @{compare}({held} %x.lane, {held} %y.lane, i8 {predicate})",
    ]
    declared = f"declare {held} @{compare}({held}, {held}, i8)\n"
    return {compare: declared, **_blend(name, t, f"{t} %x, {t} %y", mask)}


def _choice_by_bit(name: str, t: str) -> dict[str, str]:
    held, word = _vector(t), "i32" if t == "float" else "i64"
    mask = [
        f"%word = sext i1 %chooses to {word}",
        f"%words = insertelement {held.replace(t, word)} poison, {word} %word, i64 0",
        f"%mask = bitcast {held.replace(t, word)} %words to {held}",
    ]
    return _blend(name, t, "i1 %chooses", mask)


def _blend(name: str, t: str, condition: str, mask: list[str]) -> dict[str, str]:
    """The choice of a or b by what becomes %mask. condition: the parameters that it is made of."""
    held, blend = _vector(t), f"llvm.x86.{_INSTRUCTIONS[t][1]}"
    lines = [
        *mask,
        *(_in_lane(t, value) for value in "ab"),
        f"%chosen = call {held} @{blend}({held} %b.lane, {held} %a.lane, {held} %mask)",
        _of_lane(t, "result", "chosen"),
        f"ret {t} %result",
    ]
    return {
        blend: f"declare {held} @{blend}({held}, {held}, {held})\n",
        name: to_inline(f"{t} @{name}({condition}, {t} %a, {t} %b)", lines),
    }


def _vector(t: str) -> str:
    return f"<{4 if t == 'float' else 2} x {t}>"


def _in_lane(t: str, value: str) -> str:
    return f"%{value}.lane = insertelement {_vector(t)} poison, {t} %{value}, i64 0"


def _of_lane(t: str, name: str, vector: str) -> str:
    return f"%{name} = extractelement {_vector(t)} %{vector}, i64 0"


def to_inline(head: str, lines: list[str]) -> str:
    """The text of a function of LLVM IR that goes into the place of every call."""
    return "\n".join((f"\ndefine internal {head} alwaysinline {{", *lines, "}\n"))
