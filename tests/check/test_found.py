"""What a right-looking kernel gets wrong and `check` must find: special values, overflow, what was never set; and that
a finding says all there is to know, once."""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from pydotcompute.check import measure

ELEMENTWISE = '"(x: T[n]) -> (out: T[n])"\n    types: {T: [float32, float64]}'
TOTAL = '"(x: T[n]) -> (total: T)"\n    types: {T: [int8, float32]}'
# signature, body, what else the declaration says; what is said of it, of T=float32 or the only type
WRONG = {
    "drops_nan": (ELEMENTWISE, "for i in grid(n):\n    out[i] = where(x[i] > 0, x[i], 0)",
                  "reference: np.maximum(x, 0)", r" special, seed 0: out\[\d+\] is 0\.0, by the reference nan"),
    "drops_infinity": (ELEMENTWISE, "for i in grid(n):\n    out[i] = min(x[i], 1e30)", "reference: x",
                       r" special, seed 0: out\[\d+\] is 1.*e\+30, by the reference inf"),
    "other_infinity": (ELEMENTWISE, "for i in grid(n):\n    out[i] = abs(1 / x[i])", "reference: 1 / x\n    inputs: {x: {low: 1, high: 2}}",
                       r" special, seed 0: out\[\d+\] is (inf|1\.0), by the reference -"),
    "limit": (ELEMENTWISE, "for i in grid(n):\n    out[i] = where(x[i] == inf, 0.5, tanh(x[i]))", "reference: np.tanh(x)",
              r" special, seed 0: out\[\d+\] is 0\.5, by the reference 1\.0"),
    "first_maximum": ('"(x: float32[n]) -> (k: int64)"',
                      "for one in blocks(1):\n    best = float32(-inf)\n    at = -1\n    for j in range(n):\n        if x[j] > best:\n"
                      "            best = x[j]\n            at = j\n    k[()] = at",
                      "reference: np.argmax(x) if n else -1", r" special, seed 0: k is -?\d+, by the reference \d+"),
    "scalar": ('"(a: float32, x: float32[n]) -> (out: float32[n])"', "for i in grid(n):\n    out[i] = max(a, 0.0) * x[i] if a == a else x[i]",
               "reference: np.maximum(a, 0) * x", r" special, seed 0: out\[\d+\] is .*, by the reference nan"),
    "sum_of_bytes": ('"(x: int8[n]) -> (total: int8)"', "s = int8(0)\nfor i in grid(n):\n    s += x[i]\ntotal[()] = s",
                     "reference: x.sum()", r"its reference \(x\.sum\(\)\) gives -?\d+ for 'total', which int8 cannot hold"),
    "half_overflow": ('"(x: float32[n]) -> (out: float32[n])"', "for i in grid(n):\n    out[i] = x[i] * 1e30 * 1e30",
                      "reference: x * 1e30 * 1e30", r"its reference .* gives .*e\+\d+ for 'out', which float32 cannot hold"),
    "never_set": ('"(x: float32[n]) -> (out: float32[n])"', "for i in grid(n):\n    out[i] += x[i]", "reference: x",
                  "n=1, seed 0: 'out': 1 element was not written, or only added to"),
    "never_set_of_integers": ('"(x: int32[n]) -> (out: int32[n])"', "for i in grid(n):\n    out[i] += x[i]", "fastmath: []",
                              "it is right where the output held something else before the call"),
    "never_set_of_bytes": ('"(x: int8[n]) -> (out: int8[n])"', "for i in grid(n):\n    out[i] += x[i]", "reference: x",
                           r"n=1, seed 0: out\[0\] is .*, by the reference .*; it depends on what the output held before the call$"),
    "never_set_number": ('"(x: int32[n]) -> (total: int64)"', "for i in grid(n):\n    atomic_add(total, x[i])", "reference: x.sum()",
                         "n=0, seed 0: 'total': 1 element was not written, or only added to"),
    "larger_of_what_was": ('"(x: float32[n]) -> (out: float32[n])"', "for i in grid(n):\n    out[i] = where(out[i] > x[i], out[i], x[i])",
                           "reference: x", r"n=1, seed 0: out\[0\] is 3\.40.*e\+38, by the reference"),
    "smaller_of_what_was": ('"(x: float32[n]) -> (out: float32[n])"', "for i in grid(n):\n    out[i] = where(out[i] < x[i], out[i], x[i])",
                            "reference: x", r"out\[\d+\] is -?3\.40.*e\+38, by the reference .*; it is right where the output held something else"),
    "larger_of_what_was_in_bytes": ('"(x: uint8[n]) -> (out: uint8[n])"', "for i in grid(n):\n    out[i] = max(out[i], x[i])",
                                    "reference: x", r"n=1, seed 0: out\[0\] is 255, by the reference \d+; it depends on what"),
    "hole_in_bytes": ('"(x: uint8[n]) -> (out: uint8[n])"', "for i in grid(n):\n    if i != 0:\n        out[i] = x[i]",
                      "reference: x", r"n=1, seed 0: 'out': 1 element was not written"),
    "hole_of_a_kernel_array": ('"(x: float32[n]) -> (out: float32[n])"',
                               "for i in grid(n):\n    w = local((2,), float32)\n    if x[i] > 0:\n        w[0] = 1\n    out[i] = w[0] * x[i]",
                               "fastmath: [contract]", "by the interpreter"),
    "sign_of_zero": (ELEMENTWISE, "for i in grid(n):\n    out[i] = x[i] + 0.0", "reference: x", None),
    "integers_at_small_sizes": ('"(x: int64[n]) -> (out: int64[n])"\n    requires: [n < 20]', "for i in grid(n):\n    out[i] = x[i] + 1",
                                "reference: x - 1", r"n=1, seed 0: out\[0\] is .*, by the reference"),
    "not_meant_for_nan": (ELEMENTWISE, "for i in grid(n):\n    out[i] = where(x[i] > 0, x[i], 0)",
                          "reference: np.maximum(x, 0)\n    special: false", None),
    "converts_nan": ('"(x: float32[n]) -> (out: int32[n])"', "for i in grid(n):\n    out[i] = int32(x[i])",
                     "reference: x.astype(np.int32)", None),
    "complex": ('"(x: complex64[n]) -> (out: complex64[n])"', "for i in grid(n):\n    out[i] = x[i] if x[i] == x[i] else 0",
                "reference: x", r" special, seed 0: out\[\d+\] is 0j, by the reference .*nan"),
    "complex_scalar": ('"(a: complex128, x: complex128[n]) -> (out: complex128[n])"', "for i in grid(n):\n    out[i] = a * x[i] if real(a) == real(a) else x[i]",
                       "reference: a * x", r" special, seed 0: out\[\d+\] is .*, by the reference .*nan"),
    "complex_arithmetic": ('"(a: complex64, x: complex64[n], y: complex64[n]) -> (p: complex64[n], q: complex64[n], s: float32[n])"',
                           "for i in grid(n):\n    p[i] = a * x[i]\n    q[i] = x[i] / y[i]\n    s[i] = abs(conj(x[i]) - y[i])",
                           "reference: [a * x, x / y, np.abs(np.conj(x) - y)]", None),
    "cuts_off": ('"(x: int32[n]) -> (out: int32[n])"', "for i in grid(n):\n    out[i] = int32(x[i] * 2.5)", "reference: x * 2.5", None),
    "raises_for_nan": ('"(x: float32[n]) -> (out: float32[n])"', "for i in grid(n):\n    out[i] = x[i]",
                       "reference: x if np.isfinite(x).all() else 1 // 0", r" special, seed 0: its reference .* raised ZeroDivisionError"),
}  # fmt: skip


