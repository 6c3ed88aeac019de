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

OWN, *PORTED = (declare.load(Path(__file__).parent / folder) for folder in ("", "ported", "others"))
DECLARED = {name: declaration for declaration in (OWN, *PORTED) for name in declaration.kernels}
CHOSEN = [*OWN.kernels, *(name for one in PORTED for name in list(one.kernels)[:: 1 if EVERYTHING else 4])]


def test_each_is_tried_and_measured():
    """`python -m tests.programs` draws one call of each."""
    assert len(DECLARED) == sum(len(declaration.kernels) for declaration in (OWN, *PORTED))
    for kernel in (declaration.kernels[name] for name, declaration in DECLARED.items()):
        assert kernel.sizes["check"] and len(kernel.sizes["bench"]) == len(kernel.specialisations) == 1, kernel.name


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked("cpu:x86-64-v3")])
@pytest.mark.parametrize("name", CHOSEN)
def test_a_program_computes_what_it_says(name, target):
    kernel, root = DECLARED[name].kernels[name], DECLARED[name].root
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
