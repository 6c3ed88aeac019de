"""What the Metal Shading Language lacks of the kernel language, or has in less accuracy than the language asks for."""

from __future__ import annotations

from ...ir.dtypes import INTEGER_BITS
from ..text import mathematics
from ..text.dialect import Template
from ..text.library import LIBRARY
from ..text.remainder import fmod
from ..text.scalars import Scalars
from .atomics import ATOMICS
from .doubles import DOUBLES, absolute


def functions() -> dict[str, Template]:
    """All of them. Its own `pow` has 16 units in the last place: elementary functions are from ir/math."""
    own = {"popcount": _popcount, "clz": _clz, "abs": _abs, "fmod": fmod, "hypot": _hypot}
    return {**LIBRARY, **ATOMICS, **mathematics.functions(), **DOUBLES, **own}


def _abs(s: Scalars, dtype: str, name: str) -> list[str]:
    return absolute(s, dtype, name) if dtype == "float64" else LIBRARY["abs"](s, dtype, name)


def _words(dtype: str) -> list[str]:
    """The 32 bits that x consists of, low ones first; of narrower integers with zeros above."""
    unsigned = f"u{dtype}" if dtype.startswith("int") else dtype
    if INTEGER_BITS[dtype] == 64:
        return ["(uint)x", "(uint)((ulong)x >> 32)"]
    return [f"(uint)({'uchar' if unsigned == 'uint8' else 'ushort' if unsigned == 'uint16' else 'uint'})x"]


def _popcount(s: Scalars, dtype: str, name: str) -> list[str]:
    t = s.type(dtype)
    counted = " + ".join(f"popcount({word})" for word in _words(dtype))
    return [f"{t} {name}({t} x)", "{", f"    return ({t})({counted});", "}"]


def _clz(s: Scalars, dtype: str, name: str) -> list[str]:
    """Of 0 Metal's own gives 32, as its specification says."""
    t, words = s.type(dtype), _words(dtype)
    unused = 32 * len(words) - INTEGER_BITS[dtype]
    counted = f"clz({words[-1]})" if len(words) == 1 else f"{words[1]} != 0 ? clz({words[1]}) : clz({words[0]}) + 32"
    return [f"{t} {name}({t} x)", "{", f"    return ({t})({f'{counted} - {unused}' if unused else counted});", "}"]


def _hypot(s: Scalars, dtype: str, name: str) -> list[str]:
    """Scaled by a power of two, so that no square overflows or vanishes."""
    infinity, nan = (s.constant(float(x), dtype) for x in ("inf", "nan"))
    return [
        f"float {name}(float x, float y)", "{",
        "    const float a = fabs(x), b = fabs(y);",
        f"    if (a == {infinity} || b == {infinity})", f"        return {infinity};",
        "    if (a != a || b != b)", f"        return {nan};",
        "    const float large = a < b ? b : a, small = a < b ? a : b;",
        "    if (large == 0.0f)", "        return 0.0f;",
        "    const float up = large < 1e-19f ? 79228162514264337593543950336.0f : 1.0f;",
        "    const float scale = large > 1e19f ? 1.262177448353619e-29f : up;",
        "    const float u = large * scale, v = small * scale;",
        "    return precise::sqrt(fma(u, u, v * v)) / scale;", "}",
    ]  # fmt: skip
