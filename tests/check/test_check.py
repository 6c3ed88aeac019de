"""`pydotcompute check` finds what is wrong with a kernel, says where, and repeats it."""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

TARGET = "cpu:x86-64-v2"

RIGHT = """
    signature: "(a: T, x: T[n]) -> (out: T[n])"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          out[i] = a * x[i]
    reference: a * x
"""
TRUSTED = RIGHT.replace("    body:", "    unchecked: true\n    body:")  # an index outside is undefined behaviour
SCATTER = """
    signature: "(x: T[n], index: int64[n]) -> (out: T[n] = 0)"
    types: {T: [float32, bool, int8]}
    body: |
      for i in grid(n):
          scatter(out, index[i], x[i])
    reference: references.py:last
    inputs: {index: {low: 0, high: 3 if n > 3 else n}}
"""
SCRATCH = """
    signature: "(x: T[n]) -> (out: T[n]) temp (q: T[n + 1] = 0)"
    types: {T: [float32]}
    body: |
      for i in range(n):
          q[i] = x[i]
      for i in range(n):
          out[i] = q[i + 1]
    reference: np.append(x, np.float32(0))[1:]
"""
REQUIRED = """
    signature: "(x: T[n], low: T, middle: T, high: T, k: int32, mode: uint8) -> (out: T[n])"
    types: {T: [float32, int32]}
    requires: ["low < middle < high", "3 * k + 1 == n - n % 3 + 1 or n < 3", "mode == 77", "high - low < 1000"]
    body: |
      for i in grid(n):
          out[i] = min(max(x[i], low), high) + T(k) + T(mode)
    reference: np.clip(x, low, high) + k + mode
"""
CASES = {
    "right": (RIGHT, None),
    "scratch": (SCRATCH, None),
    "required_scalars": (REQUIRED, None),
    "required_in_vain": (REQUIRED.replace("3 * k + 1 == n - n % 3 + 1 or n < 3", "k * k == 1999"), None),
    "scratch_that_nobody_set": (SCRATCH.replace(" = 0)", ")"), "1 element was not written"),
    "reference": (RIGHT.replace("reference: a * x", "reference: a * x + 1"), "by the reference"),
    "tolerance": (
        RIGHT.replace("reference: a * x", "reference: a * x * (1 + 1e-5)\n    tolerance: 1e-6"), "tolerance 1e-06"
    ),
    "unwritten": (RIGHT.replace("out[i] = a", "if i > 0:\n              out[i] = a"), "1 element was not written"),
    "outside": (TRUSTED.replace("out[i]", "out[i + 1]"), "bytes outside its elements were written"),
    "twice_the_tolerance": (
        RIGHT.replace("reference: a * x", "reference: a * x * (1 + 2e-3)\n    tolerance: 1e-3"), "tolerance 0.001"
    ),
    "tail": (
        RIGHT.replace("out[i] = a * x[i]", "out[i] = a * x[i] if i < n - n % 8 or n < 8 else x[i]"), "by the reference"
    ),
    "order": (
        """
    signature: "(x: T[n]) -> (out: T[1] = 0)"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          atomic_add(out, 0, x[i])
    tolerance: 1e-12
""", "by the interpreter (reverse)"
    ),
    "any_of_several": (SCATTER, None),
    "one_alone_of_several": (SCATTER.replace("index[i]", "n - 1 - i"), "by the reference"),
    "wrong_then_far_away": (
        TRUSTED.replace("out[i]", "out[i + (100000000000 if n == 1000 else 0)]").replace("reference: a", "reference: -a"),
        "the process ended by SIGSEGV in this case",
    ),
    "far_away": (TRUSTED.replace("out[i]", "out[i + 100000000000]"), "the process ended by SIGSEGV in this case"),
    "no_reference": (
        RIGHT.replace("reference: a * x", "reference: a * x[n]"),
        "its reference (a * x[n]) raised IndexError: index 0 is out of bounds",
    ),
    "shape": (
        RIGHT.replace("reference: a * x", "reference: (a * x)[:-1]"),
        "its reference ((a * x)[:-1]) gives an array of shape (0,) for 'out', which has (1,)",
    ),
    "values": (RIGHT.replace("reference: a * x", "reference: references.py:two"),
               "gives 2 values; the kernel writes 1: out"),
    "scalar": (RIGHT.replace("reference: a * x", "reference: a"), "gives an array of shape () for 'out', which has"),
    "complex": (RIGHT.replace("reference: a * x", "reference: x + 0j"), "gives complex128 for 'out', which is float32"),
    "none": (
        RIGHT.replace("reference: a * x", "reference: references.py:none"),
        "gives no numbers for 'out', but object (NoneType)",
    ),
    "text": (
        RIGHT.replace("reference: a * x", "reference: np.array2string(x)"), "gives no numbers for 'out', but <U"
    ),
    "too_long": (
        RIGHT.replace("reference: a * x", "reference: 10**400"), "gives no numbers for 'out', but object (int)"
    ),
    "no_inputs": (RIGHT.replace("reference: a * x", "inputs: references.py:two"), "is not a dict of arguments: a, x"),
    "skipped": (RIGHT.replace("reference: a * x", "reference: references.py:skipped"), "raised Skipped: not here"),
    "ended": (RIGHT.replace("reference: a * x", "reference: references.py:ended"), "raised SystemExit"),
    "interrupted": (
        RIGHT.replace("reference: a * x", "inputs: references.py:interrupted"),
        "its inputs (references.py:interrupted) raised KeyboardInterrupt",
    ),
    "talks": (
        RIGHT.replace("reference: a * x", "reference: references.py:talks\n    inputs: references.py:gives")
        + "    sizes: {bench: [{n: 8}]}\n", None
    ),
    "lines": (RIGHT.replace("reference: a * x", "reference: references.py:lines"), "raised ValueError: one two"),
    "beyond": (
        TRUSTED.replace("a * x[i]\n", "a * x[i]\n          if i == 0:\n              out[n + 30000] = a\n"),
        "the process ended by SIGSEGV in this case",
    ),
    "next_row": (
        """
    signature: "(x: T[m, n]) -> (out: T[m, n])"
    types: {T: [float32]}
    unchecked: true
    body: |
      for i, j in grid(m, n):
          out[i, j] = x[i, j]
          if i == m - 1 and j == n - 1 and n > 2000:
              out[i + 1, j] = x[i, j]
    reference: x
""", "'out': 4 bytes outside its elements were written"
    ),
    "checked": (RIGHT.replace("out[i]", "out[i + 1]"), "the call raised IndexError: "),
    "hang": (
        RIGHT.replace("out[i] = a", "k = 0\n          while n == 1000 and k < 10:\n              k = k * 1\n"
                      "          out[i] = k + 1 + a"), "by the reference"
    ),
    "below_nothing": (
        """
    signature: "(x: T[n]) -> (out: T[n - 2])"
    types: {T: [float32]}
    body: |
      for i in grid(n - 2):
          out[i] = x[i]
    reference: x[1:-1]
""", "by the reference"
    ),
    "vendor": (
        """
    signature: "(x: T[m, k], y: T[k, n]) -> (out: T[m, n])"
    types: {T: [float64]}
    vendor: {call: matmul}
    body: |
      for i, j in grid(m, n):
          t = T(0)
          for l in range(k):
              t += 2 * x[i, l] * y[l, j]
          out[i, j] = t
    reference: 2 * (x @ y)
""", "vendor: "
    ),
    "negative": (TRUSTED.replace("a * x[i]\n", "a * x[i - 1]\n"), "the interpreter (forward) raised IndexError"),
}  # fmt: skip
UNREPEATED = ("right", "talks", "required_scalars", "required_in_vain", "any_of_several", "scratch", "hang", "wrong_then_far_away")
REFERENCES = """
import numpy as np

def two(a, x):
    return a, x

def none(x):
    return None

def last(x, index):
    out = np.zeros_like(x)
    for i, v in zip(index, x):
        out[i] = v
    return out

def lines(x):
    raise ValueError("one\\ntwo")

class Skipped(BaseException):
    pass

def skipped(x):
    raise Skipped("not here")

def ended(x):
    raise SystemExit

def talks(a, x):
    print("some talk")
    return a * x

def gives(rng, names):
    print("more talk")
    return {}

def interrupted(rng, names):
    raise KeyboardInterrupt
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    kernels = "".join(f"  {name}:{text}" for name, (text, _) in CASES.items())
    (folder / "kernels.yaml").write_text(f"version: 1\ntargets: [{TARGET}]\nkernels:\n{kernels}")
    (folder / "templates").mkdir()
    (folder / "templates/references.py").write_text(REFERENCES)
    subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", ["any_of_several", "scratch", "required_scalars"])
def test_what_is_right_in_more_than_one_way(project, name):
    done = check(name, "-C", str(project))
    assert done.returncode == 0, done.stdout


def check(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pydotcompute", "check", *arguments], capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stderr
    return done


def test_a_right_kernel_passes(project):
    done = check("right", "-C", str(project))
    assert done.returncode == 0
    assert done.stdout.startswith("ok ")
    assert "1 artifact, 0 failed, 1 not run" in done.stderr


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNREPEATED])
def test_a_wrong_kernel_fails_with_what_is_wrong_and_how_to_repeat_it(project, name):
    done = check(name, "-C", str(project))
    assert done.returncode == 1
    assert CASES[name][1] in done.stdout
    assert "FAILED" in done.stdout
    command = next(line for line in done.stdout.splitlines() if "repeat:" in line).partition("repeat: ")[2]
    words = shlex.split(command)
    assert words[:2] == ["pydotcompute", "check"]
    again = check(*words[2:])
    assert again.returncode == 1
    assert CASES[name][1] in again.stdout or "by the interpreter" in again.stdout
    assert again.stderr.startswith("1 case of 1 artifact, 1 failed")
    wrong, cases = map(int, re.search(r"FAILED .*: (\d+) of (\d+) case", done.stdout).groups())
    assert 0 < wrong <= cases


def test_arrays_that_begin_where_no_vector_would_are_drawn(project):
    done = check("right", "-C", str(project), "--case", "n=1 misaligned")
    assert done.returncode == 0 and done.stderr.startswith("1 case of 1 artifact, 0 failed")


def test_only_the_calls_of_the_vendor_are_wrong(project):
    rows = [line.split() for line in check("vendor", "-C", str(project)).stdout.splitlines() if line[0] != " "]
    ran = [(row[0], row[3].rstrip(":")) for row in rows if row[0] != "not"]
    assert ran == [("ok", TARGET), ("FAILED", "cpu:vendor")]


def test_what_references_print_is_talk(project):
    for command in (("check", "talks"), ("bench", "--subject", "declared", "--kernel", "talks", "--rounds", "1")):
        whole = [sys.executable, "-m", "pydotcompute", *command, "--json", "-C", str(project)]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and json.loads(done.stdout)["version"] == 1
        assert {"some talk", "more talk"} <= {*done.stderr.splitlines()}


def test_nothing_built_is_said_in_one_line(tmp_path):
    (tmp_path / "kernels.yaml").write_text(f"version: 1\ntargets: [{TARGET}]\nkernels:\n  right:{RIGHT}")
    done = check("-C", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith(f"no kernels are built in {tmp_path}") and done.stderr.count("\n") == 1


def test_what_a_failed_build_left_behind_is_refused(tmp_path):
    declaration = f"version: 1\ntargets: [{TARGET}]\nkernels:\n  right:{RIGHT}"
    (tmp_path / "kernels.yaml").write_text(declaration)
    build = [sys.executable, "-m", "pydotcompute", "build", "-C", str(tmp_path)]
    assert subprocess.run(build, capture_output=True).returncode == 0
    (tmp_path / "kernels.yaml").write_text(declaration.replace("a * x[i]", "a * z[i]"))
    assert subprocess.run(build, capture_output=True).returncode == 1
    done = check("right", "-C", str(tmp_path))
    assert done.returncode == 1
    assert "the artifact is out of date (" in done.stdout
    assert f"run: pydotcompute build right -C {tmp_path}" in done.stdout


def test_sizes_that_no_memory_holds_are_a_finding_and_the_others_are_checked(tmp_path):
    declaration = f"version: 1\ntargets: [{TARGET}]\nkernels:\n  right:{RIGHT}    sizes: {{check: [{{n: 1e13}}]}}\n"
    (tmp_path / "kernels.yaml").write_text(declaration)
    build = [sys.executable, "-m", "pydotcompute", "build", "-C", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True)
    done = check("-C", str(tmp_path))
    found = [line for line in done.stdout.splitlines() if ", seed 0: " in line]
    assert done.returncode == 1 and len(found) == 1
    assert "MemoryError: Unable to allocate" in found[0] and found[0].startswith("  n=10000000000000, seed 0: ")
    assert int(done.stderr.split()[0]) >= 20


def test_an_unknown_kernel_is_named(project):
    done = check("rihgt", "-C", str(project))
    assert done.returncode == 2
    assert "did you mean 'right'?" in done.stderr


def test_what_was_found_before_a_crash_is_told_with_it(project):
    done = check("wrong_then_far_away", "-C", str(project))
    found = [line for line in done.stdout.splitlines() if ", seed 0: " in line]
    assert "by the reference" in found[0] and found[0].startswith("  n=1, seed 0: ")
    assert found[1:] == ["  n=1000, seed 0: the process ended by SIGSEGV in this case"]
    assert done.stderr.endswith(" of 1 artifact, 1 failed, 2 findings, 1 not run\n")


@pytest.mark.parametrize("sign, status, last", [("SIGINT", 130, "interrupted\n"), ("SIGTERM", -signal.SIGTERM, "")])
def test_a_kernel_that_never_returns_is_named_and_ends_with_the_check(project, sign, status, last):
    command = [sys.executable, "-m", "pydotcompute", "check", "hang", "-C", str(project), "--case", "n=1000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == f"hang T=float32 {TARGET}: in the case n=1000 for 10 s\n"
        child = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        process.send_signal(signal.Signals[sign])
        assert process.wait(30) == status
        deadline = time.monotonic() + 10
        while (left := runs(child)) and time.monotonic() < deadline:
            time.sleep(0.05)
        if left:
            os.kill(child, signal.SIGKILL)  # it would hold the pipe that is read here
        rest = process.stderr.read()
    assert not left
    assert rest.endswith(last) and (": in the case n=1000 for " in rest) == bool(last)


def runs(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_where_no_scalars_are_found_that_a_kernel_takes_that_is_said(project):
    done = check("required_in_vain", "-C", str(project))
    said = " and high - low < 1000 allow; give them `inputs`"
    assert done.stdout.startswith("not run  required_in_vain T=float32") and said in done.stdout
    assert done.stderr.startswith("0 cases")
