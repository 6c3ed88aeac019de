"""What `pydotcompute check` runs, what it refuses because another source is here now, and what it says of the rest."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from pydotcompute.cache.checks import kept

KERNELS = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  scale:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]
    reference: 2 * x
  negative:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          out[i] = -x[i]
  product:
    signature: "(x: T[m, k], y: T[k, n]) -> (out: T[m, n])"
    types: {T: [float64]}
    vendor: {call: matmul, when: m * n * k > 1000}
    template: product.py.j2
    reference: x @ y
"""
PRODUCT = """\
def product(x, y, out):
    for i, j in grid(m, n):
        t = T(0)
        for l in range(k):
            t += x[i, l] * y[l, j]
        out[i, j] = t
"""
BLOCKED = "import sys; sys.modules['diskcache'] = None; from pydotcompute.cli import main; sys.exit(main(sys.argv[1:]))"


def run(*arguments, program=("-m", "pydotcompute"), **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYDOTCOMPUTE_")}
    command = [sys.executable, *program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=clean | environment)
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stale") / "project"
    (folder / "templates").mkdir(parents=True)
    (folder / "kernels.yaml").write_text(KERNELS)
    (folder / "templates/product.py.j2").write_text(PRODUCT)
    assert run("build", "-C", folder).returncode == 0
    return folder


@pytest.fixture
def project(built, tmp_path):
    return shutil.copytree(built, tmp_path / "project")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def found(done):
    return [line for line in done.stdout.splitlines() if ", seed 0: " in line]


def test_another_body_is_one_finding_that_says_what_to_do(project):
    edit(project / "kernels.yaml", "out[i] = 2 * x[i]", "out[i] = 3 * x[i]")
    done = run("check", "scale", "-C", project)
    assert done.returncode == 1
    build = f"pydotcompute build scale -C {project}"
    assert found(done) == [f"  -, seed 0: the artifact is out of date (source changed (body)); run: {build}"]
    assert kept(str(project / "build" / "cache")) == {}  # it is no verdict on what was built
    assert run(*shlex.split(build)[1:]).returncode == 0
    assert found(run("check", "scale", "-C", project))[0].startswith("  n=1, seed 0: out[0] is ")  # now it is wrong


def test_another_name_of_a_parameter_is_a_finding_too(project):
    edit(project / "kernels.yaml", "(x: T[n])", "(z: T[n])")
    edit(project / "kernels.yaml", "2 * x", "2 * z")
    done = run("check", "scale", "-C", project)
    assert done.returncode == 1 and len(found(done)) == 1
    assert "the artifact is out of date (signature: (x: T[n]) -> (out: T[n]) → (z: T[n])" in found(done)[0]


@pytest.mark.parametrize(
    "old, new, why",
    [("x[i, l]", "x[l, i]", "(source changed (template product.py.j2))"), ("T(0)", "T({{ no }})", "/product.py.j2:3:")],
)
def test_the_other_kernels_are_checked_where_a_template_changed(project, old, new, why):
    edit(project / "templates/product.py.j2", old, new)
    done = run("check", "-C", project, "--quick")
    assert done.returncode == 1 and len(found(done)) == 1
    assert "the artifact is out of date (" in found(done)[0] and why in found(done)[0]
    rows = [line.split(" T=")[0] for line in done.stdout.splitlines() if line[0] != " "]
    assert rows[:3] == ["FAILED   product", "ok       scale", "ok       negative"] and len(rows) == 4


def test_what_cannot_reach_an_artifact_makes_none_out_of_date(project):
    edit(project / "kernels.yaml", "kernels:\n", "# a comment\nkernels:\n")
    edit(project / "kernels.yaml", "    reference: 2 * x\n", "    reference: x * 2\n    doc: twice x\n")
    assert run("check", "scale", "-C", project, "--quick").returncode == 0


def test_an_object_that_is_gone_is_one_finding(project):
    next((project / "build/cache/objects").rglob("*.so")).unlink()
    done = run("check", "-C", project, "--quick")
    assert done.returncode == 1 and len(found(done)) == 1 and "(object missing); run: " in found(done)[0]


def test_artifacts_are_checked_where_other_tools_are_installed(project, tmp_path):
    for name in ("numba-0.1", "llvmlite-0.1", "ziglang-0.1"):
        (tmp_path / f"{name}.dist-info").mkdir()
    other = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    assert "tool numba" in run("build", "--check", "-C", project, **other).stdout
    assert run("check", "scale", "-C", project, "--quick", **other).returncode == 0
    edit(project / "kernels.yaml", "out[i] = 2 * x[i]", "out[i] = 3 * x[i]")
    done = run("check", "scale", "-C", project, "--quick", **other)
    assert done.returncode == 1 and "out of date (source changed (body))" in done.stdout and "tool" not in done.stdout


def test_signatures_are_compared_where_the_history_cannot_be_read(project, tmp_path):
    (tmp_path / "numba-0.1.dist-info").mkdir()
    other = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    blocked = ("-c", BLOCKED)
    assert run("check", "scale", "-C", project, "--quick", program=blocked, **other).returncode == 0
    edit(project / "kernels.yaml", "(x: T[n])", "(z: T[n])")
    edit(project / "kernels.yaml", "2 * x", "2 * z")
    done = run("check", "scale", "-C", project, "--quick", program=blocked, **other)
    assert done.returncode == 1 and "out of date (the signature changed)" in done.stdout


@pytest.mark.parametrize("target", ["cpu:x86-64-v2", "cuda:sm_90"])
def test_a_pinned_target_of_the_environment_does_not_count(project, target):
    arguments = ("check", "product", "-C", project, "-t", "cpu:vendor")
    done = run(*arguments, PYDOTCOMPUTE_TARGET=target)
    assert (done.returncode, done.stdout) == (0, run(*arguments).stdout)
    assert done.stdout.startswith("ok       product T=float64 cpu:vendor: ")


@pytest.mark.parametrize(
    "arguments, environment, told",
    [
        ((), {"PYDOTCOMPUTE_TARGET": "bogus"}, "pydotcompute: PYDOTCOMPUTE_TARGET='bogus' is not a target; "),
        ((), {"PYDOTCOMPUTE_THREADS": "zero"}, "pydotcompute: PYDOTCOMPUTE_THREADS='zero' is not a number of threads; "),
        (("--seed", "-1"), {}, "pydotcompute check: error: argument --seed: '-1' is not a whole number from 0"),
    ],
)
def test_settings_that_are_none_are_refused_before_anything_runs(project, arguments, environment, told):
    done = run("check", "-C", project, *arguments, **environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(told)


def lines(done):
    return [line for line in done.stdout.splitlines() if line[0] != " "]


def declare_another(project):
    edit(project / "kernels.yaml", "  negative:", KERNELS.partition("kernels:\n")[2].partition("  negative:")[0]
         .replace("scale:", "triple:") + "  negative:")  # fmt: skip


def test_a_kernel_that_is_named_and_not_built_is_no_success(project):
    declare_another(project)
    told = f"not run  triple T=float32: not built; run: pydotcompute build triple -C {project}"
    named = run("check", "scale", "triple", "-C", project, "--quick")
    assert named.returncode == 1 and told in lines(named)
    everything = run("check", "-C", project, "--quick")
    assert everything.returncode == 0 and told in lines(everything)


def test_a_target_that_is_not_built_for_a_kernel_is_said(project):
    assert run("build", "scale", "-t", "cpu:native", "-C", project).returncode == 0
    done = run("check", "negative", "-t", "cpu:native", "-C", project)
    assert done.returncode == 1
    build = f"pydotcompute build negative -t cpu:native -C {project}"
    assert lines(done) == [f"not run  negative T=float32 cpu:native: not built; run: {build}"]


@pytest.mark.slow
def test_what_a_target_can_never_have_is_said(project):
    edit(project / "kernels.yaml", "types: {T: [float32]}", "types: {T: [float32, float64]}")
    assert run("build", "scale", "-t", "webgpu", "-C", project).returncode == 0
    done = run("check", "scale", "-t", "webgpu", "-C", project, "--quick")
    assert "not run  scale T=float64 webgpu: float64 cannot be had on 'webgpu'" in lines(done)


@pytest.mark.parametrize(
    "arguments, why",
    [
        (("scale", "-t", "cpu:vendor"), "no call of it goes to a vendor's function"),
        (("product", "-t", "cpu:vendor", "--quick"), "no call goes to the vendor's function at these sizes (--quick)"),
        (("scale", "-t", "cpu:x86-64-v2", "--case", "n=77777"), "it has no case 'n=77777'"),
    ],
)
def test_why_nothing_ran_is_said(project, arguments, why):
    done = run("check", *arguments, "-C", project)
    assert done.returncode == 1 and len(lines(done)) == 1
    assert lines(done)[0].startswith("not run  ") and lines(done)[0].endswith(f": {why}")


def test_indices_of_compiled_code_are_checked_where_they_are_built_so_and_else_it_is_said(project):
    done = run("check", "-C", project, "--quick")
    names = "scale, negative, product", "scale negative product"
    told = f"not run  +bounds: not built for {names[0]}; run: pydotcompute build {names[1]} --bounds -C {project}"
    assert lines(done)[-1] == told
    done = run("check", "scale", "-C", project, "--quick")
    command = lines(done)[-1].partition("run: ")[2]
    assert command == f"pydotcompute build scale --bounds -C {project}" and done.returncode == 0
    assert run(*shlex.split(command)[1:]).returncode == 0
    rows = lines(run("check", "scale", "-C", project, "--quick"))
    assert [row.partition(": ")[0] for row in rows] == [
        "ok       scale T=float32 cpu:x86-64-v2", "ok       scale T=float32 cpu:x86-64-v2+bounds"
    ]  # fmt: skip
    assert lines(run("check", "negative", "-t", "cpu:x86-64-v2", "-C", project, "--quick"))[1:] == []


def test_cases_without_values_to_compare_are_counted(project):
    (row, _) = lines(run("check", "negative", "-C", project))
    assert row.partition(", ")[0].endswith(": 46 cases (6 with no values to compare)")
    (row, _) = json.loads(run("check", "negative", "-C", project, "--json").stdout)["artifacts"]
    assert (row["cases"], row["cases_without_values"]) == (46, 6)


def test_the_help_fits_a_terminal_and_names_the_exit_codes():
    done = run("check", "--help")
    assert "build --bounds" in done.stdout and "exit code is 1" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_a_kernel_whose_declaration_is_wrong_keeps_no_other_from_being_checked(project):
    edit(project / "kernels.yaml", "    reference: 2 * x\n", "    reference: 2 * x\n    tolerance: much\n")
    done = run("check", "negative", "-C", project, "--quick")
    assert done.returncode == 0 and done.stdout.startswith("ok       negative ") and "kernels.yaml:" not in done.stderr
    done = run("check", "scale", "-C", project)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith(f"{project}/kernels.yaml:11:")
    for names in ((), ("scale", "negative", "product")):
        done = run("check", *names, "-C", project, "--quick")
        rows = [line.split(" T=")[0] for line in done.stdout.splitlines() if line.startswith(("ok", "FAILED"))]
        assert rows == ["ok       negative", "ok       product"]
        assert done.returncode == 1 and done.stderr.startswith(f"{project}/kernels.yaml:11:")
