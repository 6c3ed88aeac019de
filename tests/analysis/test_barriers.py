"""Where the threads of a block wait: exact places for kernels as users write them, and every path of random ones."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from pydotcompute.ir import tree as t
from pydotcompute.analysis.barriers import barriers
from pydotcompute.artifact.signature import Parameter

HEAD = "for b in blocks(n):\n    s = shared((64,), T)\n    u = shared((64,), T)\n"

PLACES = {
    "no shared access": ("    for c in threads(64):\n        out[b, c] = x[b, c]", set()),
    "the same thread": (
        "    for c in threads(64):\n        s[c] = x[b, c]\n    for c in threads(64):\n        out[b, c] = s[c]",
        set(),
    ),
    "a neighbour's element": (
        "    for c in threads(64):\n        s[c] = x[b, c]\n    for c in threads(64):\n        out[b, c] = s[63 - c]",
        {(2,), (3,)},  # statement 2 for the next block, which stores while this one may read
    ),
    "other counts": (
        "    for c in threads(64):\n        s[c] = x[b, c]\n    for c in threads(32):\n        out[b, c] = s[c]",
        {(2,), (3,)},
    ),
    "the same thread, global memory": (
        "    for c in threads(64):\n        out[b, c] = x[b, c]\n    for c in threads(64):\n        out[b, c] *= 2",
        set(),
    ),
    "global memory, another thread": (
        "    for c in threads(64):\n        out[b, c] = x[b, c]\n"
        "    for c in threads(32):\n        out[b, 2 * c] = out[b, 2 * c] + 1",
        {(3,)},
    ),
    "a block's store, read by all": (
        "    s[0] = x[b, 0]\n    for c in threads(64):\n        out[b, c] = s[0]",
        {(2,), (3,)},
    ),
    "two of a block's stores": ("    s[0] = x[b, 0]\n    s[0] = s[0] + 1\n    out[b, 0] = s[0]", set()),
    "a block's own value": (
        "    s[0] = x[b, 0]\n    m = s[0]\n    for c in threads(64):\n        out[b, c] = m",
        {(2,), (3,)},
    ),
    "back edge": (
        "    for k in range(4):\n"
        "        for c in threads(64):\n            s[c] = x[b, c]\n"
        "        for c in threads(64):\n            out[b, c] = s[63 - c]",
        {(2, 0, 0), (2, 0, 1)},
    ),
    "two buffers share barriers": (
        "    for c in threads(64):\n        s[c] = x[b, c]\n    for c in threads(64):\n        u[c] = x[b, 63 - c]\n"
        "    for c in threads(64):\n        out[b, c] = s[63 - c] + u[63 - c]",
        {(2,), (4,)},
    ),
    "before a loop rather than in it": (
        "    for c in threads(64):\n        s[c] = x[b, c]\n"
        "    for k in range(4):\n        for c in threads(64):\n            out[b, c] = s[63 - c]",
        {(2,), (3,)},
    ),
    "only in the branch that needs it": (
        "    for c in threads(64):\n        s[c] = x[b, c]\n"
        "    if n > 3:\n        for c in threads(64):\n            out[b, c] = s[63 - c]\n"
        "    else:\n        for c in threads(64):\n            out[b, c] = s[c]",
        {(2,), (3, 0, 0)},
    ),
    "a condition that reads what the body stores": (
        "    s[0] = 4\n    while s[0] > 0:\n        s[0] -= 1\n    out[b, 0] = s[0]",
        {(2,), (3,), (3, 0, 0), (3, 0, 1)},
    ),
    "what a break leaves behind": (
        "    for k in range(4):\n"
        "        for c in threads(64):\n            s[c] = x[b, c]\n"
        "        if n > k:\n            break\n"
        "        for c in threads(64):\n            out[b, c] = s[63 - c]\n"
        "    for c in threads(64):\n        out[b, c] = s[63 - c] * 2",
        {(2, 0, 0), (2, 0, 2), (3,)},
    ),
    "what a continue leaves behind": (
        "    for c in threads(64):\n        s[c] = 0\n"
        "    for k in range(4):\n"
        "        for c in threads(64):\n            out[b, c] = s[63 - c]\n"
        "        for c in threads(64):\n            s[c] = x[b, c]\n"
        "        if n > k:\n            continue\n"
        "        for c in threads(64):\n            u[c] = s[63 - c]",
        {(2,), (3, 0, 0), (3, 0, 1), (3, 0, 3)},
    ),
    "what a continue of an inner loop leaves behind": (
        "    for k in range(4):\n"
        "        for j in range(4):\n"
        "            for c in threads(64):\n                out[b, c] = s[63 - c]\n"
        "            for c in threads(64):\n                s[c] = x[b, c]\n"
        "            if n > j:\n                continue\n"
        "            for c in threads(64):\n                u[c] = s[63 - c]",
        {(2, 0, 0, 0, 0), (2, 0, 0, 0, 1), (2, 0, 0, 0, 3)},
    ),
    "what a break of an inner loop leaves behind": (
        "    for k in range(4):\n"
        "        for j in range(4):\n"
        "            for c in threads(64):\n                s[c] = x[b, c]\n"
        "            if n > j:\n                break\n"
        "            for c in threads(64):\n                s[c] = x[b, c] + 1\n"
        "        for c in threads(64):\n            out[b, c] = s[63 - c]",
        {(2, 0, 0), (2, 0, 1)},
    ),
    "the bounds of a range are read once": (
        "    v = shared((4,), int64)\n    v[0] = n\n    for k in range(v[0]):\n"
        "        for c in threads(4):\n            v[c] = k",
        {(3,), (4,), (4, 0, 0)},  # none at the end of its body
    ),
    "counts that the loop stores to": (
        "    v = shared((64,), int64)\n    v[0] = 64\n    for c in threads(v[0]):\n        v[c] = c",
        {(3,), (4,), (4, 0, 0)},
    ),
    "atomics of one kind": (
        "    for c in threads(64):\n        s[c] = 0\n"
        "    for c in threads(64):\n        atomic_add(s, c // 2, x[b, c])\n"
        "    for c in threads(64):\n        atomic_add(s, c // 4, x[b, c])\n"
        "    for c in threads(64):\n        out[b, c] = s[c]",
        {(3,), (5,)},  # none at 2: s[c] = 0 for the next block is by the thread that read s[c]
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_places(name, tree):
    body, wanted = PLACES[name]
    assert barriers(tree("(x: T[n, 64]) -> (out: T[n, 64])", HEAD + body)) == wanted


def test_two_dimensions(tree):
    built = tree(
        "(x: T[n, 32, 32]) -> (out: T[n, 32, 32])",
        """
        for b in blocks(n):
            tile = shared((32, 33), T)
            mine = private((32, 32), T)
            for r, c in threads(32, 32):
                tile[r, c] = x[b, r, c]
                mine[r, c] = 0
            for r, c in threads(32, 32):
                tile[r, c] += 1
                mine[r, c] += tile[r, c]
            for r, c in threads(32, 32):
                out[b, r, c] = tile[c, r] + mine[r, c]
        """,
    )
    assert barriers(built) == {(2,), (4,)}


def test_a_tree_reduction(tree):
    built = tree(
        "(x: T[n, 128]) -> (out: T[n])",
        """
        for b in blocks(n):
            s = shared((128,), T)
            for c in threads(128):
                s[c] = x[b, c]
            k = 128
            while k > 1:
                k = k // 2
                for c in threads(k):
                    s[c] += s[c + k]
            out[b] = s[0]
        """,
    )
    assert barriers(built) == {(1,), (3, 0, 1), (4,)}


def test_reductions_may_synchronise(tree):
    built = tree(
        "(x: T[n, 64]) -> (out: T[n, 64])",
        HEAD
        + "    for c in threads(64):\n        s[c] = x[b, c]\n"
        + "    m = max(s[c] for c in threads(64))\n"
        + "    for c in threads(64):\n        out[b, c] = s[63 - c] - m",
    )
    last = (len(built.main.body) - 1,)
    assert barriers(built) == {(2,), last}
    assert barriers(built, reductions_synchronise=True) == {(2,)}


def test_a_grid_kernel_has_none(tree):
    assert barriers(tree("(x: T[n]) -> (out: T[n])", "for i in grid(n):\n    out[i] = x[i]")) == frozenset()


# ------------------------------------------------------------------------------------------ random block bodies

N = 4
C = t.Var("c", "int64")
ARRAYS = ("s", "u")


def const(v):
    return t.Const(v, "int64")


def other(index):
    return t.Binary("%", t.Binary("+", index, const(1), "int64"), const(N), "int64")


in_threads = st.sampled_from([C, other(C), const(0)])
at_block = st.sampled_from([const(0), const(1)])


def touches(index):
    load = st.builds(lambda a, i: t.Load(a, (i,), "int64"), st.sampled_from(ARRAYS), index)
    return st.one_of(
        st.builds(lambda a, i, v: t.Store(a, (i,), v), st.sampled_from(ARRAYS), index, load),
        st.builds(lambda v: t.Assign("v", v), load),
        st.builds(lambda a, i: t.Atomic("add", a, (i,), const(1)), st.sampled_from(ARRAYS), index),
    )


threads = st.builds(
    lambda n, body: t.Parallel("threads", ("c",), (const(n),), tuple(body)),
    st.sampled_from([N, N, 2]),
    st.lists(touches(in_threads), min_size=1, max_size=2),
)
condition = st.one_of(
    st.just(t.Var("p", "bool")),
    st.builds(lambda a: t.Compare(">", t.Load(a, (const(0),), "int64"), const(0)), st.sampled_from(ARRAYS)),
)


def compound(inner):
    body = st.lists(inner, max_size=3).map(tuple)
    leave = st.builds(
        lambda b, last: t.If(t.Var("p", "bool"), (*b, last)), body, st.sampled_from([t.Break(), t.Continue()])
    )
    in_loop = st.lists(st.one_of(inner, leave), min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(t.If, condition, body, body),
        st.builds(lambda b: t.For("k", const(0), const(3), const(1), b), in_loop),
        st.builds(t.While, condition, in_loop),
    )


blocks = st.lists(st.recursive(st.one_of(threads, touches(at_block)), compound, max_leaves=6), min_size=1, max_size=5)


def kernel(body):
    arrays = {name: t.NewArray("shared", name, (N,), "int64") for name in ARRAYS}
    main = t.Parallel("blocks", ("b",), (t.Var("n", "int64"),), tuple(body))
    return t.KernelTree("k", (Parameter("p", "bool", None, "in"),), ("n",), {}, arrays, (), (main,), ())


class Leave(Exception):
    def __init__(self, kind):
        self.kind = kind


class Trace:
    """Walks a block's body by the choices given for its conditions, and notes who touches what between barriers."""

    def __init__(self, places, choices):
        self.places, self.choices = places, choices
        self.since, self.instance = [], 0

    def choose(self):
        if not self.choices:
            raise Leave("end")
        return self.choices.pop(0)

    def place(self, path):
        if path in self.places:
            self.since = []

    def touch(self, node, thread, c):
        for inner in t.walk(node):
            if isinstance(inner, (t.Load, t.Store, t.Atomic)):
                index = {C: c, other(C): ((c or 0) + 1) % N}.get(inner.indices[0])
                index = inner.indices[0].value if index is None else index
                kind = type(inner).__name__
                for instance, who, array, element, did in self.since:
                    different = who != thread or thread == "every"
                    if instance == self.instance:  # iterations of one loop: a matter of races
                        continue
                    if different and (array, element) == (inner.array, index) and {did, kind} != {"Load"}:
                        assert did == kind == "Atomic", (who, did, thread, kind, array)
                self.since.append((self.instance, thread, inner.array, index, kind))

    def block(self, body, base):
        for k, s in enumerate(body):
            self.place((*base, k))
            self.statement(s, (*base, k))
        self.place((*base, len(body)))

    def statement(self, s, path):
        self.instance += 1
        match s:
            case t.Parallel():
                for c in range(s.counts[0].value):
                    for inner in s.body:
                        self.touch(inner, c, c)
            case t.Store() | t.Atomic():
                self.touch(s, "one", None)
            case t.Assign():
                self.touch(s, "every", None)
            case t.If():
                self.touch(s.condition, "every", None)
                branch = 0 if self.choose() else 1
                self.block((s.body, s.orelse)[branch], (*path, branch))
            case t.For() | t.While():
                for _ in range(3):
                    self.instance += 1
                    if isinstance(s, t.While):
                        self.touch(s.condition, "every", None)
                    if not self.choose():
                        break
                    try:
                        self.block(s.body, (*path, 0))
                    except Leave as leave:
                        if leave.kind == "end":
                            raise
                        if leave.kind == "break":
                            break
            case t.Break() | t.Continue():
                raise Leave(type(s).__name__.lower())


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(body=blocks, choices=st.lists(st.lists(st.booleans(), max_size=24), min_size=2, max_size=6))
def test_every_path_waits_where_threads_meet(body, choices):
    places = barriers(kernel(body))
    for chosen in choices:
        trace = Trace(places, list(chosen))
        try:
            for _ in itertools.repeat(None, 3):  # blocks, one after the other, in the same shared memory
                trace.block(body, ())
                if (len(body),) in places:
                    trace.place((len(body),))
        except Leave as leave:
            assert leave.kind == "end"
