"""The repository's kernels on an OpenCL device, against their references."""

import pytest
from tests.targets.opencl.opencl_support import ROOT, compiled
from tests.targets.references import EVERY, agree, cases, named, spread

from pydotcompute import declare


@pytest.mark.parametrize("name, label", EVERY, ids=str)
def test_kernel_agrees_with_the_reference(name, label):
    kernel, specialisation = named(name, label)
    found = cases(kernel, specialisation, 300_000)
    built = compiled(kernel, specialisation, declare.render(kernel, specialisation, "opencl", ROOT))
    agree(built, kernel, specialisation, spread(found, found[-1]))
