"""What `check` wants of arrays that are scattered into: where several values meet, any one of them."""

from __future__ import annotations

import numpy as np

from ..ir import tree

Met = dict[str, dict[int, list]]  # array → flat index → the values that were scattered there


def scattered(built: tree.KernelTree | None) -> frozenset[str]:
    """The arrays of a kernel that are scattered into; of a raw kernel, which has no tree, none."""
    nodes = (node for s in (built.body if built else ()) for node in tree.walk(s))
    return frozenset(node.array for node in nodes if isinstance(node, tree.Scatter))


def nearest(wanted: np.ndarray, met: dict[int, list], to: np.ndarray) -> np.ndarray:
    """`wanted`, with that one of the values that met at an element which is nearest to `to` there; of complex128, whose
    parts may be of two of them, each part."""
    wanted, to = np.asarray(wanted), np.asarray(to)
    if not met:
        return wanted
    if wanted.dtype == np.complex128:
        parts = [({k: [getattr(v, part) for v in vs] for k, vs in met.items()}, part) for part in ("real", "imag")]
        chosen = np.empty_like(wanted)
        chosen.real, chosen.imag = (nearest(getattr(wanted, p), values, getattr(to, p)) for values, p in parts)
        return chosen
    chosen, found = wanted.copy().reshape(-1), to.reshape(-1)
    for place, values in met.items():
        chosen[place] = min(values, key=lambda value: _distance(value.item(), found[place].item()))
    return chosen.reshape(wanted.shape)


def stayed(got: np.ndarray, met: dict[int, list], wanted: np.ndarray) -> np.ndarray:
    """`got`, as if of several values that met at an element the one nearest to `wanted` had stayed: a reference knows
    only one. That what was got is one of them, the interpreter says."""
    several = {place: values for place, values in met.items() if len(values) > 1}
    return nearest(got, several, wanted)


def _distance(value: complex, other: complex) -> tuple[bool, float, bool]:
    """How far from each other two numbers are: of the same kind first, then near, then of one sign."""
    if value == other:
        return False, 0.0, np.signbit(value) != np.signbit(other) if isinstance(value, float) else False
    if value != value or other != other:
        return (value == value) != (other == other), 0.0, False
    with np.errstate(all="ignore"):
        return False, abs(value - other), False
