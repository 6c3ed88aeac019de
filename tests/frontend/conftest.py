"""Kernels from a few lines of text, built by the real loader, renderer and front end."""

import textwrap

import pytest

from pydotcompute import declare
from pydotcompute.errors import DeclarationError
from pydotcompute.ir import printer as tree_print
from pydotcompute.frontend.build import build_tree

XY = "(a: T, x: T[n], k: int32[n], u: uint8[n], b: bool[n]) -> (out: T[n], count: int64[n])"


@pytest.fixture
def build(tmp_path):
    """`build(body)` or `build(template=text)`: the tree of the first specialisation of a kernel called f."""

    def tree(body="", *, template="", signature=XY, types="{T: [float32]}", extra="", choice=0):
        lines = ["version: 1", "kernels:", "  f:", f'    signature: "{signature}"']
        lines += [f"    types: {types}"] if types else []
        lines += [f"    {extra}"] if extra else []
        if template:
            (tmp_path / "templates").mkdir(exist_ok=True)
            (tmp_path / "templates/f.py.j2").write_text(textwrap.dedent(template).lstrip("\n"))
            lines += ["    template: f.py.j2"]
        else:
            lines += ["    body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "      ")]
        (tmp_path / "kernels.yaml").write_text("\n".join(lines) + "\n")
        kernel = declare.load(tmp_path).kernels["f"]
        specialisation = kernel.specialisations[choice]
        return build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cpu", tmp_path, ("cuda",)))

    return tree


@pytest.fixture
def printed(build):
    """The same, as text without the head of the kernel and the types of its names."""

    def text(*arguments, **settings):
        return tree_print.statements(build(*arguments, **settings).body)

    return text


@pytest.fixture
def refusal(build):
    """The DeclarationError of a kernel that is refused."""

    def error(*arguments, **settings) -> DeclarationError:
        with pytest.raises(DeclarationError) as caught:
            build(*arguments, **settings)
        return caught.value

    return error


HEADS = {"grid": "for i in grid(n):\n    ", "blocks": "for r in blocks(n):\n    ", "kernel": "", "template": ""}
KERNEL = "def f(a, x, k, u, b, out, count):\n    for i in grid(n):\n"


@pytest.fixture
def check_refusal(refusal, tmp_path):
    """Refused with exactly this message and hint, where § stands. The text stands in a loop over grid or blocks, or
    is a kernel's body, or a template in which `{kernel}` begins the kernel."""

    def check(place, text, message, hint):
        text = HEADS[place] + text.replace("{kernel}", KERNEL)
        kind = "template" if place == "template" else "body"
        error = refusal(**{kind: text.replace("§", "")}, extra="params: {TILE: 32}")
        assert (error.message, error.hint) == (message, hint)
        before = text[: text.index("§")].split("\n")
        line, column = len(before), len(before[-1]) + 1
        if place == "template":
            assert error.at.path.endswith("f.py.j2")
        else:  # after version, kernels, f, signature, types, params and body; indented by six
            assert error.at.path.endswith("kernels.yaml")
            line, column = line + 7, column + 6
        assert (error.at.line, error.at.column) == (line, column)

    return check
