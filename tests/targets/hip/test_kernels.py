"""The repository's kernels as code objects for AMD's GPUs, whose text is executed against their references.

PYDOTCOMPUTE_EVERY_HIP=1 takes every specialisation, and assembles each for every architecture.
"""

import os

import pytest
from tests.targets.built import compiled
from tests.targets.hip import run
from tests.targets.references import EVERY, agree, cases, named, spread, PROJECT

from pydotcompute import declare
from pydotcompute.targets.hip import code_object

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(run.missing()), reason=run.missing())]

ALL = os.environ.get("PYDOTCOMPUTE_EVERY_HIP", "") == "1"
FIRST = list({name: (name, label) for name, label in reversed(EVERY)}.values())[::-1]
TARGETS = ("hip:gfx90a", "hip:gfx942", "hip:gfx1100")


@pytest.mark.parametrize("name, label", EVERY if ALL else FIRST, ids=str)
def test_kernel_agrees_with_the_reference(name, label):
    kernel, specialisation = named(name, label)
    rendered = declare.render(kernel, specialisation, "hip", PROJECT)
    targets = TARGETS if ALL else TARGETS[len(name) % 3 :][:1]
    for target in targets:
        built = compiled(target, kernel, specialisation, rendered)
        told = code_object.metadata(built.data)
        assert told["amdhsa.target"].endswith(target.partition(":")[2])
        assert {one["entry"] for one in built.meta["launches"]} == {k[".name"] for k in told["amdhsa.kernels"]}
    agree(built, kernel, specialisation, spread(found := cases(kernel, specialisation, 30_000), found[-1]))
