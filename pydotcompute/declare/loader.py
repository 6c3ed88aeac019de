"""kernels.yaml → Declaration: everything that can be said before a template is rendered."""

from __future__ import annotations

import os
from math import prod
from typing import Any

from ..errors import DeclarationError
from .document import Document, Node, parse, plain, project_file, read
from .entry import Entry
from .excerpt import Excerpt
from .model import Declaration, Kernel
from .names import MOST_CHARACTERS
from .signatures import parse_signature
from .table import KERNEL, KERNEL_NAME, WITHOUT_KERNELS
from .tuned import with_tuned

MOST_SPECIALISATIONS = 10_000  # of a kernel


def load(root: str | os.PathLike, keep_going: bool = False) -> Declaration:
    """Read and check `kernels.yaml` in the project's folder `root`. Raises DeclarationError; keep_going: only where
    the file as a whole is wrong.

    Whether there are such targets is not asked here: see targets.registry.checked.
    """
    root = os.fspath(root)
    document = read(project_file(root, "kernels.yaml"))
    top = parse(document)
    WITHOUT_KERNELS.check(document, top)
    targets = top.value["targets"].value if "targets" in top.value else []
    kernels: dict[str, Kernel] = {}
    refused: dict[str, DeclarationError] = {}
    keys = top.value["kernels"].keys
    ends = [*(key.line for key in keys.values()), len(document.lines)][1:]
    for (name, node), end in zip(top.value["kernels"].value.items(), ends):
        key = keys[name]
        try:
            KERNEL_NAME.check(document, key)
            KERNEL.check(document, node)
            lines = Excerpt(key.line - 1, document.lines[key.line - 1 : end])
            members = _kernels(document, root, name, key, node, lines)
            for kernel in members:
                if kernel.name in kernels:
                    hint = f"the first is in line {kernels[kernel.name].at.line}"
                    raise DeclarationError(f"duplicate kernel '{kernel.name}'", kernel.at, hint)
        except DeclarationError as error:
            if not keep_going:
                raise
            refused |= dict.fromkeys(_names(name, node), error)
        else:
            kernels |= {kernel.name: kernel for kernel in members}
    kernels = with_tuned(root, kernels, refused)
    places = tuple(document.at(node) for node in targets)
    return Declaration(document.path, root, tuple(map(plain, targets)), kernels, refused, places)


def _names(name: str, node: Node) -> list[str]:
    """What the kernels of a wrong entry are called, as far as that can be told."""
    family = node.value.get("family") if isinstance(node.value, dict) else None
    return list(family.value) if family is not None and isinstance(family.value, dict) and family.value else [name]


def _kernels(document: Document, root: str, name: str, key: Node, node: Node, lines: Excerpt) -> list[Kernel]:
    """The kernel of one entry, or all those of a family."""
    values = {k: plain(v) for k, v in node.value.items()}
    types = {variable: tuple(dtypes) for variable, dtypes in values.get("types", {}).items()}
    params = _params(document, node)
    for param, at in (node.value["params"].keys if "params" in values else {}).items():
        if param in types:
            raise document.error(at, f"'{param}' is already the name of a type variable", "choose another name")
    text = node.value["signature"]
    count = prod(map(len, (*types.values(), *params.values())))
    if count > MOST_SPECIALISATIONS:
        at = node.value["params" if params else "types"]
        told = f"these are {count:,} specialisations, and a kernel may have {MOST_SPECIALISATIONS:,}"
        raise document.error(at, told, "leave values out, or write several kernels")
    choices = (types | params).items()
    length = len(",".join(max((f"{name}={value}" for value in values), key=len) for name, values in choices))
    if length > MOST_CHARACTERS:  # these become names of files, as kernels' do
        at = node.value["params" if params else "types"]
        told = f"names and values of a specialisation have up to {length:,} characters; {MOST_CHARACTERS} are allowed"
        raise document.error(at, told, "choose shorter names")
    parsed = parse_signature(text.value, types, params, lambda offset: document.at(text, offset))
    signature = parsed.signature
    used = {p.dtype for p in signature.parameters}
    for variable, at in (node.value["types"].keys if "types" in values else {}).items():
        if variable not in used:
            raise document.error(at, f"type variable '{variable}' is not used in the signature", "delete it, or use it")
    entry = Entry(document, root, node, signature, params, types)
    positions = {k: document.at(v) for k, v in node.value.items()}
    if "launch" in values:
        positions["launch.block"] = document.at(node.value["launch"].value["block"])
    if "types" in values:
        positions |= {
            f"types.{variable}.{plain(dtype)}": document.at(dtype)
            for variable, dtypes in node.value["types"].value.items() for dtype in dtypes.value
        }  # fmt: skip
    positions |= {f"signature.{p}": document.at(text, offset) for p, offset in parsed.offsets.items()}
    shared = dict(
        signature=signature, types=types, params=params, requires=entry.requires(), vendor=entry.vendor(),
        tune=entry.tune(),
        launch=entry.launch(), fastmath=tuple(values.get("fastmath", ("contract",))), tolerance=values.get("tolerance"),
        inputs=entry.inputs(), sizes=entry.sizes(), work=entry.work(), special=values.get("special", True),
        unordered=entry.unordered(), disjoint=entry.disjoint(), unchecked=values.get("unchecked", False),
        positions=positions, source=lines, **entry.code(),
    )  # fmt: skip
    members: dict[str, tuple[Node, dict[str, Any]]] = {name: (key, {})}
    if family := node.value.get("family"):
        members = {n: (family.keys[n], plain(v)) for n, v in family.value.items()}
        entry.family_names()
    return [
        Kernel(name=n, doc=entry.doc(n, v), reference=entry.reference(n, v), family=v, at=document.at(k), **shared)
        for n, (k, v) in members.items()
    ]


def _params(document: Document, node: Node) -> dict[str, tuple[int | float | bool, ...]]:
    result = {}
    for name, value in (node.value["params"].value if "params" in node.value else {}).items():
        items = value.value if isinstance(value.value, list) else [value]
        for item in items:
            if isinstance(item.value, int) and not -(2**63) <= item.value < 2**63:
                raise document.error(item, "the number is too large", "params have 64 bits")
            if type(item.value) is not type(items[0].value):
                raise document.error(item, f"the values of '{name}' are of different kinds", "write all of them alike")
        result[name] = tuple(item.value for item in items)
    return result
