"""The trees of the design's examples, and of each construct."""

import textwrap

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
