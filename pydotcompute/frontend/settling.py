"""The types of a function's names: it is built again and again until they are what the pass before found."""

from __future__ import annotations

from typing import Any, Callable

from . import promotion
from .promotion import Type
from .scope import Scope


def settle(s: Scope, build: Callable[[], Any]) -> None:
    """Build until the types of the names are what the pass before found."""
    found: dict[str, Type] = {}
    for _ in range(4 * len(s.assigned) + 8):
        s.begin()
        build()
        before, found = found, {name: joined.type for name, joined in s.now.items()}
        s.before = s.now
        if found == before:
            break
    else:
        hint = "convert its values: float32(…), int64(…)"
        s.refuse(s.function, f"the types of `{s.function.name}` do not settle", hint)
    if any(known.adopted and known.type.dtype == "float64" for known in s.before.values()):
        _refuse_mixed(s, build)


def _refuse_mixed(s: Scope, build: Callable[[], Any]) -> None:
    """Refuse a name that is a float only because 64-bit signed and unsigned integers meet in it: int64 + uint64 is
    float64. So one more pass looks at what each name is assigned as if the name itself were still a plain number."""
    s.begin()
    s.probing = True
    build()
    s.probing = False
    for name, known in s.now.items():
        strong = {t: node for t, node in known.types.items() if not t.weak}
        integers = all(t.rank <= 1 for t in known.types)
        if integers and s.before[name].type.dtype == "float64" and promotion.of_name(known.types) is None:
            unsigned = Type("uint64")
            signed = next(t for t in strong if not t.dtype.startswith("u"))
            first, second = sorted((unsigned, signed), key=lambda t: s.module.line(strong[t]))
            s.refuse(
                strong[second],
                f"`{name}` is {second} here and {first} on line {s.module.line(strong[first])}, and no integer type "
                "holds both",
                "convert one of them: int64(…) or uint64(…)",
            )
