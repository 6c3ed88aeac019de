"""Kernels as users write them, run by the interpreter."""

import textwrap

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.frontend import build as frontend
from pydotcompute.interpreter import execute as interpret
from pydotcompute.analysis import races


@pytest.fixture
def tree(tmp_path):
    """tree(signature, body): the checked tree of the first specialisation."""

    def build(signature, body, types="", template=""):
        lines = ["version: 1", "kernels:", "  k:", f'    signature: "{signature}"']
        lines += [f"    types: {types}"] if types else []
        if template:
            (tmp_path / "templates").mkdir(exist_ok=True)
            (tmp_path / "templates/k.py.j2").write_text(textwrap.dedent(template).lstrip("\n"))
            lines += ["    template: k.py.j2"]
        else:
            lines += ["    body: |", textwrap.indent(textwrap.dedent(body).strip("\n"), "      ")]
        (tmp_path / "kernels.yaml").write_text("\n".join(lines) + "\n")
        kernel = declare.load(tmp_path).kernels["k"]
        specialisation = kernel.specialisations[0]
        rendered = declare.render(kernel, specialisation, "python", tmp_path)
        return races.check(frontend.build_tree(kernel, specialisation, rendered))

    return build


@pytest.fixture
def run(tree):
    """run(signature, body, dims, **arguments): the outputs, equal to the bit in every order of the iterations."""

    def execute(signature, body, dims, types="", template="", **arguments):
        built = tree(signature, body, types, template)
        results = []
        for order in ("forward", "reverse", "random"):
            given = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in arguments.items()}
            for p in built.parameters:
                if p.role == "out":
                    shape = tuple(dims[d] if isinstance(d, str) else d for d in p.dims or ())
                    given[p.name] = np.zeros(shape, p.dtype)
            interpret.run(built, given, dims, order, seed=7)
            results.append([given[p.name] for p in built.parameters if p.role != "in"])
        for other in results[1:]:
            for a, b in zip(results[0], other):
                assert a.tobytes() == b.tobytes()
        return results[0] if len(results[0]) > 1 else results[0][0]

    return execute
