"""What blocks do on OpenCL: barriers under conditions, and where they stand; long sums; views of several levels."""

import textwrap

import numpy as np
import pytest
from tests.targets.built import same
from tests.targets.opencl.opencl_support import loop

CONDITIONS = {
    "if": """
for r in blocks(n):
    if x[r] == 0:
        seen[r] = 1
        x[r] += 2
""",
    "else": """
for r in blocks(n):
    if x[r] == 1:
        seen[r] = 7
    else:
        seen[r] = 1
        x[r] += 2
""",
    "continue": """
for r in blocks(n):
    if x[r] == 1:
        continue
    seen[r] = 1
    x[r] += 2
""",
    "loop": """
for r in blocks(n):
    for t in range(3):
        if x[r] == 2 * t:
            seen[r] = seen[r] + 1
            x[r] += 2
""",
    "break": """
for r in blocks(n):
    for t in range(4):
        if x[r] == 4:
            break
        seen[r] = seen[r] + t
        x[r] += 1
""",
    "nested": """
for r in blocks(n):
    if x[r] != 1:
        if seen[r] != 9:
            seen[r] = 1
            x[r] += 2
""",
    "threads": """
for r in blocks(n):
    if x[r] != 1:
        for c in threads(40):
            if c == 3:
                seen[r] = 5
        x[r] += 2
""",
    "while": """
for r in blocks(n):
    while x[r] < 3:
        if x[r] != 1:
            seen[r] = seen[r] + x[r] + 1
        x[r] += 1
""",
}


@pytest.mark.parametrize("grid", [None, 2])
@pytest.mark.parametrize("name", CONDITIONS)
def test_updates_under_conditions(name, grid):
    more = [f"launch: {{block: 32, grid: {grid}}}"] if grid else ["launch: {block: 32}"]
    built = loop("(x: inout int64[n], seen: inout int64[n])", CONDITIONS[name], *more)
    got = [np.arange(7) % 3, np.zeros(7, "i8")]
    wanted = [a.copy() for a in got]
    built.call(*got)
    built.python(*wanted)
    for g, w in zip(got, wanted, strict=True):
        same(g, w, name)


LOOP = """for c in threads({0}):
    {1}[r, c] = c + 1
"""
LONE = {"a store": "o[r] = 7", "in a loop": "for t in range(k):\n    o[r] += 7", "under a condition": "if k > 1:\n    o[r] = 7"}
JUMPS = {"": "", "a jump": "if a[r, 0] > k:\n    continue\n", "a jump that is taken": "if a[r, 0] < k:\n    continue\n"}


@pytest.mark.slow
@pytest.mark.parametrize("lone", LONE)
@pytest.mark.parametrize("jump", JUMPS)
def test_what_one_thread_stores_between_loops_over_threads_stays(lone, jump):
    """PoCL 3.1 forgot it behind a barrier and before a loop with barriers, where another loop stood on each side."""
    parts = (LOOP.format("n", "a"), LONE[lone], "\n", LOOP.format("k", "b"), LOOP.format(8, "d"), JUMPS[jump], "o[r] = o[r] + 2")
    body = "for r in blocks(3):\n" + textwrap.indent("".join(parts), "    ")
    built = loop("(n: int64, k: int64) -> (o: float64[3] = 1, a: float64[3, n] = 5, b: uint16[3, k] = 6, d: int8[3, 8])", body)
    for name, got, wanted in zip("oabd", built.call(4, 5), built.python(4, 5), strict=True):
        same(got, wanted, name)


COUNTS = ("min(n, 8)", "n % 8", "n & 7", "min(32, n - r * 32)", "max(n // n, 0)", "8", "n", "min(n, 300)")


@pytest.mark.parametrize("count", COUNTS)
def test_reductions_over_few_threads(count):
    """PoCL 3.1 lost the part of a thread, where a compiler saw that a loop over threads goes round once at most."""
    body = f"""
        for r in blocks(3):
            most[r] = max(x[r, c] for c in threads({count}))
            least[r] = min(float64(x[r, c]) for c in threads({count}))
            far[r] = max(x[r, c] + d for c, d in threads({count}, 4))
        best[()] = max(max(x[r, c] for c in threads({count})) for r in blocks(3))
    """
    outputs = "(most: float32[3] = 0, least: float64[3] = 0, far: float32[3] = 0, best: float32)"
    built = loop(f"(x: float32[3, n]) -> {outputs}", body)
    for n in (0, 1, 9, 40, 300) if "//" not in count and count != "8" else (9, 40):
        x = np.random.default_rng(n).normal(size=(3, n)).astype("f4")
        for got, wanted in zip(built.call(x), built.python(x), strict=True):
            same(np.asarray(got), np.asarray(wanted), f"{count} of {n}")


