"""The repository's kernels as texts for Metal, as far as its dtypes allow: all are parsed, one of each name executed."""

import pytest
from tests.metal import missing, parsed
from tests.targets.built import compiled
from tests.targets.references import EVERY, PROJECT, agree, cases, named, spread

from pydotcompute import declare
from pydotcompute.errors import DeclarationError
from pydotcompute.targets import registry
from pydotcompute.targets.base import Clock, Job

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

TARGET, NAME = registry.get("metal"), "metal:2.4"
IN_DOUBLES = {"histogram"}  # computes in float64, whatever its arrays are
FITTING = [(name, label) for name, label in EVERY if "float64" not in label and name not in IN_DOUBLES]
FIRST = list({name: (name, label) for name, label in reversed(FITTING)}.values())[::-1]


def test_every_kernel_is_parsed_or_refused_by_name(tmp_path):
    texts = []
    for name, label in EVERY:
        kernel, specialisation = named(name, label)
        rendered = declare.render(kernel, specialisation, "metal", PROJECT)
        if why := TARGET.refusal(kernel, specialisation, rendered):
            assert why == "float64 cannot be had on 'metal'" and "float64" in label, (name, label)
            continue
        job = Job(kernel, specialisation, rendered, (NAME,), str(tmp_path))
        if name in IN_DOUBLES:
            with pytest.raises(DeclarationError, match=f"{name} computes in float64, which Metal does not have"):
                TARGET.compile(job, Clock())
            continue
        texts.append(TARGET.compile(job, Clock()).artifacts[NAME].data.decode())
    assert len(texts) == len(FITTING) and {name for name, _ in FIRST} | IN_DOUBLES == {name for name, _ in EVERY}
    assert parsed(texts) == ""


def test_that_the_parser_knows_address_spaces_and_types():
    """What stands in for Metal refuses what Metal does."""
    text = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *x [[buffer(0)]]) {{ {} }}\n"
    assert parsed([text.format("thread float y = x[0]; x[1] = fma(y, y, 1.0f);")]) == ""
    for wrong in ("thread float *y = x;", "threadgroup float *y = x;", "x[0] = as_type<float>(1L);", "x[0] = frobnicate(x[1]);"):
        assert "error" in parsed([text.format(wrong)])


@pytest.mark.parametrize("name, label", FIRST)
def test_kernel_agrees_with_the_reference(name, label):
    kernel, specialisation = named(name, label)
    built = compiled(NAME, kernel, specialisation, declare.render(kernel, specialisation, "metal", PROJECT))
    agree(built, kernel, specialisation, spread(found := cases(kernel, specialisation, 10_000), found[-1]))
