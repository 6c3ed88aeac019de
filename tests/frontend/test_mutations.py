"""Kernels with random changes: each has a tree, or is refused at a place in the file; nothing else happens."""

import io
import random
import textwrap
import tokenize

import pytest

from pydotcompute import declare
from pydotcompute.declare.model import Rendered
from pydotcompute.errors import DeclarationError
from pydotcompute.ir import printer as tree_print
from pydotcompute.frontend.build import build_tree

TEXT = """
def total(v, q):
    s = v[0] * q
    while s > 9:
        s -= 2
        if s < q:
            break
    return s, q // 2

def f(a, x, k, b, out, count):
    m = a + 0.5
    for r, q in blocks(n, TILE):
        t = shared((TILE, 2), float64)
        s = 0
        low = inf
        for c, d in threads(TILE, 2):
            v = local(3, T)
            v[d], v[2] = x[c], k[c] % 3
            t[c, d] = v[d] + sqrt(m) * (b[c] and not c < d)
            s += v[0]
            low = min(low, v[1])
        if any(x[c] > 0 for c in threads(n) if b[c]) or s:
            p, s = total(x, s)
            atomic_add(count, r % 4, 1 + p)
        for j in range(2, -1, -1):
            for c in threads(r + 1):
                if t[c, j] != 0 <= a:
                    continue
                out[c] = max(t[c, 1 - j], low, 2 ** j) / n
""".strip()
SIGNATURE = "(a: T, x: T[n], k: int32[n], b: bool[n]) -> (out: T[n], count: int64[4])"
WORDS = (
    "sum min any argmax threads grid blocks range shared local private atomic_max exp where e pi T TILE n float32 bool"
    " x out a t s c r 0 1 -1 0.5 1j 300 2**70 None 'text' True not and or if else for in while break continue return"
    " pass lambda print del ( ) [ ] , : = += /= <<= + * ** / // @ & << < == ~ . := ... *x {} i[0]"
).split()


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    root = tmp_path_factory.mktemp("mutations")
    (root / "templates").mkdir()
    (root / "templates/f.py.j2").write_text(TEXT)
    (root / "kernels.yaml").write_text(
        f'version: 1\nkernels:\n  f:\n    signature: "{SIGNATURE}"\n    types: {{T: [float32]}}\n'
        "    params: {TILE: 4}\n    template: f.py.j2\n"
    )
    return declare.load(root).kernels["f"]


def attempt(kernel, text):
    """Whether the text has a tree; a DeclarationError has a place in it."""
    lines = tuple(text.split("\n"))
    origins = tuple((0, k + 1) for k in range(len(lines)))
    rendered = Rendered(text, ("f.py.j2",), {"f.py.j2": text}, origins, (lines,))
    try:
        tree_print.text(build_tree(kernel, kernel.specialisations[0], rendered))
    except DeclarationError as error:
        assert 1 <= error.at.line <= len(lines) and error.message in str(error)
        return False
    return True


def test_the_text_itself_has_a_tree(kernel):
    assert attempt(kernel, TEXT)


@pytest.mark.parametrize("seed", range(4))
def test_mutations(kernel, seed):
    draw = random.Random(seed)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(TEXT).readline) if t.string.strip()]
    accepted = 0
    for _ in range(250):
        lines = TEXT.split("\n")
        token = draw.choice(tokens)
        row, (begin, end) = token.start[0] - 1, (token.start[1], token.end[1])
        new = draw.choice([draw.choice(WORDS), draw.choice(tokens).string, "", f"{token.string} {draw.choice(WORDS)}"])
        lines[row] = lines[row][:begin] + new + lines[row][end:]
        if draw.random() < 0.2:
            first, second = draw.sample(range(len(lines)), 2)
            lines[first], lines[second] = lines[second], lines[first]
        accepted += attempt(kernel, textwrap.dedent("\n".join(lines)))
    assert 0 < accepted < 250
