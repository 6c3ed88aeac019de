"""templates/tuned.yaml, the fastest values of the params that kernels list under `tune`: read, checked, and written.

    kernel → types of a specialisation → target → device → size class → values by param
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from typing import Any, Collection, Mapping, Sequence

import yaml

from ..artifact import size_classes
from .document import Document, Node, parse, plain, project_file, read
from .model import Kernel
from .names import near, target_problem
from .shapes import Constant, Key, MapOf, Record, Text
from .table import CONSTANT

FILE = ("templates", "tuned.yaml")
HEAD = """\
# The fastest values of the params that kernels list under `tune`, by types, target, device, and the bytes of the arrays
# that a call gets: small up to {} KiB, medium up to {} KiB, large beyond.
# Written by 'pydotcompute bench --subject declared --tune', which measures them again.
""".format(*(most // 1024 for most in size_classes.MOST))
AGAIN = "delete it, then measure again: pydotcompute bench --subject declared --tune"
Table = dict[str, dict[str, Any]]  # by kernel

_VALUES = MapOf(Text("a param"), CONSTANT, "values by param: {TILE: 16}", 1)
_CLASSES = Record("the size classes", {name: Key(_VALUES, "the fastest values there") for name in size_classes.NAMES})
_DEVICES = MapOf(Text("the name of a device"), _CLASSES, "size classes by device")
_TARGETS = MapOf(Text("a target", target_problem), _DEVICES, "devices by target")
_KERNELS = MapOf(Text("a kernel"), MapOf(Text("types"), _TARGETS, "targets by types"), "what was measured by kernel")
TABLE = Record(
    "a table of tuned params",
    {
        "version": Key(Constant(1, "version 1"), "write: version: 1", required=True),
        "kernels": Key(_KERNELS, "write: kernels: {}", required=True),
    },
)


def with_tuned(root: str, kernels: Mapping[str, Kernel], refused: Collection[str] = ()) -> dict[str, Kernel]:
    """The kernels with what the project's table says of them, where there is one. refused: kernels whose declaration
    is wrong, of which it may say anything. Raises DeclarationError for what is no such table, or not one of these."""
    path = project_file(root, *FILE)
    if not os.path.lexists(path):
        return dict(kernels)
    document = read(path)
    top = parse(document)
    TABLE.check(document, top)
    found = dict(kernels)
    for name, node in top.value["kernels"].value.items():
        if name in refused:
            continue
        if name not in kernels or not kernels[name].tune:
            what = "lists nothing under tune" if name in kernels else "is not declared"
            raise document.error(top.value["kernels"].keys[name], f"the kernel '{name}' {what}", AGAIN)
        _check(document, node, kernels[name])
        found[name] = replace(kernels[name], tuned=plain(node))
    return found


def _check(document: Document, node: Node, kernel: Kernel) -> None:
    types = labels(kernel)
    for label, targets in node.value.items():
        if label not in types:
            hint = near(label, types)
            raise document.error(node.keys[label], f"'{kernel.name}' has no types {label}", hint)
        for devices in targets.value.values():
            for classes in devices.value.values():
                for values in classes.value.values():
                    _check_values(document, values, kernel)


def _check_values(document: Document, node: Node, kernel: Kernel) -> None:
    for name, value in node.value.items():
        if name not in kernel.tune:
            raise document.error(
                node.keys[name], f"'{kernel.name}' does not list '{name}' under tune", near(name, kernel.tune)
            )
        if not any(type(one) is type(value.value) and one == value.value for one in kernel.params[name]):
            there = ", ".join(map(str, kernel.params[name]))
            raise document.error(value, f"{name} of '{kernel.name}' may be {there}, not {value.text}", AGAIN)
    if lacking := [name for name in kernel.tune if name not in node.value]:
        raise document.error(node, f"no value for {', '.join(lacking)} of '{kernel.name}'", AGAIN)


def labels(kernel: Kernel) -> list[str]:
    """The types of its specialisations as the table names them: `T=float32`; `-` of a kernel without."""
    choices = product(*([f"{name}={dtype}" for dtype in dtypes] for name, dtypes in kernel.types.items()))
    return [",".join(choice) or "-" for choice in choices]


def text(table: Table) -> str:
    """What is written of a table: the same for the same, whatever was measured first."""
    ordered = {
        kernel: {
            types: {target: {device: _by_class(found) for device, found in _sorted(devices)}
                    for target, devices in _sorted(targets)}
            for types, targets in _sorted(by_types)
        }
        for kernel, by_types in _sorted(table)
    }  # fmt: skip
    kwargs: dict[str, Any] = dict(sort_keys=False, allow_unicode=True, width=1000, default_flow_style=None)
    return f"{HEAD}version: 1\n{yaml.safe_dump({'kernels': ordered}, **kwargs)}"


def _sorted(mapping: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    return sorted(mapping.items())


def _by_class(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dict(sorted(found[name].items())) for name in size_classes.NAMES if name in found}
