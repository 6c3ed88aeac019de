"""Raw kernels: bodies of numba.cuda's own Python, in which arrays are its arrays and scalars its scalars."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from ...artifact.dimensions import data, substituted
from ...artifact.dtypes import STORED
from ...artifact.signature import DTYPES, Parameter
from ...declare.model import Kernel, Rendered, Specialisation
from ...declare.names import near
from ...declare.python_text import parse_python
from ...errors import DeclarationError
from ..geometry import block_of, up_to_three

MODULES = {"cuda": "numba.cuda", "math": "math", "np": "numpy", "numpy": "numpy"}  # names that a body has


def check_raw(kernel: Kernel, rendered: Rendered) -> None:
    """Raise DeclarationError for what can be seen to be wrong before anything is compiled."""
    for p in kernel.signature.parameters:
        _check_shape(kernel, p)
    if kernel.launch.get("grid") is None:
        raise DeclarationError(
            f"raw kernel {kernel.name} does not say how many blocks it is launched with", kernel.at,
            "add a grid to launch: {block: 128, grid: …}",
        )  # fmt: skip
    _check_names(rendered)


def described(kernel: Kernel, specialisation: Specialisation) -> tuple[list[str], dict[str, Any]]:
    """The types of its arguments, as Numba writes them, and the artifact's metadata. After the signature's parameters
    come no dimensions."""
    types, params = dict(specialisation.types), dict(specialisation.params)
    arguments: list[str] = []
    words: list[list[Any]] = []
    for p in kernel.signature.parameters:
        dtype = types.get(p.dtype, p.dtype)
        if not p.in_memory:
            arguments.append("float32" if dtype in STORED else dtype)
            parts = ("real", "imag") if dtype.startswith("complex") else ("",)
            words += [["scalar", p.name, part] if part else ["scalar", p.name] for part in parts]
            continue
        rank = max(1, p.rank)  # an output scalar is seen as an array of one element
        dims = [":"] * (rank - 1) + ["::1" if p.layout == "C" else ":"]
        arguments.append(f"{dtype}[{', '.join(dims)}]")
        words.append(["array", p.name, rank])
    block, shape = block_of(kernel.launch, params, kernel.positions["launch.block"])
    counts = [data(substituted(count, params)) for count in up_to_three(kernel.launch["grid"])]
    launch = {"entry": kernel.name, "block": block, "shape": shape, "grid": {"kind": "given", "counts": counts}}
    return arguments, {"arguments": words, "launches": [launch], "scratch": []}


def _check_shape(kernel: Kernel, p: Parameter) -> None:
    if p.layout == "broadcast" or p.ellipsis and p.layout != "C":
        raise DeclarationError(
            f"raw kernel {kernel.name}: '{p.name}' has no shape of its own",
            kernel.positions.get(f"signature.{p.name}", kernel.at),
            "a raw kernel takes C-contiguous arrays, and strided ones without `...`",
        )


def _check_names(rendered: Rendered) -> None:
    """Every name is bound somewhere in the text, or given: Numba would say so after a minute, and without a line."""
    tree = parse_python(rendered)
    bound = {*MODULES, *DTYPES, *vars(builtins), "__name__", "__file__"}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.ExceptHandler(name=str() as name):
                bound.add(name)
            case ast.Import(names=found) | ast.ImportFrom(names=found):
                if any(each.name == "*" for each in found):
                    return
                bound |= {(each.asname or each.name).partition(".")[0] for each in found}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in bound:
            at = rendered.position(node.lineno, node.col_offset + 1)
            raise DeclarationError(f"unknown name '{node.id}'", at, near(node.id, sorted(bound)))
