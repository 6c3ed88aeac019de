"""Kernels as users write them, to typed trees."""

import re
import textwrap

import pytest

from pydotcompute import declare
from pydotcompute.errors import DeclarationError
from pydotcompute.frontend import build as frontend
from pydotcompute.analysis import races


@pytest.fixture
def tree(tmp_path):
    """tree(signature, body): the tree of the first specialisation for T float32, not yet checked for races. With
    helpers, they and the body stand in a template."""

    def build(signature, body, types="{T: [float32]}", params="", helpers=""):
        lines = ["version: 1", "kernels:", "  k:", f'    signature: "{signature}"']
        lines += [f"    types: {types}"] if types else []
        lines += [f"    params: {params}"] if params else []
        body = textwrap.dedent(body).strip("\n")
        if helpers:
            names = ", ".join(re.findall(r"(\w+):", signature))
            (tmp_path / "templates").mkdir(exist_ok=True)
            text = f"{textwrap.dedent(helpers)}\ndef k({names}):\n{textwrap.indent(body, '    ')}\n"
            (tmp_path / "templates/k.py.j2").write_text(text)
            lines += ["    template: k.py.j2"]
        else:
            lines += ["    body: |", textwrap.indent(body, "      ")]
        (tmp_path / "kernels.yaml").write_text("\n".join(lines) + "\n")
        kernel = declare.load(tmp_path).kernels["k"]
        specialisation = kernel.specialisations[0]
        return frontend.build_tree(kernel, specialisation, declare.render(kernel, specialisation, "python", tmp_path))

    return build


@pytest.fixture
def check(tree):
    """The checked tree of a kernel."""
    return lambda *arguments, **more: races.check(tree(*arguments, **more))


@pytest.fixture
def refusal(tree):
    """(message, the source line that it points to) of a kernel that is refused; "line N" in the message counts from
    the first line of the body."""

    def refused(signature, body, **more):
        built = tree(signature, body, **more)
        with pytest.raises(DeclarationError) as caught:
            races.check(built)
        error = caught.value
        before = 5 + bool(more.get("types", "T")) + bool(more.get("params"))
        offset = 0 if more.get("helpers") else before
        message = re.sub(r"line (\d+)", lambda found: f"line {int(found[1]) - offset}", error.message)
        assert error.at.text[error.at.column - 1 :].strip()
        return message, error.at.text.strip()

    return refused
