"""'pydotcompute diff': what two artifacts differ in, from their keys to their instructions, by line of the source."""

import json

import pytest

from pydotcompute.cli import main

KERNELS = """\
version: 1
targets: ["cpu:x86-64-v2"]
kernels:
  poly:
    signature: "(x: T[n], y: T[n]) -> (out: T[n])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(n):
          a = 3 * x[i]
          out[i] = a / y[i]
"""
PRODUCT, QUOTIENT = 9, 10  # lines of kernels.yaml


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "one"
    root.mkdir()
    (root / "kernels.yaml").write_text(KERNELS)
    return root


def call(capsys, *arguments):
    code = main(["diff", *map(str, arguments)])
    return (code, *capsys.readouterr())


def data(capsys, *arguments):
    code, out, err = call(capsys, *arguments, "--json")
    found = json.loads(out)
    assert code == (0 if found["same"] else 1), err
    return found


def code_of(found, side, line):
    return "\n".join(text for part in found["parts"] if part[side]["line"] == line for text in part[side]["lines"])


@pytest.mark.slow  # both sides are compiled
def test_two_targets(project, capsys):
    found = data(capsys, "poly@cpu:x86-64-v2", "@cpu:x86-64-v3", "-C", project)
    assert [field["what"] for field in found["fields"]] == ["target"]
    assert (found["sources"], found["stage"], found["same_bytes"]) == ([], "asm", False)
    old, new = (code_of(found, side, QUOTIENT) for side in ("old", "new"))
    assert "divps" in old and "%ymm" not in old
    assert "vdivps" in new and "%ymm" in new
    _, out, err = call(capsys, "poly@cpu:x86-64-v2", "@cpu:x86-64-v3", "-C", project)
    assert out.startswith("target: cpu:x86-64-v2 → cpu:x86-64-v3\n== instructions: asm\n")
    assert f"kernels.yaml:{QUOTIENT}  out[i] = a / y[i]\n" in out and "not built" in err


@pytest.mark.slow
def test_two_specialisations(project, capsys):
    found = data(capsys, "poly[T=float32]", "[T=float64]", "-C", project)
    assert {"types"} <= {field["what"] for field in found["fields"]}
    assert {source["stage"] for source in found["sources"]} == {"tree", "lowered"}
    assert "divps" in code_of(found, "old", QUOTIENT) and "divpd" in code_of(found, "new", QUOTIENT)


@pytest.mark.slow
def test_two_projects_where_lines_have_moved(project, tmp_path, capsys):
    assert data(capsys, "poly", "--with", project, "-C", project)["same"]
    assert main(["build", "-C", str(project)]) == 0
    other = tmp_path / "two"
    other.mkdir()
    (other / "kernels.yaml").write_text("# one line more\n" + KERNELS.replace("3 * x[i]", "x[i] + 3"))
    found = data(capsys, "poly", "--with", other, "-C", project)
    assert "byte by byte the object" in found["old"]["made"] and "not built" in found["new"]["made"]
    assert [field["what"] for field in found["fields"]] == ["source"]
    assert any(line == "-        a = 3 * x[i]" for source in found["sources"] for line in source["lines"])
    assert "mul" in code_of(found, "old", PRODUCT) and "add" in code_of(found, "new", PRODUCT + 1)
    assert "div" not in code_of(found, "old", QUOTIENT)  # the line has moved, its code is the same
    (other / "kernels.yaml").write_text("# one line more\n" + KERNELS)
    assert data(capsys, "poly", "--with", other, "-C", project)["same"]


@pytest.mark.slow
def test_two_backends_have_their_sources_in_common(project, capsys):
    found = data(capsys, "poly", "@opencl:1.2", "-C", project)
    assert (found["stage"], found["parts"], found["sources"]) == ("", [], [])


@pytest.mark.parametrize("arguments, line", [
    (("poly",), "there is nothing to compare with: name a second one, such as @cpu:x86-64-v4, or --with DIR"),
    (("@cpu:x86-64-v3", "poly"), "@cpu:x86-64-v3: the first begins with the name of a kernel, such as "
     "softmax@cpu:x86-64-v3"),
    (("poly[T", "poly"), "'poly[T' is no artifact: write KERNEL[SPECIALIZATION]@TARGET, such as "
     "softmax[T=float32]@cuda:sm_90"),
    (("poly", "--with", "nowhere"), "--with nowhere: there is no such folder"),
])  # fmt: skip
def test_what_is_not_understood(project, capsys, arguments, line):
    assert call(capsys, *arguments, "-C", project) == (2, "", f"pydotcompute: {line}\n")