def check(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pydotcompute", "check", *arguments], capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    text = "version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n"
    for name, (signature, body, more, _) in WRONG.items():
        lines = "\n".join(f"      {line}" for line in body.splitlines())
        text += f"  {name}:\n    signature: {signature}\n    body: |\n{lines}\n    {more}\n"
    (folder / "kernels.yaml").write_text(text)
    done = subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-k", "-C", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_once_and_the_command_repeats_it(project, name):
    done = check(name, "-C", str(project), "-t", "cpu:x86-64-v2")
    found = [line for line in done.stdout.splitlines() if ", seed 0: " in line]
    if WRONG[name][3] is None:
        assert (done.returncode, found) == (0, []), done.stdout
        return
    assert done.returncode == 1 and re.search(WRONG[name][3], found[0]), done.stdout
    assert len(found) == 1, done.stdout
    command = next(line for line in done.stdout.splitlines() if "repeat: " in line).partition("repeat: ")[2]
    again = check(*shlex.split(command)[2:])
    assert again.returncode == 1 and [line for line in again.stdout.splitlines() if ", seed 0: " in line] == found
    assert again.stderr.startswith("1 case of 1 artifact, 1 failed, 1 finding")


def test_a_finding_says_all_there_is_to_know(project):
    lines = check("drops_nan", "-C", str(project), "-t", "cpu:x86-64-v2").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == [
        "FAILED   drops_nan T=float32 cpu", "FAILED   drops_nan T=float64 cpu"
    ]  # fmt: skip
    assert re.fullmatch(r"  n=\d+ special, seed 0: .* says special: false\)", lines[2])
    assert re.fullmatch(r"    and \d+ more cases like it, of 2 artifacts: T=float32 cpu:x86-64-v2, T=float64 .*", lines[3])
    row, column = next(
        (number, line.index("out[i]") + 1) for number, line in enumerate((project / "kernels.yaml").read_text().splitlines(), 1)
        if "where(x[i] > 0, x[i], 0)" in line
    )  # fmt: skip
    assert lines[4] == f"    {project}/kernels.yaml:{row}:{column}"
    assert lines[5].index("out[i]") == lines[6].index("^") and lines[6].strip() == "^"
    assert lines[7] == "    interpreter and machine code agree"
    assert lines[8].startswith("    repeat: pydotcompute check drops_nan -C ") and len(lines) == 9


@pytest.mark.parametrize("name", ["never_set", "larger_of_what_was_in_bytes", "hole_in_bytes"])
def test_what_the_interpreter_does_not_set_either_is_no_difference(project, name):
    lines = check(name, "-C", str(project), "-t", "cpu:x86-64-v2").stdout.splitlines()
    assert "    interpreter and machine code agree" in lines


def test_findings_as_json(project):
    told = json.loads(check("drops_nan", "-C", str(project), "-t", "cpu:x86-64-v2", "--json").stdout)
    (finding,) = told["findings"]
    assert finding["kernel"] == "drops_nan" and len(finding["artifacts"]) == 2 and finding["interpreter_agrees"] is True
    assert finding["others"] == sum(len(row["failures"]) for row in told["artifacts"]) - 1 > 0
    assert {"path", "line", "column", "case", "seed", "what", "command"} <= finding.keys()


def test_a_failing_call_is_one_finding_for_all_types_sizes_and_targets(tmp_path):
    """A histogram without bins writes before the first one."""
    (tmp_path / "kernels.yaml").write_text(
        "version: 1\ntargets: [cpu:x86-64, cpu:x86-64-v2]\nkernels:\n  h:\n"
        '    signature: "(x: T[n], nbins: int64) -> (out: int64[nbins] = 0)"\n    types: {T: [float32, float64]}\n'
        "    body: |\n      for i in grid(n):\n          atomic_add(out, min(int64(abs(x[i])), nbins - 1), 1)\n"
        "    reference: np.bincount(np.minimum(np.abs(x).astype(np.int64), nbins - 1), minlength=nbins)\n    special: false\n"
        "    sizes: {check: [{n: 5, nbins: 0}, {n: 7, nbins: 0}, {n: 9, nbins: 0}]}\n"
    )
    subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(tmp_path)], check=True, capture_output=True)
    done = check("-C", str(tmp_path))
    found = [line for line in done.stdout.splitlines() if ", seed 0: " in line]
    raised = r"  n=\d+,nbins=0, seed 0: the call raised IndexError: .*:9:\d+: index -1 is outside out, which has 0$"
    assert len(found) == 1 and re.match(raised, found[0]), done.stdout
    assert "of 4 artifacts" in done.stdout and "4 failed, 1 finding" in done.stderr


