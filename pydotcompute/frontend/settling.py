"""The types of a function's names: it is built again and again until each is read as what it is in the end."""

from __future__ import annotations

import ast
from typing import Any, Callable

from . import promotion
from .promotion import Type
from .scope import Scope


def settle(s: Scope, build: Callable[[], Any]) -> None:
    """Build until every name is read as the type that it has in the end of the pass.

    What a pass found is where the next one starts from. But a name that is computed from itself would keep what it was
    while another one, on which it depends, was still taken for something else: it starts anew."""
    circular = _circular(s.function)
    for _ in range(4 * len(s.assigned) + 8):
        s.begin()
        build()
        mistaken = {name for name, joined in s.now.items() if s.read_as.get(name, {joined.type}) != {joined.type}}
        s.before = {
            name: joined for name, joined in s.now.items() if not mistaken.intersection(circular.get(name, ()))
        }
        if not mistaken:
            break
    else:
        hint = "convert its values: float32(…), int64(…)"
        s.refuse(s.function, f"the types of `{s.function.name}` do not settle", hint)
    if any(known.adopted and known.type.dtype == "float64" for known in s.before.values()):
        _refuse_mixed(s, build)


def _circular(function: ast.FunctionDef) -> dict[str, set[str]]:
    """Of each name that is computed from itself: the others that it is computed from, and which are not from it."""
    reads: dict[str, set[str]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AugAssign(target=target, value=value):
                targets, value = [target], ast.Tuple([target, value])
            case ast.For(target=target, iter=value):
                targets = [target]
            case _:
                continue
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Name):
                    reads.setdefault(part.id, set()).update(n.id for n in ast.walk(value) if isinstance(n, ast.Name))
    sources = {name: _reached(name, reads) for name in reads}
    return {
        name: {other for other in found if name not in sources.get(other, ())}
        for name, found in sources.items()
        if name in found
    }


def _reached(name: str, reads: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(reads[name])
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += reads.get(one, ())
    return found


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
