"""The repository's kernels on an OpenCL device, against their references, and the interpreter where no sum is
reassociated."""

import zlib

import numpy as np
import pytest
from tests.targets.opencl.opencl_support import ROOT, compiled

from pydotcompute import declare
from pydotcompute.check import draw, judge, memory, sizes
from pydotcompute.check.expected import Expected

DECLARATION = declare.load(ROOT)
EVERY = [(k.name, str(s)) for k in DECLARATION.kernels.values() for s in k.specialisations]
CASES = 7
MOST = 300_000


def chosen_cases(kernel, specialisation):
    """Nothing, one, ragged, one block, many blocks; of the sizes that `check` has, the smaller ones."""
    found = [d for d in sizes.cases(kernel, specialisation, 0) if np.prod([float(n) for n in d.values()]) <= MOST]
    step = max(1, len(found) // (CASES - 1))
    return found[::step][: CASES - 1] + found[-1:]


@pytest.mark.parametrize("name, label", EVERY, ids=str)
def test_kernel_agrees_with_the_reference(name, label):
    kernel = DECLARATION.kernels[name]
    specialisation = next(s for s in kernel.specialisations if str(s) == label)
    built = compiled(kernel, specialisation, declare.render(kernel, specialisation, "opencl", ROOT))
    for number, dims in enumerate(chosen_cases(kernel, specialisation)):
        rng = np.random.default_rng(zlib.crc32(f"{name} {label} {number}".encode()))
        loose = any(p.layout != "C" for p in kernel.signature.parameters) and number % 2 == 1
        case = draw.draw(kernel, specialisation, dims, rng, ROOT, strided=loose)
        references = Expected(DECLARATION, kernel, specialisation, case, None).reference
        built.call(**case.arguments, **case.outputs, **dict(specialisation.params))
        both = {**case.arguments, **case.outputs}
        written = {p.name: both[p.name] for p in kernel.signature.parameters if p.writable}
        for n, buffer in case.buffers.items():
            assert not memory.overrun(both[n], buffer), (dims, n)
        for (n, got), wanted in zip(written.items(), references, strict=True):
            assert got.dtype.itemsize == 1 or not memory.unwritten(got).any(), (dims, n)
            wrong, _ = judge.compared(kernel, n, got, wanted, "the reference")
            assert not wrong, (dims, wrong)