@pytest.mark.parametrize(
    "got, wanted, error",
    [
        ([1.0, 2.0], [1.0, 4.0], 0.5),  # of the largest reference
        ([1e-3, 4.0], [0.0, 4.0], 2.5e-4),
        ([1.0, 5.0, np.inf], [1.0, 4.0, np.inf], 0.25),  # infinities are no measure
        ([np.nan], [1.0], np.inf), ([1.0], [np.nan], np.inf), ([np.inf], [-np.inf], np.inf), ([np.nan], [np.nan], 0.0),
        ([1e38], [1e300], np.inf), ([np.inf], [1e300], 0.0),  # the reference is rounded first
        ([16777216.0], [16777217.0], 0.0), ([-0.0], [0.0], 0.0), ([], [], None),
    ],
)  # fmt: skip
def test_the_error_of_floats(got, wanted, error):
    found = measure.difference(np.array(got, np.float32), np.array(wanted, np.float64))
    assert error is None and found is None or found.error == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize(
    "got, wanted, error",
    [
        ([4 + 1j], [4 + 2j], 1 / abs(4 + 2j)),  # of the whole number, not of its smaller part
        ([3 + 4j, 1j], [3 + 4j, 0], 0.2), ([complex(np.nan, 1)], [complex(np.nan, 1)], 0.0),
        ([complex(np.nan, 1)], [complex(1, np.nan)], np.inf), ([complex(np.inf, 3)], [complex(np.inf, 4)], 0.25),
    ],
)  # fmt: skip
def test_the_error_of_complex_numbers(got, wanted, error):
    found = measure.difference(np.array(got, np.complex64), np.array(wanted, np.complex128))
    assert found.error == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
