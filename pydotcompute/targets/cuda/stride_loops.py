"""Loops whose step is the number of threads or blocks that share them: grid-stride and block-stride loops."""

from __future__ import annotations

from collections.abc import Callable

from ..llvm.statements import Statements
from ..llvm.writer import Writer


def stride_loop(
    writer: Writer, statements: Statements, name: str, first: str, stop: str, step: str, body: Callable[[], None],
    said: str = "", head: Callable[[], None] = lambda: None,
) -> str:  # fmt: skip
    """`for name in range(first, stop, step)` for a step above 0, without numba's count of iterations; the name of where
    it ends. statements: what writes a `continue` in the body; head: what its beginning; said: "unrolled" or "rolled", a
    word about the loop."""
    place = writer.held("_place", first)

    def advance() -> None:
        writer.assign(place, f"{'advanced' if said else 'add'}({place}, {step})")

    with writer.while_(f"lt({place}, {stop})"), statements.iteration(advance):
        head()
        writer.assign(name, place)
        body()
        if said:
            writer.line(f"{said}()")
        advance()
    return place
