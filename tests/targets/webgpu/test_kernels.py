"""The repository's kernels on a WebGPU device, as far as its dtypes allow, against their references."""

import pytest
from tests.targets.built import compiled, marked
from tests.targets.references import EVERY, PROJECT, agree, cases, named, spread

from pydotcompute import declare
from pydotcompute.targets import registry

TARGET = registry.get("webgpu")
FITTING = [
    (name, label) for name, label in EVERY
    if not TARGET.refusal(*named(name, label), declare.render(*named(name, label), "webgpu", PROJECT))
]  # fmt: skip


def test_that_most_kernels_fit():
    names = {name for name, _ in EVERY}
    assert len({name for name, _ in FITTING}) > 0.8 * len(names)


@pytest.mark.parametrize("target, name, label", [marked("webgpu", *pair) for pair in FITTING])
def test_kernel_agrees_with_the_reference(target, name, label):
    kernel, specialisation = named(name, label)
    found = cases(kernel, specialisation, 30_000)
    built = compiled(target, kernel, specialisation, declare.render(kernel, specialisation, target, PROJECT))
    agree(built, kernel, specialisation, spread(found, found[-1]))
