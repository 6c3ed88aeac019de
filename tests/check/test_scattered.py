"""Arrays that are scattered into: of values that meet any one is right, and nothing else is."""

import re
import subprocess
import sys

import numpy as np
import pytest

from pydotcompute.check.scattered import nearest, stayed

SCATTER = "for i in grid(n):\n    scatter(out, {}, {})"
# type, body, reference; what is said of it
KERNELS = {
    "any": ("float64", SCATTER.format("index[i]", "x[i]"), "last", None),
    "any_complex": ("complex128", SCATTER.format("index[i]", "x[i]"), "last", None),
    "always_met": ("float64", SCATTER.format("index[i] // 3", "2 * x[i]"), "first", r"seed 0: out\[0\] is .*, by the reference"),
    "elsewhere": ("int64", SCATTER.format("n - 1 - index[i]", "x[i]"), "last", r"seed 0: out\[\d\] is .*, by the reference"),
}  # fmt: skip
REFERENCES = """
import numpy as np

def last(x, index):
    out = np.zeros_like(x)
    out[index] = x
    return out

def first(x, index):
    return last(x, index // 3)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scattered")
    text = "version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n"
    for name, (dtype, body, reference, _) in KERNELS.items():
        lines = "\n".join(f"      {line}" for line in body.splitlines())
        text += f'  {name}:\n    signature: "(x: {dtype}[n], index: int64[n]) -> (out: {dtype}[n] = 0)"\n'
        text += f"    body: |\n{lines}\n    reference: references.py:{reference}\n"
        text += "    requires: [n > 1]\n    inputs: {index: {low: 0, high: 3 if n > 3 else n}}\n"
    (folder / "kernels.yaml").write_text(text)
    (folder / "templates").mkdir()
    (folder / "templates/references.py").write_text(REFERENCES)
    done = subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_only_what_no_scatter_can_leave_is_found(project, options):
    command = [sys.executable, "-m", "pydotcompute", "check", "-C", str(project), "-t", "cpu:x86-64-v2", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr
    rows = dict(re.findall(r"(?m)^(?:ok|FAILED) +(\w+) - cpu:x86-64-v2: (.*(?:\n  .*)*)", done.stdout))
    assert rows.keys() == KERNELS.keys(), done.stdout
    for name, (*_, told) in KERNELS.items():
        assert ("seed 0: " in rows[name]) == (told is not None), done.stdout
        assert told is None or re.search(told, rows[name]), done.stdout
    # of large cases nobody knows which values met
    assert ("with no values to compare" in rows["any"]) == (not options)


@pytest.mark.parametrize(
    "dtype, met, got, chosen",
    [
        ("float32", [1, 2, 3], 2.2, 2), ("float32", [1, np.nan], np.nan, np.nan), ("float32", [np.nan, 1], 7, 1),
        ("float32", [0.0, -0.0], -0.0, -0.0), ("float32", [1, np.inf], np.inf, np.inf),
        ("int64", [2**53, 2**53 + 1], 2**53 + 1, 2**53 + 1), ("bool", [True, False], False, False),
        ("complex64", [1 + 5j, 2 + 6j], 1 + 5.4j, 1 + 5j), ("complex128", [1 + 5j, 2 + 6j], 1 + 6j, 1 + 6j),
    ],
)  # fmt: skip
def test_of_values_that_met_the_nearest_is_wanted(dtype, met, got, chosen):
    got = np.array([9, got], dtype)
    found = nearest(np.array([9, met[0]], dtype), {1: list(np.array(met, dtype))}, got)
    assert found.tobytes() == np.array([9, chosen], dtype).tobytes()


def test_a_reference_says_one_of_the_values_that_met():
    met = {0: [np.float32(1), np.float32(2)], 1: [np.float32(3)]}
    assert stayed(np.array([1, 3], np.float32), met, np.array([2.0, 4.0])).tolist() == [2, 3]
    assert stayed(np.array([1, 3], np.float32), met, np.array([9.0, 3.0])).tolist() == [2, 3]  # 9 is none of them
