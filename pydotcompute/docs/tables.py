"""The parts of pages that the code's own tables say: the language, the declaration, the settings, the errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from .. import errors
from ..artifact.signature import DTYPES
from ..builder.settings import SETTINGS
from ..cache import layout as cache_layout
from ..declare.shapes import Either, Key, ListOf, MapOf, Record
from ..declare.table import DECLARATION, KERNEL
from ..ir import math
from ..ir.functions import CONSTANTS, FUNCTIONS, WORDS
from ..ir.operations import BINARY, COMPARISONS, CONNECTIVES, FUNCTIONAL, REDUCTIONS, UNARY, Operator
from ..targets.base import Target
from ..targets.registry import every

KINDS = {"b": "bool", "i": "int", "f": "float", "c": "complex"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def kinds(letters: str) -> str:
    """The words for the letters of kinds of dtypes."""
    return ", ".join(KINDS[letter] for letter in letters)


def functions() -> str:
    """The functions of the kernel language; then what is not the type of the arguments."""
    rows = []
    for name, function in FUNCTIONS.items():
        arguments = ", ".join(function.arguments) + (", …" if function.variadic else "")
        rows.append((f"`{name}({arguments})`", function.summary, kinds(function.accepts)))
    special = {
        "Of integers and bools these compute in float64": [n for n, f in FUNCTIONS.items() if f.computed == "float"],
        "These give a bool": [n for n, f in FUNCTIONS.items() if f.gives == "bool"],
        "Of complex numbers these give the real type": [n for n, f in FUNCTIONS.items() if f.gives == "real"],
    }
    told = "\n".join(f"- {what}: {', '.join(f'`{name}`' for name in names)}." for what, names in special.items())
    return f"{table(('function', 'meaning', 'of'), rows)}\n\n{told}"


def bounds() -> str:
    """The largest errors of the functions, in units in the last place."""
    groups: dict[tuple[int, int], list[str]] = {}
    for name in math.FUNCTIONS:
        groups.setdefault((math.bound(name, "float32"), math.bound(name, "float64")), []).append(f"`{name}`")
    rows = [(", ".join(names), *map(str, errors)) for errors, names in sorted(groups.items())]
    return table(("of", "float32", "float64"), rows)


def constants() -> str:
    """Its constants."""
    return table(("constant", "value"), [(f"`{name}`", repr(value)) for name, value in CONSTANTS.items()])


def operators() -> str:
    """Its operators."""
    unary = [(f"`{'not ' if s == 'not' else s}x`", operator) for s, operator in UNARY.items()]
    groups: tuple[dict[str, Operator], ...] = (BINARY, COMPARISONS, CONNECTIVES)
    binary = [(f"`x {symbol} y`", operator) for group in groups for symbol, operator in group.items()]
    rows = [(shown, operator.summary, kinds(operator.accepts)) for shown, operator in (*binary, *unary)]
    return table(("written", "meaning", "of"), rows)


def reductions() -> str:
    """Its reductions, and how each is written."""
    updates = {"sum": "s += v", "prod": "s *= v", "and": "s &= v", "or": "s |= v", "xor": "s ^= v"}
    updates |= {"min": "s = min(s, v)", "max": "s = max(s, v)"}
    rows = []
    for name, reduction in REDUCTIONS.items():
        forms = [f"`{name}(v for …)`"] * (name in FUNCTIONAL) + [f"`{updates.get(name)}`"] * (name in updates)
        rows.append((" or ".join(forms), reduction.summary, kinds(reduction.accepts)))
    return table(("written", "meaning", "of"), rows)


def words() -> str:
    """The words that are neither functions nor constants."""
    return ", ".join(f"`{word}`" for word in sorted(WORDS)) + "."


def dtypes() -> str:
    """Which dtypes arrays and scalars may have for which target."""
    targets = list(every())


    def has(target: Target, dtype: str) -> str:
        return "no" if dtype not in target.dtypes else "scalars" if dtype in target.scalars else "yes"

    rows = [(f"`{d}`", *(has(target, d) for target in targets)) for d in DTYPES]
    return table(("dtype", *(f"`{target.name}`" for target in targets)), rows)


def targets() -> str:
    """The names of targets, and what is built where nothing is said."""
    rows = [
        (f"`{t.name}`", ", ".join(f"`{name}`" for name in t.examples), f"`{t.default}`",
         ", ".join(f"`{name}`" for name in t.by_default) or "-", f"`{t.raw}.`" if t.raw else "-")
        for t in every()
    ]  # fmt: skip
    head = ("backend", "names, for example", "the bare name means", "built by default", "marks a raw kernel")
    return table(head, rows)


def declaration() -> str:
    """The keys of kernels.yaml."""
    rows = [(f"`{name}`", "yes" if key.required else "", key.meaning) for name, key in DECLARATION.keys.items()]
    return table(("key", "required", "meaning"), rows)


def kernel() -> str:
    """The keys of a kernel, with those inside them."""
    rows = [row for name, key in KERNEL.keys.items() for row in _rows(name, key)]
    return table(("key", "required", "meaning"), rows)


def _rows(name: str, key: Key) -> list[tuple[str, str, str]]:
    inner = _record(key.shape)
    rows = [(f"`{name}`", "yes" if key.required else "", key.meaning)]
    for other in inner.keys if inner else ():
        rows += _rows(f"{name}.{other}", inner.keys[other]) if inner else []
    return rows


def _record(shape: Any) -> Record | None:
    """The keys that stand inside a value, if it is of keys that there are."""
    if isinstance(shape, Record):
        return shape
    if isinstance(shape, (ListOf, MapOf)):
        return _record(shape.item)
    inner = (_record(one) for one in shape.shapes) if isinstance(shape, Either) else ()
    return next(filter(None, inner), None)


def settings() -> str:
    """Every setting, where it is said, and what it is otherwise."""
    rows = []
    for s in SETTINGS:
        words = [f"`{word}`" for word in (s.flag, s.variable) if word]
        words += [f"`{s.name}` of `[tool.pydotcompute]`"] * s.in_pyproject
        rows.append((f"`{s.name}`", ", ".join(words), s.doc))
    return table(("setting", "said by", "meaning"), rows)


def error_classes() -> str:
    """Every error and warning that is raised on purpose."""
    rows = []
    for name, cls in vars(errors).items():
        if inspect.isclass(cls) and issubclass(cls, Exception) and cls.__module__ == errors.__name__:
            rows.append((f"`{name}`", f"`{cls.__bases__[0].__name__}`", _first(cls)))
    return table(("class", "is a", "when"), rows)


def layout() -> str:
    """What lies where in a cache, and what its manifest says."""
    return f"```text\n{inspect.cleandoc(cache_layout.__doc__ or '')}\n```"


def _first(cls: type) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


MAKERS = {
    "functions": functions, "bounds": bounds, "constants": constants, "operators": operators, "reductions": reductions,
    "words": words, "dtypes": dtypes, "targets": targets, "declaration": declaration, "kernel": kernel,
    "settings": settings, "errors": error_classes, "layout": layout,
}  # fmt: skip
