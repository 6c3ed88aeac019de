"""Elements that are stored in 16 bits, float16 and bfloat16, as what every target has: uint16, and functions of
ir/math/storage.py where they become float32 and where float32 becomes them. A scalar argument is a float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..artifact.dtypes import STORED
from ..artifact.signature import Parameter
from . import tree as t

BITS = "uint16"


def in_bits(tree: t.KernelTree) -> t.KernelTree:
    """The tree without these dtypes."""
    def changed(node: Any) -> Any:
        match node:
            case t.NewArray(dtype=dtype) if dtype in STORED:
                return replace(node, dtype=BITS)
            case t.Load(type=dtype) if dtype in STORED:
                return replace(t.rebuilt(node, changed), type=BITS)
            case t.Convert(operand=operand, type=dtype) if dtype in STORED:
                value = changed(operand)
                if operand.type == "float64":
                    value = t.Call("rounded_to_odd", (value,), "float32", at=node.at)
                return t.Convert(t.Call(f"{dtype}_bits", (value,), "int32", at=node.at), BITS, at=node.at)
            case t.Convert(operand=operand) if operand.type in STORED:
                bits = t.Convert(changed(operand), "int32", at=node.at)
                return t.Call(f"of_{operand.type}_bits", (bits,), "float32", at=node.at)
        return t.rebuilt(node, changed)

    helpers = tuple(
        replace(h, body=tuple(map(changed, h.body)), parameters=tuple(map(_parameter_of_helper, h.parameters)))
        for h in tree.helpers
    )
    return replace(
        tree, parameters=tuple(map(_parameter, tree.parameters)), helpers=helpers,
        arrays={name: changed(a) for name, a in tree.arrays.items()}, body=tuple(map(changed, tree.body)),
    )  # fmt: skip


def _parameter(p: Parameter) -> Parameter:
    if p.dtype not in STORED:
        return p
    return p._replace(dtype=BITS if p.in_memory else "float32")


def _parameter_of_helper(p: t.HelperParameter) -> t.HelperParameter:
    return replace(p, type=BITS) if p.type in STORED else p