UPDATES = {
    "a store": "s[0] += 1\ns[x[b]] += 1",
    "an atomic": "s[0] += 1\natomic_add(a, x[b], 1)",
    "only an atomic": "for c in threads(3):\n    s[c] += x[b]\natomic_add(a, x[b], 1)",
    "the first is looked at": "s[x[b]] += 1\ns[0] += s[x[b]]",
    "three": "s[0] += 1\ns[x[b]] += s[0]\natomic_add(a, x[b] - 1, 1)",
    "behind a condition": "s[1] += 4\nif s[1] > 2:\n    s[0] += 1\natomic_add(a, x[b], s[0])",
    "in a condition": "s[1] += 4\nif x[b] < 3:\n    s[0] += 1\n    atomic_add(a, x[b], 1)",
    "in a loop": "s[1] += 4\nfor k in range(x[b]):\n    s[0] += k\n    atomic_add(a, x[b] - k, s[0])",
}
ELSE = "s[0] += 5\natomic_add(a, x[b] + 1, 1)"
HEADS = {"if": "if x[b] > 1:", "for": "for t in range(x[b]):", "while": "while s[2] < 4 * x[b]:\n    s[2] += 3"}


@pytest.mark.parametrize("head", [*HEADS, "else", "elif"])
@pytest.mark.parametrize("updates", UPDATES)
def test_neighbouring_updates_are_done_by_one_thread(updates, head):
    """All threads of PoCL 3.1 did one, behind or before another one whose index is looked at."""
    parts = ["s = shared((3,), int32)", LOOP.format(3, "s").replace("r, ", ""), HEADS.get(head, HEADS["if"])]
    parts.append(textwrap.indent(UPDATES[updates], "    "))
    if head not in HEADS:
        parts += ["else:" if head == "else" else "elif x[b] > 0:", textwrap.indent(ELSE, "    ")]
    parts.append("h[b] = s[0] + 10 * s[1] + 100 * s[2]")
    body = "for b in blocks(n):\n" + textwrap.indent("\n".join(parts), "    ")
    built = loop("(x: int32[n]) -> (h: int64[n] = 0, a: int32[3] = 0)", body)
    for x in np.array([0, 2, 1, 2], "i4"), np.array([2], "i4"):
        for name, got, wanted in zip("ha", built.call(x), built.python(x), strict=True):
            same(got, wanted, name)


def between(source, *parts):
    """How many barriers stand between each of these texts, which come one after the other, and the next."""
    places = [source.index(parts[0])]
    for part in parts[1:]:
        places.append(source.index(part, places[-1] + 1))
    return [source[a:b].count("barrier(CLK_LOCAL") for a, b in zip(places, places[1:], strict=False)]


def test_a_barrier_stands_at_the_end_of_a_loop_whose_next_turn_needs_it():
    body = """
        for r in blocks(m):
            t = shared((64,), float32)
            for c in threads(64):
                t[c] = x[r, c]
            while t[0] < 3:
                for c in threads(64):
                    t[c] = t[c] + 1
            for c in threads(64):
                out[r, c] = t[c]
    """
    built = loop("(x: float32[m, 64]) -> (out: float32[m, 64])", body)
    assert between(built.data.decode(), "t[c] = (t[c] + 1", "out[(") == [1]
    x = np.random.default_rng(0).normal(size=(3, 64)).astype("f4")
    same(built.call(x), built.python(x), "out")


def test_a_barrier_stands_between_the_counts_of_a_loop_and_its_iterations():
    body = """
        for r in blocks(m):
            for c in threads(x[r]):
                if c == 0:
                    x[r] = 5
    """
    source = loop("(x: inout int64[m])", body).data.decode()
    assert between(source, "_count_2 = ", "x[r] = 5") == [1]


def test_long_sums_carry_their_error():
    for body, signature in (
        ("total[()] = sum(x[i] for i in grid(n))", "(x: float32[n]) -> (total: float32)"),
        ("for r in blocks(1):\n    total[()] = sum(x[i] for i in threads(n))", "(x: float32[n]) -> (total: float32)"),
    ):
        x = np.full(2**22 + 5, 0.1, "f4")
        exact = float(np.float32(0.1)) * x.size
        got = float(loop(signature, body).call(x))
        assert abs(got - exact) <= (8 + 22) * 2.0**-24 * exact


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_bits_are_counted_in_whole_vectors_too(dtype):
    built = loop(
        f"(x: {dtype}[n]) -> (total: int64, ones: {dtype}[n], zeros: {dtype}[n])",
        "s = int64(0)\nfor i in grid(n):\n    ones[i] = popcount(x[i])\n    zeros[i] = clz(x[i])\n"
        "    s += int64(popcount(x[i])) * 100 + int64(clz(x[i]))\ntotal[()] = s",
    )
    limits = np.iinfo(dtype)
    x = np.random.default_rng(5).integers(limits.min, limits.max, 3000, dtype=dtype, endpoint=True)
    x[::7] = 0
    for got, wanted in zip(built.call(x), built.python(x), strict=True):
        same(np.asarray(got), np.asarray(wanted), dtype)


def test_views_of_several_levels():
    built = loop(
        "(x: broadcast int32[...], y: broadcast int32[...]) -> (out: int32[...])",
        "for i in grid(size):\n    out[i] = x[i] * 1000 + y[i]",
    )
    x = np.arange(2 * 3 * 4 * 5 * 6, dtype="i4").reshape(6, 5, 4, 3, 2).transpose(4, 2, 0, 3, 1)[:, :, ::2, ::-1]
    y = np.arange(5 * 3 * 4, dtype="i4").reshape(5, 3, 4).T[:, :, None, :]
    same(built.call(x, y), x * 1000 + y, "out")
