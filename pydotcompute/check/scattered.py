"""What `check` wants of arrays that are scattered into: where several values meet, any one of them."""

from __future__ import annotations

import numpy as np

from ..declare.model import Kernel, Specialisation
from ..ir import tree
from .trees import rendered_tree

Met = dict[str, dict[int, list]]  # array → flat index → the values that were scattered there


def scattered(kernel: Kernel, specialisation: Specialisation, root: str) -> frozenset[str]:
    """The arrays of a kernel that are scattered into."""
    _, built = rendered_tree(kernel, specialisation, root)
    return frozenset(node.array for s in (built.body if built else ()) for node in tree.walk(s) if isinstance(node, tree.Scatter))


def nearest(wanted: np.ndarray, met: dict[int, list], got: np.ndarray) -> np.ndarray:
    """`wanted`, with that one of the values that met at an element which is nearest to what was got."""
    if not met:
        return wanted
    chosen, found = np.array(wanted).reshape(-1), np.asarray(got).reshape(-1)
    for place, values in met.items():
        chosen[place] = min(values, key=lambda value: _distance(value, found[place]))
    return chosen.reshape(np.shape(wanted))


def settled(wanted: np.ndarray, met: dict[int, list], got: np.ndarray) -> np.ndarray:
    """`wanted`, with what was got where more than one value met: a reference says one of them."""
    places = [place for place, values in met.items() if any(value != values[0] for value in values)]
    chosen = np.array(wanted).reshape(-1)
    chosen[places] = np.asarray(got).reshape(-1)[places]
    return chosen.reshape(np.shape(wanted))


def _distance(value, got) -> float:
    if value == got or (value != value and got != got):
        return 0.0
    distance = abs(complex(value) - complex(got))
    return distance if distance == distance else np.inf
