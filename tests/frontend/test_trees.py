"""The trees of the design's examples, and of each construct."""

import textwrap

from pydotcompute.ir import tree as t
from pydotcompute.ir import printer as tree_print

SAXPY = """
for i in grid(size):
    out[i] = a * x[i] + y[i]
"""
SOFTMAX = """
def f(x, out):
    for r in blocks(rows):
        m = max(x[r, c] for c in threads(cols))
        s = T(0)
        for c in threads(cols):
            e = exp(x[r, c] - m)
            out[r, c] = e
            s += e
        for c in threads(cols):
            out[r, c] /= s
"""


def same(text, expected):
    assert text == textwrap.dedent(expected).lstrip("\n")


def test_saxpy(build, printed):
    settings = {"signature": "(a: T, x: T[...], y: T[...]) -> (out: T[...])", "types": "{T: [float32, float64]}"}
    same(
        printed(SAXPY, **settings),
        """
        for i in grid(size):
            out[i] = ((a * x[i]) + y[i])
        """,
    )
    tree = build(SAXPY, **settings, choice=1)
    assert tree.locals == {"i": "int64"} and tree.symbols == ("size",)
    assert [(p.name, p.dtype) for p in tree.parameters] == [(name, "float64") for name in ("a", "x", "y", "out")]


def test_softmax(build, printed):
    settings = {"template": SOFTMAX, "signature": "(x: T[..., cols]) -> (out: T[..., cols])"}
    same(
        printed(**settings),
        """
        for r in blocks(rows):
            for c in threads(cols), max max_1: float32 from -inf:float32:
                max_1 <max> x[r, c]
            m = max_1
            s = 0.0:float32
            for c in threads(cols), sum s: float32:
                e = exp((x[r, c] - m))
                out[r, c] = e
                s <sum> e
            for c in threads(cols):
                out[r, c] = (out[r, c] / s)
        """,
    )
    assert build(**settings).locals == {
        "r": "int64", "c": "int64", "m": "float32", "s": "float32", "e": "float32", "max_1": "float32"
    }  # fmt: skip


# ------------------------------------------------------------------------------- where things go in the tree


def test_reductions_stand_before_their_statement(printed):
    same(
        printed(
            "for r in blocks(n):\n    out[r] = max(x[c] for c in threads(n) if b[c]) + sum(k[c] for c in threads(r))"
        ),
        """
        for r in blocks(n):
            for c in threads(n), max max_1: float32 from -inf:float32:
                if b[c]:
                    max_1 <max> x[c]
            for c in threads(r), sum sum_1: int64 from 0:
                sum_1 <sum> int64(k[c])
            out[r] = float32((float64(max_1) + float64(sum_1)))
        """,
    )


def test_a_reduction_in_a_while_is_computed_before_each_turn(printed):
    same(
        printed(
            """
            for r in blocks(n):
                m = 0
                while any(x[c] > m for c in threads(n)):
                    m += 1
                out[r] = m
            """
        ),
        """
        for r in blocks(n):
            m = 0
            while True:
                for c in threads(n), any any_1: bool from False:
                    any_1 <any> (x[c] > float32(m))
                if (not any_1):
                    break
                m = (m + 1)
            out[r] = float32(m)
        """,
    )


IDENTITIES = {
    "sum(x[c] for c in threads(n))": "sum: float32 from 0.0:float32",
    "sum(u[c] for c in threads(n))": "sum: uint64 from 0:uint64",
    "sum(b[c] for c in threads(n))": "sum: int64 from 0",
    "sum(1 for c in threads(n))": "sum: int64 from 0",
    "sum(0.5 for c in threads(n))": "sum: float64 from 0.0",
    "min(x[c] for c in threads(n))": "min: float32 from inf:float32",
    "max(u[c] for c in threads(n))": "max: uint8 from 0:uint8",
    "min(k[c] for c in threads(n))": "min: int32 from 2147483647:int32",
    "max(c for c in threads(n))": "max: int64 from -9223372036854775808",
    "min(b[c] for c in threads(n))": "all: bool from True",
    "max(b[c] for c in threads(n))": "any: bool from False",
    "any(x[c] for c in threads(n))": "any: bool from False",
    "all(b[c] for c in threads(n))": "all: bool from True",
    "argmin(x[c] for c in threads(n))": "argmin: int64 of float32 from -1",
    "argmax(c for c in threads(n))": "argmax: int64 from -1",
}


