"""Which targets there are: a folder here each, and those that installed packages bring.

A folder of this package with a module `target` is a target; its `TARGET` is one. So are entry points of the group
`pydotcompute.targets`, which are read when a name is asked for that none of ours has.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Iterable, Iterator

from ..declare.model import Declaration, Kernel
from ..declare.names import near
from ..errors import DeclarationError, Position
from .base import Target, backend_of

GROUP = "pydotcompute.targets"


def find(name: str) -> Target | None:
    """The target whose names begin with that of `name`: "cuda" and "cuda:sm_90" alike. None if there is none."""
    backend = backend_of(name)
    if backend in own_names():
        return _own(backend)
    return next((target for target in brought() if target.name == backend), None)


def get(name: str) -> Target:
    """As `find`. Raises DeclarationError where there is none."""
    target = find(name)
    if target is None:
        raise DeclarationError(f"there is no compiler for the backend '{backend_of(name)}'")
    return target


def every() -> Iterator[Target]:
    """All targets: ours, then those that packages bring."""
    for name in own_names():
        yield _own(name)
    yield from brought()


@cache
def own_names() -> tuple[str, ...]:
    """The names of the targets in this folder."""
    here = os.path.dirname(os.path.abspath(__file__))
    return tuple(sorted(name for name in os.listdir(here) if os.path.exists(os.path.join(here, name, "target.py"))))


@cache
def _own(name: str) -> Target:
    return import_module(f".{name}.target", __package__).TARGET


@cache
def brought() -> tuple[Target, ...]:
    """What installed packages bring; raises DeclarationError where one cannot be made, or is no Target."""
    from importlib.metadata import entry_points

    found: list[Target] = []
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist else point.value
        try:
            target = point.load()
        except Exception as error:
            raise DeclarationError(
                f"the target '{point.name}' of {package} cannot be made: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(target, Target):
            raise DeclarationError(f"the target '{point.name}' of {package} is a {type(target).__name__}, not a Target")
        if target.name not in own_names():
            found.append(target)
    return tuple(found)


def canonical(text: str) -> str:
    """The target that a word of `targets:` or `-t` means: the bare name of a backend is its default target."""
    target = find(text)
    return target.default if target is not None and text == target.name else text


def problem(text: str) -> tuple[str, str] | None:
    """Why this is no target (message, hint); None if it is one."""
    target = find(text)
    if target is not None and (text == target.name or re.fullmatch(target.pattern, text)):
        return None
    if meant := next(filter(None, (t.meant(text) for t in every())), ""):
        return f"unknown target '{text}'", f"did you mean '{meant}'?"
    hint = target.expected if target is not None else ""
    if text in ("gpu", "gpus"):
        hint = f"targets for GPUs are {', '.join(t.default for t in every() if t.has_blocks)}"
    return f"unknown target '{text}'", hint or near(text, [e for t in every() for e in t.examples])


def checked(declaration: Declaration, keep_going: bool = False) -> Declaration:
    """The declaration with its targets by their whole names, those that are built by default where it has none.

    Raises DeclarationError, where it stands, for what is not a target, for one that stands there twice, and for a dtype
    that none of them has; keep_going: then the kernel is refused, and the others stay.
    """
    found: dict[str, str] = {}
    for text, at in zip(declaration.targets, declaration.target_positions):
        if told := problem(text):
            raise DeclarationError(told[0], at, told[1])
        name = canonical(text)
        if name in found:
            raise DeclarationError(f"'{text}' and '{found[name]}' are one target", at, "delete one")
        found[name] = text
    targets = tuple(found) or default_targets()
    used = {target.name: target for target in map(get, targets)}
    refused = dict(declaration.refused)
    for kernel in declaration.kernels.values():
        for dtype, at, of_array in _dtypes(kernel):

            def has(target: Target, dtype: str = dtype, of_array: bool = of_array) -> bool:
                return dtype in (target.dtypes - target.scalars if of_array else target.dtypes)

            if not any(map(has, used.values())):
                other = next((target.default for target in every() if has(target)), None)
                hint = f"add one to targets: {other}" if other else ""
                what = f"arrays of {dtype}" if any(dtype in target.dtypes for target in used.values()) else dtype
                message = f"{what} cannot be had on any of the targets: {', '.join(targets)}"
                error = DeclarationError(message, at, hint)
                if not keep_going:
                    raise error
                refused.setdefault(kernel.name, error)
    kernels = {name: kernel for name, kernel in declaration.kernels.items() if name not in refused}
    return replace(declaration, targets=targets, kernels=kernels, refused=refused)


def _dtypes(kernel: Kernel) -> Iterator[tuple[str, Position, bool]]:
    """Every dtype that a kernel's arguments may have, where that is written, and whether arrays have it."""
    arrays = {p.dtype for p in kernel.signature.parameters if p.is_array}
    for variable, dtypes in kernel.types.items():
        for dtype in dtypes:
            yield dtype, kernel.positions.get(f"types.{variable}.{dtype}", kernel.at), variable in arrays
    for p in kernel.signature.parameters:
        if p.dtype not in kernel.types:
            yield p.dtype, kernel.positions.get(f"signature.{p.name}", kernel.at), p.is_array


def default_targets() -> tuple[str, ...]:
    """What is built where a declaration says nothing."""
    return tuple(name for target in map(_own, own_names()) for name in target.by_default)


def raw_modules(names: Iterable[str] | None = None) -> frozenset[str]:
    """The modules whose use in a body makes it raw: for all targets, or for ours and these alone, for which no
    package has to be looked through."""
    asked = every() if names is None else (*map(_own, own_names()), *map(get, names))
    return frozenset(target.raw for target in asked if target.raw)


def pattern() -> str:
    """A regular expression of every target's names, the bare ones too."""
    return "^(?:" + "|".join(f"{target.name}|{target.pattern}" for target in every()) + ")$"
