"""'pydotcompute diff': what two artifacts differ in, from their keys to their instructions, by line of the source."""

import json
import re
import shutil

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


@pytest.mark.slow
def test_two_caches_without_any_source(project, tmp_path, capsys):
    if not shutil.which("objdump"):
        pytest.skip("no objdump: Debian's package binutils, or llvm")
    folders = []
    for number, body in enumerate(("3 * x[i]", "x[i] + y[i]", "5 * x[i]")):
        (project / "kernels.yaml").write_text(KERNELS.replace("3 * x[i]", body))
        assert main(["build", "-q", "-C", str(project)]) == 0
        folders.append(shutil.copytree(project / "build" / "cache", tmp_path / f"cache{number}"))
    (project / "kernels.yaml").unlink()
    one, two, three = folders
    found = data(capsys, "poly", "--built", "--with", two, "-C", one)
    assert [field["what"] for field in found["fields"]] == ["source"] and found["sources"] == []
    assert (found["stage"], found["same"], found["same_bytes"]) == ("so", False, False)
    (part,) = found["parts"]
    old, new = ("\n".join(part[side]["lines"]) for side in ("old", "new"))
    assert "mulps" in old and "mulps" not in new and "addps" in new
    assert len(part["old"]["lines"]) < 200  # of 1,500: the rest is the same, wherever it lies now
    assert re.match(r"the object [0-9a-f]{12} of .*cache0/objects/", found["old"]["made"])
    found = data(capsys, "poly", "--built", "--with", three, "-C", one)  # another constant alone
    assert [len(part["new"]["lines"]) for part in found["parts"]] == [2] and "00004040" in found["parts"][0]["old"]["lines"][0]
    found = data(capsys, "poly[T=float32]", "[T=float64]", "--built", "-C", one)
    assert "mulpd" in "\n".join(found["parts"][0]["new"]["lines"])
    assert data(capsys, "poly", "--built", "--with", project / "build" / "cache", "-C", three)["same"]
    shutil.rmtree(two / "keys")
    code, out, err = call(capsys, "poly", "--built", "--with", two, "-C", one)
    assert code == 1 and out.startswith("== instructions: so\n") and "of its key nothing is remembered" in err
    assert call(capsys, "pole", "--built", "--with", two, "-C", one)[::2] == (
        2, f"pydotcompute: no kernel 'pole' in {one}; did you mean 'poly'?\n"
    )  # fmt: skip
    (project / "kernels.yaml").write_text(KERNELS.replace("3 * x[i]", "z[i]"))
    assert main(["build", "-q", "-C", str(project)]) == 1
    assert main(["cache", "prune", "--older-than", "0s", "-C", str(project)]) == 0
    capsys.readouterr()
    assert call(capsys, "poly", "--built", "--with", one, "-C", project)[::2] == (1, (
        f"{project}/build/cache has no artifacts of the kernel 'poly'; run: pydotcompute build poly -C {project}\n"
    ))  # fmt: skip


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
