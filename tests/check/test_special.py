"""What `check` makes of NaN, infinities and the ends of the range where a kernel is not meant for them, and of what
rounding leaves beside them."""

import subprocess
import sys

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.check import draw, measure, run
from pydotcompute.check.expected import Expected

DEPOSIT = """
    signature: "(p: T[n], q: T[n], m: int64) -> (out: T[m + 1] = 0)"
    types: {T: [float32]}
    requires: [m > 0]
    inputs: {p: {low: 0, high: 0.99}}
    body: |
      for i in range(n):
          k = int32(p[i] * m)
          out[k] += q[i]
"""
RESIDUE = """
    signature: "(x: float64[n], y: float64[n]) -> (out: float64[n + 1]) temp (q: float64[n])"
    requires: [n > 8]
    body: |
      for i in range(n):
          q[i] = x[i] * y[i]
      total = 0.0
      for i in range(n):
          total += x[i]
      for i in range(n):
          out[i] = total
      out[n] = q[0] - x[0] * y[0] FACTOR
"""
KERNELS = {
    "meant": DEPOSIT,
    "not_meant": DEPOSIT + "    special: false\n",
    "not_meant_unchecked": DEPOSIT.replace("int32(p[i] * m)", "int64(p[i] * 1e4) // 10000 * 10**11")
    + "    special: false\n    unchecked: true\n",
    "outside": DEPOSIT.replace("p[i] * m)", "p[i] * m) + m + 2") + "    special: false\n",
    "residue": RESIDUE.replace("FACTOR", ""),
    "wrong_beside_nan": RESIDUE.replace("FACTOR", "+ (1e-6 if total != total else 0)")
    + "    reference: residues.py:right\n    tolerance: 1e-9\n",
}
RIGHT = "import numpy as np\ndef right(x, y):\n    return np.append(np.full(len(x), x.sum()), 0)\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("special")
    kernels = "".join(f"  {name}:{text}" for name, text in KERNELS.items())
    (folder / "kernels.yaml").write_text(f"version: 1\ntargets: [cpu:x86-64-v3]\nkernels:\n{kernels}")
    (folder / "templates").mkdir()
    (folder / "templates/residues.py").write_text(RIGHT)
    subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(folder)], check=True, capture_output=True)
    return folder


def verdict(project, kernel, **more):
    found = next(iter(run.check(str(project), [kernel], ["cpu:x86-64-v3"], **more)))
    if found.not_run:
        pytest.skip(found.not_run)
    return found


def test_an_index_that_nan_leads_outside_is_a_failure(project):
    found = verdict(project, "meant")
    assert {failure.case.split()[-1] for failure in found.failures} <= {"special", "extreme"} and found.failures


@pytest.mark.parametrize("name", ["not_meant", "not_meant_unchecked"])
def test_it_is_none_of_a_kernel_that_is_not_meant_for_nan(project, name):
    found = verdict(project, name)
    assert not found.failures and found.cases > 20


def test_what_is_outside_for_ordinary_numbers_stays_a_failure(project):
    assert "n=1,m=1" in {failure.case for failure in verdict(project, "outside").failures}


def test_what_rounding_leaves_beside_nan_is_no_failure(project):
    found = verdict(project, "residue")
    assert not found.failures and found.cases > 20


def test_another_value_beside_nan_is_a_failure(project):
    found = verdict(project, "wrong_beside_nan")
    assert {failure.case.split()[-1] for failure in found.failures} == {"special"}


@pytest.mark.parametrize("residues, scale", [(True, True), (False, False)])
def test_what_a_residue_is_measured_by(project, residues, scale):
    declaration = declare.load(str(project))
    kernel = declaration.kernels["residue"]
    case = draw.draw(kernel, kernel.specialisations[0], {"n": 20}, np.random.default_rng(0), str(project), special=2)
    x, y = (case.arguments[name] for name in "xy")
    assert not np.isfinite(x).all()
    largest = max(np.abs(x[np.isfinite(x)]).max(), np.abs(y[np.isfinite(y)]).max())
    expected = Expected(declaration, kernel, kernel.specialisations[0], case, None, residues=residues)
    assert expected.scale == (largest if scale else 0)


@pytest.mark.parametrize(
    "got, wanted, error",
    [
        ([3e-17, np.nan], [1e-17, np.nan], 1e-17), ([3e-17, 1.0], [1e-17, 1.0], 2e-17),
        ([3e-17, 1e-17], [1e-17, 1e-17], 2.0), ([3.0, np.inf], [4.0, np.inf], 0.25), ([np.nan], [1e-17], np.inf),
    ],
)  # fmt: skip
def test_the_least_scale_counts_where_a_result_is_not_finite(got, wanted, error):
    found = measure.difference(np.array(got), np.array(wanted), scale=2.0)
    assert found.error == pytest.approx(error, rel=1e-6)
