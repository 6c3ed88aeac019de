"""'pydotcompute show': each stage of a kernel is what a build makes, with the user's line beside each instruction."""

import json
import os
import re
import subprocess
import sys

import pytest

from pydotcompute import cache
from pydotcompute.cli import main

pytestmark = pytest.mark.slow  # every stage is compiled for the occasion

KERNELS = """\
version: 1
targets: ["cpu:x86-64-v3", "cuda:compute_80", "cuda:sm_90", "opencl:1.2"]
kernels:
  poly:
    doc: a polynomial, then its running sum
    signature: "(x: T[n], index: int64[n]) -> (out: T[n], last: T)"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          out[i] = 3 * x[i] * x[i] + 1
      s = T(0)
      for k in range(n):
          s = s * x[index[k]] + 1
      last[()] = s
"""
STORE, LOOP, CARRIED = 10, 9, 13  # lines of kernels.yaml


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("show")
    (root / "kernels.yaml").write_text(KERNELS)
    done = subprocess.run(
        [sys.executable, "-m", "pydotcompute", "build", "-C", str(root)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return root


def show(project, capsys, *arguments):
    code = main(["show", "poly", "-C", str(project), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def stage(project, capsys, target, name, *arguments):
    code, out, err = show(project, capsys, "-t", target, f"--{name}", "--json", *arguments)
    assert code == 0, err
    data = json.loads(out)
    assert "byte by byte the object" in data["made"]
    (found,) = data["stages"]
    assert found["stage"] == name
    return found


def places(listing, pattern):
    """The lines of the user's that the lines of code with the pattern come from."""
    found = {line["line"] for line in listing["lines"] if re.search(pattern, line["text"])}
    assert found, f"no code has {pattern}"
    return found


def artifact(project, target):
    (found,) = (r for r in cache.Cache(project).records() if r.target == target)
    with open(found.path) as file:
        return file.read()


def test_assembly_has_the_lines_of_its_source(project, capsys):
    listing = stage(project, capsys, "cpu:x86-64-v3", "asm")
    assert listing["notes"] == []  # a table of lines does not change the code
    assert STORE in places(listing, r"\bvfmadd\w+ps\b.*%ymm")
    assert places(listing, r"\bvmovups\s+%ymm\d+, .*\(") == {STORE}
    assert not any(re.match(r"\s*\.(loc|cfi|file)", line["text"]) for line in listing["lines"])


def test_llvm_ir_has_the_lines_of_its_source(project, capsys):
    listing = stage(project, capsys, "cpu:x86-64-v3", "llvm")
    assert places(listing, r"store <8 x float>") == {STORE}
    assert not any("!dbg" in line["text"] or "DILocation" in line["text"] for line in listing["lines"])


def test_a_loop_alone(project, capsys):
    whole = stage(project, capsys, "cpu:x86-64-v3", "asm")
    part = stage(project, capsys, "cpu:x86-64-v3", "asm", "--loop", str(LOOP))
    assert 0 < len(part["lines"]) < len(whole["lines"])
    assert {line["line"] for line in part["lines"]} == {LOOP, STORE}
    code, out, err = show(project, capsys, "--asm", "--loop", "8")
    assert (code, out) == (2, "")
    assert err.endswith("--loop 8: no loop of poly begins in that line; loops begin in lines 9, 12\n")


@pytest.mark.parametrize("target, name", [("cuda:compute_80", "ptx"), ("opencl:1.2", "text")])
def test_a_text_is_that_of_the_artifact(project, capsys, target, name):
    listing = stage(project, capsys, target, name)
    made = artifact(project, target).split("\n", 1)[1]  # its first line says what it is
    assert [" ".join(line["text"].split()) for line in listing["lines"] if line["text"].strip()] == [
        " ".join(line.split()) for line in made.splitlines() if line.strip()
    ]


def test_ptx_and_sass_have_the_lines_of_their_source(project, capsys):
    listing = stage(project, capsys, "cuda:compute_80", "ptx")
    assert places(listing, r"st\.global\.f32") == {STORE, STORE + 1, CARRIED + 1}  # of three phases
    assert places(listing, r"fma\.rn\.f32") == {STORE, CARRIED}
    listing = stage(project, capsys, "cuda:sm_90", "sass")
    assert STORE in places(listing, r"\bFFMA\b")
    assert STORE in places(listing, r"\bSTG\.E\b")


def test_source_and_tree(project, capsys):
    assert places(stage(project, capsys, "opencl:1.2", "source"), r"out\[i\] = ") == {STORE}
    tree = stage(project, capsys, "opencl:1.2", "tree")
    assert places(tree, r"s = \(") == {CARRIED} and places(tree, r"for k in range") == {CARRIED - 1}


def test_what_was_made_of_the_loops(project, capsys):
    code, out, err = show(project, capsys)
    assert code == 0 and "byte by byte" in err
    told = out.replace(f"{project}/", "").splitlines()
    assert told[:2] == ["poly (x: T[n], index: int64[n]) -> (out: T[n], last: T)", "  a polynomial, then its running sum"]
    loop = told.index("  kernels.yaml:9  for i in grid(n):")
    assert re.fullmatch(r"    vectorised: 8 elements in a register(, \d registers a turn)?", told[loop + 1])
    loop = told.index("  kernels.yaml:12  for k in range(n):")
    assert told[loop + 1].startswith("    scalar: ")
    assert "    x: an index that is not proved to be inside is looked at in every call" in told
    assert told[-1] == "stages: --source, --tree, --lowered, --llvm, --asm"


def test_the_resources_of_a_gpu(project, capsys):
    code, out, _ = show(project, capsys, "-t", "cuda:sm_90")
    assert code == 0 and re.search(r"poly\w*, sm_90: \d+ registers, \d+ shared, \d+ stack, 0 spill stores", out)


def test_what_is_not_there(project, capsys):
    code, out, err = show(project, capsys, "--sass")
    assert (code, out) == (2, "")
    assert err.endswith(
        "cpu:x86-64-v3 has no --sass of poly; it has --source, --tree, --lowered, --llvm, --asm\n"
    )
    assert show(project, capsys, "T=float64")[0] == 2
    code, _, err = show(project, capsys, "-t", "cpu:x86-64-v2", "--asm")
    assert code == 0 and "not built; this is what a build would make" in err


@pytest.mark.parametrize("option", ["", "--debug-info"])
def test_folders_and_templates_may_be_called_anything(tmp_path, capsys, option):
    root = tmp_path / os.fsdecode(b'a "b", \\41 \xc3\xa9 \xff')
    (root / "templates").mkdir(parents=True)
    (root / "templates" / 'two, "é".j2').write_text("def poly(x, out):\n    for i in grid(n):\n        out[i] = 2 * x[i]\n")
    signature = '"(x: float32[n]) -> (out: float32[n])"'
    text = f"version: 1\nkernels:\n  poly:\n    signature: {signature}\n    template: 'two, \"é\".j2'\n"
    (root / "kernels.yaml").write_text(text)
    options = [option] * bool(option)
    assert main(["build", "-C", str(root), "-t", "cpu:x86-64-v3", "-q", *options]) == 0, capsys.readouterr().err
    code, out, err = show(root, capsys, "-t", "cpu:x86-64-v3")
    assert code == 0 and re.search(r'two, "é"\.j2:2 .*\n    vectorised: 8 elements', out), err
    for name in ("llvm", "asm"):
        assert places(stage(root, capsys, "cpu:x86-64-v3", name), "mul|fadd|add") >= {3}
