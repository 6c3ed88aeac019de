"""The repository's kernels on an OpenCL device, against their references, in larger sizes than ../test_repository.py has."""

import pytest
from tests.targets.opencl.opencl_support import compiled
from tests.targets.references import EVERY, PROJECT, agree, cases, named

from pydotcompute import declare

FIRST = list({name: (name, label) for name, label in reversed(EVERY)}.values())[::-1]


@pytest.mark.parametrize("name, label", FIRST, ids=str)
def test_kernel_agrees_with_the_reference(name, label):
    kernel, specialisation = named(name, label)
    found = cases(kernel, specialisation, 300_000)
    built = compiled(kernel, specialisation, declare.render(kernel, specialisation, "opencl", PROJECT))
    agree(built, kernel, specialisation, found[-2:])
