"""The remainder of floats, exact, for languages of C's kind whose own is not: by the integers of both, a bit of the
quotient at a time."""

from __future__ import annotations

from .scalars import Scalars

_WORDS = {"float32": ("uint32", "int32", 32, 23), "float64": ("uint64", "int64", 64, 52)}  # bits, the fraction's


def fmod(s: Scalars, dtype: str, name: str) -> list[str]:
    """An entry of a library."""
    unsigned, signed, bits, fraction = _WORDS[dtype]
    t, word = s.type(dtype), s.type(unsigned)
    sign, infinity, one = (
        s.constant(n, unsigned) for n in (1 << bits - 1, (1 << bits - 1) - (1 << fraction), 1 << fraction)
    )  # fmt: skip
    nan, unused = s.constant(float("nan"), dtype), bits - 1 - fraction

    def of_float(x: str) -> str:
        return s.convert(s.call("bits", dtype, x), signed, unsigned)

    def as_float(text: str) -> str:
        return s.call("of_bits", dtype, s.convert(f"({text})", unsigned, signed))

    def zeros(x: str) -> str:
        return f"{s.convert(s.call('clz', unsigned, x), unsigned, 'int32')} - {unused}"

    i = s.type("int32")
    normal = [  # with the leading bit of a denormal where that of a number is
        [f"{i} {e} = ({i})({m} >> {fraction});",
         f"const {i} {m}_up = {e} ? 0 : {zeros(m)};",
         f"{m} = {e} ? ({m} & ({one} - 1)) | {one} : {m} << {m}_up;", f"{e} = {e} ? {e} : 1 - {m}_up;"]
        for m, e in (("rest", "high"), ("by", "low"))
    ]  # fmt: skip
    return [
        f"{t} {name}({t} x, {t} y)", "{",
        f"    const {word} sign = {of_float('x')} & {sign};",
        f"    {word} rest = {of_float('x')} ^ sign;",
        f"    {word} by = {of_float('y')} & ({sign} - 1);",
        f"    if (rest >= {infinity} || by > {infinity} || by == 0)", f"        return {nan};",
        "    if (rest < by)", "        return x;",
        *(f"    {line}" for lines in normal for line in lines),
        "    for (; high > low; --high)", "        rest = (rest >= by ? rest - by : rest) << 1;",
        "    rest = rest >= by ? rest - by : rest;",
        "    if (rest == 0)", f"        return {as_float('sign')};",
        f"    const {i} up = {zeros('rest')};",
        "    rest <<= up;", "    high -= up;",
        f"    rest = high > 0 ? (rest & ({one} - 1)) | (({word})high << {fraction}) : rest >> (1 - high);",
        f"    return {as_float('sign | rest')};",
        "}",
    ]  # fmt: skip
