"""Programs as a user writes them, held to the interpreter, and to what NumPy says where that is one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.check import comparable, draw, expected
from pydotcompute.check.judge import compared
from pydotcompute.targets import registry
from tests.budget import EVERYTHING
from tests.targets.built import compiled, marked

OWN, PORTED = (declare.load(folder) for folder in (Path(__file__).parent, Path(__file__).parent / "ported"))
CHOSEN = [*OWN.kernels, *list(PORTED.kernels)[:: 1 if EVERYTHING else 4]]


def test_each_is_tried_and_measured():
    """`python -m tests.programs` draws one call of each."""
    assert not OWN.kernels.keys() & PORTED.kernels.keys()
    for kernel in (*OWN.kernels.values(), *PORTED.kernels.values()):
        assert kernel.sizes["check"] and len(kernel.sizes["bench"]) == len(kernel.specialisations) == 1, kernel.name


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked("cpu:x86-64-v3")])
@pytest.mark.parametrize("name", CHOSEN)
def test_a_program_computes_what_it_says(name, target):
    declaration = OWN if name in OWN.kernels else PORTED
    kernel, root = declaration.kernels[name], declaration.root
    (specialisation,) = kernel.specialisations
    rendered = declare.render(kernel, specialisation, "cpu", root, registry.raw_modules())
    built = compiled(target, kernel, specialisation, rendered)
    for seed, dims in enumerate(kernel.sizes["check"]):
        case = draw.draw(kernel, specialisation, dims, np.random.default_rng(seed), root)
        given = [
            {name: np.array(v) if isinstance(v, np.ndarray) else v for name, v in {**case.arguments, **case.outputs}.items()}
            for _ in range(2)
        ]
        built.call(**given[0])
        built.python(**given[1])
        got, wanted = (comparable.seen(kernel, {p.name: g[p.name] for p in kernel.signature.written}) for g in given)
        if call := expected.evaluation(kernel, specialisation, dims, case.arguments, root):
            right = call()
            right = right if isinstance(right, tuple) else (right,)
        else:
            right = tuple(wanted.values())
        for (output, value), says, reference in zip(got.items(), wanted.values(), right, strict=True):
            assert np.isfinite(value).all() and np.any(value), f"{output}: nothing that could be told from nothing"
            assert not compared(kernel, output, value, says, "the interpreter")[0]
            assert not compared(kernel, output, value, reference, "its reference")[0]
