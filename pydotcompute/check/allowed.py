"""Scalar arguments that `requires` allow: drawn as declared, then searched for where the conditions do not hold."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from ..artifact.dimensions import Operation, Tree, evaluate, names as names_of
from ..artifact.dtypes import kind
from ..declare.model import Kernel
from .faults import Unmet

TRIES = 2000  # about 20 ms of conditions
Known = Mapping[str, Any]


def named(kernel: Kernel) -> tuple[str, ...]:
    """The scalar arguments that conditions name."""
    used = {name for condition in kernel.requires for name in names_of(condition)}
    return tuple(p.name for p in kernel.signature.inputs if not p.is_array and p.name in used)


def hold(kernel: Kernel, names: Known, drawn: Mapping[str, np.ndarray]) -> bool:
    """Whether a call with these dimensions, params and arguments keeps what the kernel requires."""
    return _broken(kernel.requires, _known(kernel, names, drawn)) == 0


def meet(
    kernel: Kernel, names: Known, drawn: dict[str, np.ndarray], again: Mapping[str, Callable[[], np.ndarray]],
    searched: Sequence[str], rng: np.random.Generator,
) -> None:  # fmt: skip
    """Change drawn scalars until all conditions hold. again: draws each of those that may change as it is declared;
    searched: of these, the ones that may also get a value near a number in the conditions. Raises Unmet."""
    conditions = [part for condition in kernel.requires for part in _parts(condition)]
    known = _known(kernel, names, drawn)
    broken = _broken(conditions, known)
    for turn in range(TRIES if again else 0):
        if not broken:
            break
        name = str(rng.choice([*again]))
        value = again[name]()
        if name in searched and turn % 4:
            value = _near(list(_numbers(conditions, known)), drawn[name], rng)
        tried = {**known, name: value.item()}
        count = _broken(conditions, tried)
        if count <= broken or rng.random() < 0.02:  # now and then a worse one, to leave a dead end
            drawn[name], known, broken = value, tried, count
    if broken:
        wanted = " and ".join(map(str, kernel.requires))
        raise Unmet(f"no scalar arguments were found that {wanted} allow", "requires", "give them `inputs`")


def _known(kernel: Kernel, names: Known, drawn: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {**names, **{name: drawn[name].item() for name in named(kernel)}}


def _parts(condition: Tree) -> Iterator[Tree]:
    if isinstance(condition, Operation) and condition.op == "and":
        for operand in condition.operands:
            yield from _parts(operand)
    else:
        yield condition


def _value(tree: Tree, known: Known) -> Any:
    try:
        return evaluate(tree, known)
    except ValueError:  # a division by 0, or beyond 64 bits, which a call refuses
        return None


def _broken(conditions: Sequence[Tree], known: Known) -> int:
    return sum(not _value(condition, known) for condition in conditions)


def _numbers(conditions: Sequence[Tree], known: Known) -> Iterator[float]:
    """The values of all that stands in the conditions."""
    waiting = list(conditions)
    while waiting:
        tree = waiting.pop()
        value = _value(tree, known)
        if isinstance(value, (int, float)) and np.isfinite(value):
            yield value
        if isinstance(tree, Operation):
            waiting += tree.operands


def _near(numbers: Sequence[float], old: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of the numbers, one beside it, or one between two of them, in the type of the old value."""
    number, other = (numbers[int(rng.integers(len(numbers)))] for _ in "12")
    if kind(old.dtype) in "fc":
        choices = (number, number + rng.standard_normal(), number + (other - number) * rng.random())
        with np.errstate(over="ignore"):
            return np.array(choices[int(rng.integers(3))]).astype(old.dtype)
    if kind(old.dtype) == "b":
        return np.array(bool(rng.integers(2)))
    limits = np.iinfo(old.dtype)
    whole = int(number) + int(rng.integers(-1, 2))
    return np.array(min(max(whole, limits.min), limits.max), old.dtype)
