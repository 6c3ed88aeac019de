"""Every kernel of the repository, every specialisation, on every level that runs here, against its reference."""

import pathlib

import pytest

from pydotcompute import declare
from pydotcompute.check.run import check

ROOT = pathlib.Path(__file__).parents[2]
KERNELS = list(declare.load(ROOT).kernels)
FIRST = """axpy add sub mul div relu sigmoid gelu silu sum mean sum_last mean_last softmax rmsnorm matmul matmul_vec
laplacian histogram hillshade""".split()


def test_the_first_kernels_are_all_there():
    assert set(FIRST) <= set(KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_holds_on_every_level(built, name):
    verdicts = [v for v in check(str(built), [name]) if v.target.startswith("cpu:")]
    ran = [v for v in verdicts if not v.not_run]
    assert {v.target for v in ran} >= {"cpu:x86-64-v2"}
    assert {v.specialisation for v in ran} == {str(s) for s in declare.load(built).kernels[name].specialisations}
    assert [f"{v.target} {v.specialisation} {f.case}: {f.what}" for v in ran for f in v.failures] == []
    assert all(v.cases >= 5 for v in ran)
    assert {v.not_run for v in verdicts if v.not_run} <= {
        "this processor has the level x86-64-v2", "this processor has the level x86-64-v3"
    }  # fmt: skip


@pytest.mark.parametrize("name", FIRST)
def test_the_first_kernels_have_both_types_a_reference_and_a_doc(name):
    kernel = declare.load(ROOT).kernels[name]
    assert kernel.types["T"] == ("float32", "float64")
    assert kernel.reference and kernel.doc
