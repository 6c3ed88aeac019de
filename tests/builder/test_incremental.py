"""Whatever is edited: a build on top of an older one leaves the very artifacts, and the very manifest, of a fresh one.

A key with a hole shows here: something that reaches an artifact's bytes changed, and the old artifact stayed.
"""

import textwrap

import pytest

from .project import build_project, copy_project, edit, manifest, objects, plan_project, stale

KERNEL = """\
doc: a * x
signature: "(a: T, x: T[m, n]) -> (out: T[m, n], total: int64 = 0)"
types: {T: [float32]}
params: {FACTOR: [2]}
body: |
  for i, j in grid(m, n):
      out[i, j] = a * x[i, j] * FACTOR
reference: (a * x * FACTOR, 0)
"""
PRODUCT = """\
signature: "(a: T[m, k], b: T[k, n]) -> (out: T[m, n])"
types: {T: [float32]}
vendor: {call: matmul, when: n > 7}
body: |
  for i, j in grid(m, n):
      s = T(0)
      for q in range(k):
          s += a[i, q] * b[q, j]
      out[i, j] = s
"""
FILLED = """\
signature: "(n: int64, value: T) -> (out: T[n])"
types: {T: [float32]}
body: |
  for i in grid(n):
      out[i] = value
"""
# what is edited: the kernel, and pairs of old and new
EDITS = {
    "one more type, which scalars decide": (FILLED, ("[float32]", "[float32, float64]")),
    "one more type": (KERNEL, ("[float32]", "[float32, float64]")),
    "the order of types": (KERNEL.replace("[float32]", "[float32, int32]"), ("[float32, int32]", "[int32, float32]")),
    "one more value of a param": (KERNEL, ("[2]", "[2, 3]")),
    "one more param": (KERNEL, ("{FACTOR: [2]}", "{FACTOR: [2], OTHER: [7]}")),
    "what is required": (KERNEL, ("params:", 'requires: ["n % 2 == 0"]\nparams:')),
    "flags": (KERNEL, ("params:", "fastmath: []\nparams:")),
    "the launch": (KERNEL, ("params:", "launch: {block: 64}\nparams:")),
    "when a vendor's function serves": (PRODUCT, ("n > 7", "n > 8")),
    "whether a vendor's function serves": (PRODUCT, ("vendor: {call: matmul, when: n > 7}\n", "")),
    "the name of a dimension": (KERNEL, ("[m, n]", "[q, n]"), ("(m, n)", "(q, n)")),
    "the order of arguments": (KERNEL, ("a: T, x: T[m, n]", "x: T[m, n], a: T")),
    "an array that is changed": (KERNEL, ("x: T[", "x: inout T["), ("(a * x", "(x, a * x")),
    "the type of an argument": (KERNEL, ("(a: T", "(a: float64")),
    "what an output holds at first": (KERNEL, ("int64 = 0", "int64 = 3")),
}  # fmt: skip
NAMES = {what: f"k{number}" for number, what in enumerate(EDITS)}
ON_CUDA = ("the launch", "what an output holds at first")


def write(root, edited):
    lines = ["version: 1", "kernels:"]
    for what, (text, *pairs) in EDITS.items():
        for old, new in pairs if edited else ():
            assert old in text, f"{old!r} is not in the kernel of {what!r}"
            text = text.replace(old, new)
        lines += [f"  {NAMES[what]}:", textwrap.indent(text, "    ")]
    root.mkdir(exist_ok=True)
    (root / "kernels.yaml").write_text("\n".join(lines))


def build(root):
    for request in REQUESTS:
        plan, outcome = build_project(root, jobs=2, **request)
        assert not outcome.failed and not plan.failures, (outcome.failed, plan.failures)


REQUESTS = (
    {"targets": ("cpu:x86-64-v3",)},
    {"targets": ("cuda:compute_80",), "kernels": tuple(NAMES[what] for what in ON_CUDA)},
)


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """Three: before the edits; edited and built again; and built after the edits alone."""
    folder = tmp_path_factory.mktemp("incremental")
    before, fresh = folder / "before", folder / "fresh"
    write(before, edited=False)
    build(before)
    incremental = copy_project(before, folder / "incremental")
    for root in (incremental, fresh):
        write(root, edited=True)
        build(root)
    return before, incremental, fresh


@pytest.mark.parametrize("what", EDITS)
def test_a_build_leaves_what_a_fresh_one_makes(projects, what):
    def of_kernel(root):
        return {name: data for name, data in objects(root).items() if name.split()[0] == NAMES[what]}

    before, incremental, fresh = projects
    assert of_kernel(incremental) == of_kernel(fresh) != {}
    assert manifest(incremental)["kernels"][NAMES[what]] == manifest(fresh)["kernels"][NAMES[what]]
    assert manifest(before)["kernels"][NAMES[what]] != manifest(fresh)["kernels"][NAMES[what]]


def test_nothing_is_left_to_do(projects):
    for root in projects:
        for request in REQUESTS:
            assert stale(plan_project(root, **request)) == {}


def test_what_is_asked_for(fresh):
    """No targets: those declared. With bounds: the CPU targets alone, for others have no such code."""
    declared = ("cpu:x86-64-v2", "cpu:x86-64-v3")
    assert plan_project(fresh, targets=()).targets == declared
    plan = plan_project(fresh, targets=(*declared, "cuda:compute_80", declared[0]), bounds=True)
    assert plan.targets == tuple(f"{target}+bounds" for target in declared)
    assert {item.target for item in plan.wanted} == set(plan.targets)
    assert {item.kernel.name for item in plan_project(fresh, kernels=("cube",)).wanted} == {"cube"}


def test_a_type_more_or_less_is_told_to_every_specialisation(built):
    """An entry point is told which others there are, so all of a kernel's are made anew."""
    declared = "x86-64-v2", "x86-64-v3"
    edit(built, "kernels.yaml", "{T: [float32]}", "{T: [float32, float64]}")
    found = stale(plan_project(built))
    assert found.keys() == {f"saxpy T={dtype} cpu:{level}" for dtype in ("float32", "float64") for level in declared}
    for level in declared:
        assert found[f"saxpy T=float32 cpu:{level}"].startswith("declared types")
        assert found[f"saxpy T=float64 cpu:{level}"] == "not built"