def test_what_reductions_start_from(build):
    for text, wanted in IDENTITIES.items():
        reduction = build(f"for r in blocks(n):\n    out[r] = {text}").main.body[0].reductions[0]
        found = tree_print.reduction(reduction).replace(f" {reduction.name}", "", 1)
        assert found == wanted, text


def test_accumulators(build):
    body = """
        s = 0.0
        p = T(1)
        m = inf
        t = True
        c = 0
        for i in grid(n):
            if b[i]:
                s += x[i]
                s -= 2
            p *= a
            m = min(x[i], m)
            t &= b[i]
            c ^= k[i]
        count2 = s + p + m
    """
    loop = build(body).main
    assert [tree_print.reduction(r) for r in loop.reductions] == [
        "sum s: float32", "prod p: float32", "min m: float32", "and t: bool", "xor c: int64",
    ]  # fmt: skip
    same(
        tree_print.statements(loop.body),
        """
        if b[i]:
            s <sum> x[i]
            s <sum> (-2.0:float32)
        p <prod> a
        m <min> x[i]
        t <and> b[i]
        c <xor> int64(k[i])
        """,
    )


def test_helpers_are_built_for_each_choice_of_types_callees_first(build):
    template = """
        def inner(v, q):
            return v[0] * q

        def outer(v, q):
            t = inner(v, q)
            return t + q, 1

        def f(a, x, k, u, b, out, count):
            for i in grid(n):
                p, q = outer(x, 0.5)
                s, q = outer(x, a)
                r = inner(k, 2)
                out[i] = p + s + q + r
    """
    tree = build(template=template)
    same(
        "".join(line + "\n" for line in tree_print.text(tree).split("\ndef f")[0].split("\n")),
        """
        def inner(v_1: float32[:], q_2: float64) -> float32:
            return (v_1[0] * float32(q_2))
        def outer(v: float32[:], q_1: float64) -> float32, int64:
            t = inner(v, q_1)
            return (t + float32(q_1)), 1
        def inner_1(v_3: float32[:], q_4: float32) -> float32:
            return (v_3[0] * q_4)
        def outer_1(v_2: float32[:], q_3: float32) -> float32, int64:
            t_1 = inner_1(v_2, q_3)
            return (t_1 + q_3), 1
        def inner_2(v_4: int32[:], q_5: int64) -> int32:
            return (v_4[0] * int32(q_5))
        """,
    )
    assert [h.parameters[0].array for h in tree.helpers] == ["x", "x", "x", "x", "k"]
    names = [name for h in tree.helpers for name in (h.name, *(p.name for p in h.parameters))]
    assert len(set(names)) == len(names) and not set(names) & tree.locals.keys()


def test_a_name_with_weak_values_only_stays_weak(printed):
    same(
        printed("for i in grid(n):\n    h = 0.5\n    h += i\n    out[i] = x[i] * h\n    count[i] = h"),
        """
        for i in grid(n):
            h = 0.5
            h = (h + float64(i))
            out[i] = (x[i] * float32(h))
            count[i] = int64(h)
        """,
    )


def test_weak_assignments_adopt_a_strong_type_that_comes_later(printed):
    same(
        printed(
            """
            for i in grid(n):
                s = 0
                t = s
                for j in range(2):
                    t = s
                    s += x[j]
                out[i] = t
            """
        ),
        """
        for i in grid(n):
            s = 0.0:float32
            t = s
            for j in range(0, 2, 1):
                t = s
                s = (s + x[j])
            out[i] = t
        """,
    )


def test_arrays_of_one_name_are_two_arrays(build):
    body = """
        for r in blocks(n):
            for c in threads(n):
                w = local(3, float64)
                w[0] = x[c]
            for c in threads(n):
                w = local((2, TILE), int8)
                w[1, 2] = 1
    """
    tree = build(body, extra="params: {TILE: 32}")
    assert {n: (a.kind, a.shape, a.dtype) for n, a in tree.arrays.items()} == {
        "w": ("local", (3,), "float64"), "w_1": ("local", (2, 32), "int8"),
    }  # fmt: skip