def test_integers_and_booleans_are_exact(dtype):
    got = np.array([1, 0, 1], dtype)
    assert measure.difference(got, got).error == 0
    assert measure.difference(got, np.array([1, 1, 1], dtype))[::3] == ((1,), np.inf)


def test_signs_of_zeros_count_where_they_are_asked_for():
    got = np.array([-0.0, 1.0], np.float32)
    assert measure.difference(got, np.abs(got)).error == 0
    assert measure.difference(got, np.abs(got), zeros=True).error == np.inf


@pytest.mark.parametrize(
    "values, dtype, wrong",
    [
        ([127, -128, 128, -129], "int8", [0, 0, 1, 1]), ([127.9, -128.9, 128.0, np.nan, np.inf], "int8", [0, 0, 1, 1, 1]),
        ([2.0**63, -(2.0**63), 2.0**62], "int64", [1, 0, 0]), ([2.0**64, 0.0, -1.0], "uint64", [1, 0, 1]),
        ([2, 1, 0], "bool", [1, 0, 0]), ([1e39, -1e39, 3e38, np.inf, np.nan], "float32", [1, 1, 0, 0, 0]),
        ([70000.0, 65504.0], "float16", [1, 0]), ([1e39 + 0j, 1j], "complex64", [1, 0]), ([True, False], "int8", [0, 0]),
        ([-1, 0], "uint8", [1, 0]),
    ],
)  # fmt: skip
def test_values_that_a_type_cannot_hold(values, dtype, wrong):
    assert measure.beyond(np.array(values), np.dtype(dtype)).tolist() == [bool(w) for w in wrong]


@pytest.mark.parametrize("unchecked, said", [(False, "agree"), (True, "differ (which does not check this index)")])
def test_an_index_that_is_outside_is_one_finding_with_its_line_from_wherever_it_is_asked_for(tmp_path, unchecked, said):
    """In large cases, for which nobody asks the interpreter, and in code that checks its indices, it is the same one."""
    text = "      for i in grid(n):\n          out[i] = x[i] + x[i + 1]\n"
    (tmp_path / "kernels.yaml").write_text(
        'version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n  k:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n'
        f"    unchecked: {str(unchecked).lower()}\n    body: |\n{text}    reference: x + np.append(x[1:], x[-1:])\n"
    )
    command = [sys.executable, "-m", "pydotcompute"]
    for options in ((), ("--bounds",)):
        subprocess.run([*command, "build", *options], check=True, capture_output=True, cwd=tmp_path)
    done = subprocess.run([*command, "check"], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    lines = done.stdout.splitlines()
    assert done.stderr.endswith(" of 2 artifacts, 2 failed, 1 finding, 0 not run\n"), done.stdout
    at = next(k for k, line in enumerate(lines) if line == "    kernels.yaml:9:29")
    assert lines[at + 1].index("i + 1]") == lines[at + 2].index("^")
    assert lines[at + 3] == f"    interpreter and machine code {said}"
