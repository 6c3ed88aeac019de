"""Kernels from a few lines of text, built by the real loader, renderer and front end."""

import textwrap

import pytest

from pydotcompute import declare
from pydotcompute.errors import DeclarationError
from pydotcompute.lower import tree_print
from pydotcompute.lower.frontend import build_tree

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
        return build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cpu", tmp_path))

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
