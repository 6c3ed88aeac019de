"""`scatter` on every target, where the values that meet are the same."""

import numpy as np
from tests.targets.built import agree, draw, every_target, loop


@every_target
def test_views_and_places_of_two_dimensions(target):
    body = """
        for i in grid(n):
            scatter(table, (k[i], i % 3), v[i])
            scatter(last, 5)
            atomic_add(count, 1)
    """
    signature = "(k: int64[n], v: float32[n], table: inout strided float32[m, 3]) -> (last: int64, count: int32 = 0)"
    at, v, table = np.arange(30), draw(30), np.zeros((3, 10), "f4").T
    agree(loop(target, signature, body), at // 3, v, table)
    assert (table[at // 3, at % 3] == v).all()


@every_target
def test_a_block_scatters_into_its_shared_array(target):
    body = """
        for r in blocks(m):
            seen = shared((16,), int32)
            for c in threads(16):
                seen[c] = 0
            for c in threads(n):
                scatter(seen, x[r, c] & 15, 1)
            for c in threads(16):
                out[r, c] = seen[c]
    """
    built = loop(target, "(x: int64[m, n]) -> (out: int32[m, 16])", body)
    for rows in (3, 40):
        agree(built, np.random.default_rng(rows).integers(0, 99, (rows, 9)))


@every_target
def test_the_first_thread_alone_scatters_for_a_block(target):
    built = loop(target, "(k: int64[m], b: int64) -> (out: int64[b] = 0)", "for r in blocks(m):\n    scatter(out, k[r], r)")
    agree(built, np.random.default_rng(0).permutation(5), 5)
