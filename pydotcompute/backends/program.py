"""The control around the phases of a kernel on a device, which the host follows: artifact/launch.py says what it means.

Integers are those of kernels: int64, which wraps.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Sequence

from ..artifact.dimensions import evaluate, from_data


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


def follow(
    program: Sequence[Any], known: dict[str, Any], read: Callable[[int, str], bool | int]
) -> Iterator[int]:
    """The numbers of the launches, in order. `known` has the value of every name, and what the program sets. read: the
    value of a dtype in a scratch array, once all launches before are done."""
    for kind, *rest in program:
        if kind == "launch":
            yield rest[0]
        elif kind == "set":
            known[rest[0]] = _value(rest[1], known)
        elif kind == "read":
            name, dtype, place = rest
            known[name] = read(place, dtype)
        elif kind == "if":
            yield from follow(rest[1] if _value(rest[0], known) else rest[2], known, read)
        elif kind == "break":
            raise _Break
        elif kind == "continue":
            raise _Continue
        else:
            try:
                for _ in _turns(kind, rest, known):
                    try:
                        yield from follow(rest[-1], known, read)
                    except _Continue:
                        pass
            except _Break:
                pass


def _turns(kind: str, rest: Sequence[Any], known: dict[str, Any]) -> Iterator[None]:
    if kind == "while":
        while _value(rest[0], known):
            yield
        return
    name, *bounds, _ = rest
    start, stop, step = (_value(bound, known) for bound in bounds)
    for known[name] in range(start, stop, step) if step else ():
        yield


def _value(data: Any, known: dict[str, Any]) -> Any:
    return evaluate(from_data(data), known)


def parsed(program: Sequence[Any]) -> list[Any]:
    """The program with trees for its expressions."""
    return [[kind, *(parsed(part) if _is_steps(part) else from_data(part) for part in rest)] for kind, *rest in program]


def expressions(program: Sequence[Any]) -> Iterator[Any]:
    """What the host computes in it."""
    for kind, *rest in program:
        for part in rest:
            if _is_steps(part):
                yield from expressions(part)
            elif kind != "read":
                yield part


def waits(program: Sequence[Any]) -> bool:
    """Whether the host has to wait for the device in it."""
    return any(step[0] == "read" or any(waits(part) for part in step if _is_steps(part)) for step in program)


def host_names(program: Sequence[Any]) -> Iterator[str]:
    """The integers that the program sets."""
    for step in program:
        if step[0] in ("set", "for", "read"):
            yield step[1]
        for part in step:
            if _is_steps(part):
                yield from host_names(part)


def _is_steps(part: Any) -> bool:
    """Whether a part of a step is steps: a list of lists, where operations are lists that begin with a text, or trees.
    """
    return isinstance(part, list) and (not part or isinstance(part[0], list))
