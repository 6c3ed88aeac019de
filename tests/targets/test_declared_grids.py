"""Grids of blocks that a declaration gives: any of them computes the same."""

import pytest
from tests.targets.built import agree, draw, every_target, loop


@every_target
@pytest.mark.parametrize("grid", ["[3, 2]", "[1, n // 3, 2]"])
def test_a_declared_grid_of_more_axes_than_a_loop_has(target, grid):
    """Each iteration is done by one of the blocks that lie beside each other."""
    body = """
        x[0] = x[0] + 7
        for i in grid(n):
            x[i] = x[i] + 1
        for i, j in grid(n, m):
            y[i, j] = y[i, j] + x[i]
        for i in blocks(n):
            s = sum(y[i, j] for j in threads(m))
            for j in threads(m):
                y[i, j] = y[i, j] * s
        t = 0
        for i in grid(n):
            x[i] = x[i] * 2
            t += x[i]
        x[1] = t
    """
    signature = "(x: inout int32[n], y: inout int32[n, m])"
    built = loop(target, signature, body, f"launch: {{block: 32, grid: {grid}}}")
    for n, m in ((300, 2), (5, 40), (2, 0)):
        agree(built, draw(n, dtype="i4"), draw(n, m, dtype="i4"))