def test_long_sums_are_kept_in_locals_on_the_way(build):
    """Python itself nests 200 brackets at most, and the tree is printed with one for each operation."""
    tree = build("for i in grid(n):\n    out[i] = " + " + ".join(f"x[i] * {j}" for j in range(150)))
    assert len([s for s in tree.main.body if isinstance(s, t.Assign)]) == 6
    assert max(tree_print.statements((s,)).count("(") for s in tree.main.body) < 60


def test_everything_has_the_place_where_it_was_written(build):
    tree = build("for i in grid(n):\n    v = a * x[i + 1]\n    out[i] = v if b[i] else k[i] ** k[i]")
    load = next(node for node in t.walk(tree.main) if isinstance(node, t.Load) and node.array == "x")
    assert load.at.text[load.at.column - 1 :] == "x[i + 1]"
    power = next(node for node in t.walk(tree.main) if isinstance(node, t.Binary) and node.op == "**")
    assert power.at.text[power.at.column - 1 :] == "k[i] ** k[i]"
    for node in t.walk(tree.main):
        assert node.at is not None, node


def test_a_mistake_in_an_included_template_points_there(refusal, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/tools.py.j2").write_text("def g(v):\n    return epx(v)\n")
    error = refusal(
        template="{% include 'tools.py.j2' %}\n"
        "def f(a, x, k, u, b, out, count):\n    for i in grid(n):\n        out[i] = g(x[i])"
    )
    assert (error.at.path.split("/")[-1], error.at.line, error.at.column) == ("tools.py.j2", 2, 12)


def test_a_deep_expression_is_split_where_it_is_evaluated_only_sometimes(printed):
    text = printed("for i in grid(n):\n    out[i] = x[i] if a > 0 else " + "a + " * 70 + "a")
    assert "else:\n" in text and "        kept_1 = (" in text and max(line.count("(") for line in text.split("\n")) < 60


def test_an_expression_that_is_too_deep_is_refused(refusal):
    error = refusal("for i in grid(n):\n    out[i] = " + "a + " * 300 + "a")
    assert error.message == "an expression nested 302 deep; 200 are allowed"


def test_a_raw_kernel_has_no_tree(refusal):
    error = refusal(
        "i = cuda.grid(1)\nif i < out.size:\n    out[i] = a * x[i]",
        signature="(a: T, x: T[n]) -> (out: T[n])",
        extra="launch: {block: 128, grid: '(n + 127) // 128'}",
    )
    assert error.message == "kernel f is raw: it uses `cuda.`, and has no typed tree"


SCALARS = "(x: T[...], n: int32) -> (total: T, hits: int64 = 0)"


def test_scalar_outputs(printed, refusal):
    body = """
        for i in grid(size):
            if x[i] > n:
                atomic_add(hits, (), 1)
    """
    same(
        printed(body, signature=SCALARS),
        """
        for i in grid(size):
            if (float64(x[i]) > float64(n)):
                atomic hits[()] add 1
        """,
    )
    body = """
        s = x[0]
        for i in grid(size):
            s += x[i]
        total[()] = s
        total[()] /= size + x[0]
        if s > 3:
            hits[()] = 1
    """
    assert "total[()] = (total[()] / (float32(size) + x[0]))" in printed(body, signature=SCALARS)
    for text, message, hint in (
        ("total[0] = 1", "`total` has 0 dimensions, found 1 index", "write `total[()]`"),
        ("total = 1", "`total` cannot be assigned: it is an output scalar", "store into its elements: `total[()] = …`"),
        ("s = total + 1", "`total` is an output scalar", "write `total[()]`"),
        ("total[()] = 1", None, ""),
    ):
        body = f"for i in grid(size):\n    {text}"
        if message:
            error = refusal(body, signature=SCALARS)
            assert (error.message, error.hint) == (message, hint)
        else:
            assert printed(body, signature=SCALARS).endswith("total[()] = 1.0:float32\n")


def test_a_dimension_that_is_an_argument_too_is_weak(printed):
    same(
        printed("for i in grid(n):\n    out[i] = value * n", signature="(n: int64, value: T) -> (out: T[n])"),
        """
        for i in grid(n):
            out[i] = (value * float32(n))
        """,
    )
