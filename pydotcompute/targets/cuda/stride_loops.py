"""Loops whose step is the number of threads or blocks that share them: grid-stride and block-stride loops."""

from __future__ import annotations

from collections.abc import Callable

from ..llvm.statements import Statements
from ..llvm.writer import Writer


def stride_loop(
    writer: Writer, statements: Statements, name: str, first: str, stop: str, step: str, body: Callable[[], None],
    said: str = "", head: Callable[[], None] = lambda: None, near: bool = False,
) -> str:  # fmt: skip
    """`for name in range(first, stop, step)` for a step above 0, without numba's count of iterations; where it ends.
    statements: what writes a `continue` in the body; head: what its beginning; said: "unrolled" or "rolled", a word
    about the loop; near: it counts in 32 bits."""
    if near:
        first, stop, step = (f"to_int32({text})" for text in (first, stop, step))
    place = writer.held("_place", first)
    found = f"to_int64({place})" if near else place

    def advance() -> None:
        writer.assign(place, f"{'advanced' if said else 'add'}({place}, {step})")

    with writer.while_(f"lt({place}, {stop})"), statements.iteration(advance):
        head()
        writer.assign(name, found)
        body()
        if said:
            writer.line(f"{said}()")
        advance()
    return found
