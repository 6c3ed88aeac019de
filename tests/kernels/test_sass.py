"""Instructions of a GPU for each element of a standard kernel's hot loops: at most what sass_aims.json says.

All of them, beside their aims: pydotcompute bench --subject code -t cuda:sm_90 --compare tests/kernels/sass_aims.json
"""

import json
import tempfile
from pathlib import Path

import pytest

from pydotcompute.bench import code
from pydotcompute.builder.build import Project, Request
from pydotcompute.builder.show import shown
from pydotcompute.targets.cuda.listing import nvdisasm

HERE = Path(__file__).parent
AIMS = {row["kernel"]: row for row in json.loads((HERE / "sass_aims.json").read_text())["figures"]}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", sorted(AIMS))
def test_no_more_instructions_than_aimed_at(kernel):
    nvdisasm()
    aim = AIMS[kernel]
    rows = code.measure(str(HERE.parents[1]), [aim["target"]], [kernel])
    figure = next(row["instructions"] for row in rows if row["specialization"] == aim["specialization"])
    assert figure <= aim["instructions"]


@pytest.mark.slow
def test_no_version_of_a_broadcasting_kernel_divides():
    """Of `add`: aligned and contiguous, contiguous, of one level, of few levels."""
    nvdisasm()
    project = Project(str(HERE.parents[1]), lambda line: None)
    try:
        plan = project.plan(Request(("add",), ("cuda:sm_90",)))
        with tempfile.TemporaryDirectory() as folder:
            loops = shown(plan, plan.wanted[0], folder, "").costs().loops
    finally:
        project.close()
    each = sorted(loop.per_element for loop in loops if loop.elements == 4)
    assert all(figure <= most for figure, most in zip(each, (5.5, 8, 11, 34), strict=True)), each


@pytest.mark.slow
def test_both_products_of_attention_are_multiply_adds():
    nvdisasm()
    project = Project(str(HERE.parents[1]), lambda line: None)
    try:
        plan = project.plan(Request(("attention",), ("cuda:sm_90",)))
        with tempfile.TemporaryDirectory() as folder:
            costs = shown(plan, plan.wanted[0], folder, "").costs()
    finally:
        project.close()
    shares = [loop.instructions.get("fma", 0) / loop.total for loop in costs.loops]
    assert sum(share >= 0.85 for share in shares) == 2, shares
    assert not any(e.spill_stores or e.spill_loads for e in costs.entries)
