"""OpenCL C as it is compiled for AMD's GPUs: elementary functions are ours, for there is no library; remainders too."""

from __future__ import annotations

from dataclasses import replace

from ...ir import math
from ..opencl.dialect import OPENCL
from ..text.scalars import Scalars

OURS = frozenset((*math.FUNCTIONS, "fmod"))  # what the compiler has no exact instructions for
_WORDS = {"float32": ("uint", 32, 23, "U"), "float64": ("ulong", 64, 52, "UL")}  # bits of all, and of the fraction


def _fmod(s: Scalars, dtype: str, name: str) -> list[str]:
    """Exact: by the integers of both, a bit of the quotient at a time."""
    t, (word, bits, fraction, suffix) = s.type(dtype), _WORDS[dtype]
    sign, infinity, one = (
        f"{n}{suffix}" for n in (1 << bits - 1, (1 << bits - 1) - (1 << fraction), 1 << fraction)
    )  # fmt: skip
    as_word, as_float, nan = f"as_{word}", f"as_{t}", s.constant(float("nan"), dtype)
    unused = bits - 1 - fraction
    normal = [  # with the leading bit of a denormal where that of a number is
        [f"int {e} = (int)({m} >> {fraction});",
         f"const int {m}_up = {e} ? 0 : (int)clz({m}) - {unused};",
         f"{m} = {e} ? ({m} & ({one} - 1)) | {one} : {m} << {m}_up;", f"{e} = {e} ? {e} : 1 - {m}_up;"]
        for m, e in (("rest", "high"), ("by", "low"))
    ]  # fmt: skip
    return [
        f"{t} {name}({t} x, {t} y)", "{",
        f"    const {word} sign = {as_word}(x) & {sign};",
        f"    {word} rest = {as_word}(x) ^ sign;",
        f"    {word} by = {as_word}(y) & ({sign} - 1);",
        f"    if (rest >= {infinity} || by > {infinity} || by == 0)", f"        return {nan};",
        "    if (rest < by)", "        return x;",
        *(f"    {line}" for lines in normal for line in lines),
        "    for (; high > low; --high)", "        rest = (rest >= by ? rest - by : rest) << 1;",
        "    rest = rest >= by ? rest - by : rest;",
        "    if (rest == 0)", f"        return {as_float}(sign);",
        f"    const int up = (int)clz(rest) - {unused};",
        "    rest <<= up;", "    high -= up;",
        f"    rest = high > 0 ? (rest & ({one} - 1)) | (({word})high << {fraction}) : rest >> (1 - high);",
        f"    return {as_float}(sign | rest);",
        "}",
    ]  # fmt: skip


HIP = replace(
    OPENCL,
    name="HIP",
    functions={key: text for key, text in OPENCL.functions.items() if key[0] not in OURS},
    library={**OPENCL.library, "fmod": _fmod},
)
