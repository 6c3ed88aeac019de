"""The parts of pages that are made by looking at objects: the docstrings of the API, the help of the parsers."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from .. import backends, cache, operations
from ..cache.archive import Imported
from ..cache.builds import Builds
from ..cache.contents import Record, Share, Statistics
from ..cache.pruning import Pruned
from ..runtime.choice import Rejected, Which
from ..runtime.installed import Installed
from ..runtime.kernel import Specialization
from ..targets.base import Answer, Artifact, Job, Target

WIDTH = 96  # of the help of commands
MADE = ("Cache", "CPUBackend", "CUDABackend")  # classes; objects of the others come from functions


def sections() -> dict[str, dict[str, Any]]:
    """Every public name, by where it is found; each once."""
    package = import_module(__package__.partition(".")[0])
    found: dict[str, dict[str, Any]] = {}
    for module in (package, operations, backends, cache):
        before = {name for section in found.values() for name in section}
        found[module.__name__] = {name: getattr(module, name) for name in names(module) if name not in before}
    for title, values in (
        ("What calls and caches answer", (Specialization, Which, Rejected, Installed, Record, Statistics, Share, Builds,
                                          Pruned, Imported)),
        ("For those who write a target", (Target, Job, Answer, Artifact)),
    ):  # fmt: skip
        found[title] = {value.__name__: value for value in values}
    return found


def api() -> str:
    """What a program imports, with what the docstrings say."""
    parts = []
    for title, members in sections().items():
        module = sys.modules.get(title)
        parts += [f"## {title}", _text(module) if module else "", *(_described(n, v) for n, v in members.items())]
    return "\n\n".join(filter(None, parts))


def names(module: ModuleType) -> list[str]:
    """The public names of a module: what its `__all__` says, else every class and function of its own."""
    if listed := getattr(module, "__all__", None):
        return [name for name in listed if not name.startswith("_")]
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in own if not name.startswith("_")]


def _described(name: str, value: Any) -> str:
    """One class or function, and of a class what it has."""
    parts = [f"### {name}", _signature(name, value), _text(value)]
    if inspect.isclass(value):
        parts += _attributes(value)
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, value: Any) -> str:
    """How it is called. Of classes those alone that a program makes an object of."""
    if not inspect.isclass(value) or name in MADE:
        return f"```python\n{name}{_call(value)}\n```"
    base = value.__bases__[0]
    return f"A `{base.__name__}`." if issubclass(value, (BaseException, str)) else ""


def _call(value: Any) -> str:
    """The arguments, as they are written: annotations are texts."""
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    return re.sub(r"<class 'numpy\.(\w+)'>", r"np.\1", shown)


def _attributes(cls: type) -> list[str]:
    """The public methods and properties that have a docstring, and the fields of a record."""
    fields = getattr(cls, "_fields", ())
    lines = [f"- `{field}`" for field in fields]
    for name, value in _own(cls).items():
        if name.startswith("_") or name in fields:
            continue
        inner = value.fget if isinstance(value, property) else getattr(value, "func", value)
        plain = getattr(inner, "__func__", inner)  # of class methods and static ones
        if not inspect.isfunction(plain) or not plain.__doc__:
            continue
        shown = name if inner is not value and not hasattr(value, "__func__") else name + _without_self(_call(plain))
        text = _text(plain).replace("\n", "\n  ")
        lines.append(f"- `{shown}`: {text}" if text else f"- `{shown}`")
    return ["\n".join(lines)] if lines else []


def _own(cls: type) -> dict[str, Any]:
    """What a class and those of ours that it is made from have, the outermost last word."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == cls.__module__.partition(".")[0]:
            found |= vars(base)
    return found


def _without_self(text: str) -> str:
    return re.sub(r"^\((?:self|cls)(?:, )?", "(", text)


def _text(value: Any) -> str:
    """A docstring as Markdown: its stars are stars. What a record says by itself is no docstring."""
    text = inspect.getdoc(value) or ""
    if text.startswith(f"{getattr(value, '__name__', '')}("):
        return ""
    return re.sub(r"(`[^`]+`)|\*", lambda found: found[1] or r"\*", text)


def commands(parser: argparse.ArgumentParser) -> str:
    """The help of a program, and of each of its commands and their actions."""
    parts = [f"```text\n{_help(parser)}```"]
    for name, sub in subparsers(parser).items():
        parts += [f"## {name}", f"```text\n{_help(sub)}```"]
        for action, inner in subparsers(sub).items():
            parts += [f"### {name} {action}", f"```text\n{_help(inner)}```"]
    return "\n\n".join(parts)


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a parser, by name."""
    found = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(next(found, {}))


def _help(parser: argparse.ArgumentParser) -> str:
    made = parser.formatter_class
    parser.formatter_class = partial(made, width=WIDTH)  # type: ignore[call-arg]
    try:
        return parser.format_help()
    finally:
        parser.formatter_class = made
