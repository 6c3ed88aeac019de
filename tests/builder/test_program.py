"""`pydotcompute.build`: the command's build, from a program."""

import subprocess
import sys

import numpy as np
import pytest

import pydotcompute
from pydotcompute import CompilationError, DeclarationError, KernelNotBuiltError

KERNELS = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  twice:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]
  thrice:
    signature: "(x: float64[n]) -> (out: float64[n])"
    body: |
      for i in grid(n):
          out[i] = 3 * x[i]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    return tmp_path


@pytest.mark.slow
def test_a_build_says_what_it_makes_and_what_was_there(project):
    lines = []
    found = pydotcompute.build(project, kernels=iter(["twice"]), jobs=1, progress=lines.append)
    assert sorted(line.split(" ", 1)[0] for line in lines) == ["[1/2]", "[2/2]"]
    assert {line.split("] ")[1] for line in lines} == {f"built twice T=float{n} cpu:x86-64-v2" for n in (32, 64)}
    assert [(row.kernel, row.specialization, row.status) for row in found] == [
        ("twice", "T=float32", "built"), ("twice", "T=float64", "built"),
    ]  # fmt: skip
    assert all(row.seconds > 0 and row.bytes > 0 and len(row.key) == 64 for row in found)
    lib = pydotcompute.load(project)
    assert lib.twice(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(KernelNotBuiltError):
        lib.thrice(np.ones(2))
    again = pydotcompute.build(str(project), progress=lines.append)
    assert [row.status for row in again] == ["reused", "reused", "built"] and len(lines) == 3
    assert lib.reload().thrice(np.ones(2)).tolist() == [3, 3]
    assert pydotcompute.build(project, targets=["cpu:x86-64-v3"], kernels=["thrice"])[0].target == "cpu:x86-64-v3"


@pytest.mark.slow
def test_mistakes_are_exceptions_with_the_command_s_words(project):
    with pytest.raises(ValueError, match=r"no kernel 'twise' in .*kernels.yaml; did you mean 'twice'\?"):
        pydotcompute.build(project, kernels=["twise"])
    with pytest.raises(ValueError, match=r"jobs = -1 \(argument\): expected a whole number from 1"):
        pydotcompute.build(project, jobs=-1)
    with pytest.raises(ValueError, match="cpu:x86-64-v9"):
        pydotcompute.build(project, targets=["cpu:x86-64-v9"])
    with pytest.raises(TypeError, match="lists of names"):
        pydotcompute.build(project, kernels="twice")
    (project / "kernels.yaml").write_text(KERNELS.replace("3 * x[i]", "3 * z[i]"))
    with pytest.raises(CompilationError, match=r"kernels.yaml:14:\d+: .*z"):
        pydotcompute.build(project)
    with pytest.raises(CompilationError, match="z"):
        pydotcompute.build(project, keep_going=True)
    assert pydotcompute.load(project).twice(np.ones(2)).tolist() == [2, 2]
    (project / "kernels.yaml").write_text("version: 1\nkernels: 3\n")
    with pytest.raises(DeclarationError, match="kernels.yaml:2"):
        pydotcompute.build(project)


def test_without_the_build_half_it_says_what_to_install(project):
    program = (
        "import sys; sys.modules['yaml'] = None\n"
        "import pydotcompute\n"
        "try: pydotcompute.build(sys.argv[1])\n"
        "except pydotcompute.CompilerNotInstalledError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(project)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("building needs pyyaml: "), done.stderr
