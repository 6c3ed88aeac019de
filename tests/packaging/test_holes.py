"""`check --bundle DIR --require TARGET`: exit code 1 for any hole, where only NumPy is installed."""

import json
import shutil
import subprocess
import sys

import pytest

from pydotcompute.cache.layout import VERSION
from pydotcompute.cache.sealed import seal
from pydotcompute.cli import main
from pydotcompute.cache.writer import read_manifest, write_manifest

pytestmark = pytest.mark.slow
BLOCKED = "import sys\nfor name in ('yaml', 'jinja2', 'numba', 'llvmlite', 'diskcache', 'ziglang'): sys.modules[name] = None\n"
HAVE = ("--require", "cpu:x86-64-v2")


@pytest.fixture
def bundle(project, tmp_path):
    shutil.copytree(project / "lib" / "mylib" / "kernels", tmp_path / "bundle")
    return tmp_path / "bundle"


def edit(bundle, change):
    data, problem = read_manifest(str(bundle))
    assert not problem
    change(data["kernels"])
    write_manifest(str(bundle), data)


def check(capsys, bundle, *arguments):
    capsys.readouterr()
    code = main(["check", "--bundle", str(bundle), *arguments])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def test_a_whole_bundle(bundle, capsys):
    code, out, err = check(capsys, bundle, *HAVE)
    assert (code, out) == (0, []) and err == f"{bundle}: 7 artifacts, 0 holes with cpu:x86-64-v2 for all\n"
    program = BLOCKED + "from pydotcompute.cli import main; raise SystemExit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "check", "--bundle", str(bundle)]
    assert subprocess.run([*command, *HAVE]).returncode == 0
    assert subprocess.run([*command, "--require", "cuda:sm_90"], stdout=subprocess.DEVNULL).returncode == 1


def test_a_project_is_no_bundle(project, capsys):
    code, out, err = check(capsys, project)
    assert (code, out) == (2, []) and f"{project} is a project, not a bundle; make one: " in err


def test_nothing_is_imported_into_a_bundle(bundle, capsys):
    assert main(["cache", "import", "kernels.tar", "-C", str(bundle)]) == 2
    assert capsys.readouterr().err.endswith("is a bundle, not a project; name the project that it is made of\n")


def test_a_target_that_is_not_there(bundle, capsys):
    code, out, err = check(capsys, bundle, *HAVE, "--require", "cuda")
    assert code == 1 and len(out) == 7 and "7 artifacts, 7 holes" in err
    assert "saxpy T=float32 cuda:compute_80: there is none for this target (cpu:x86-64-v2)" in out
    assert check(capsys, bundle, "saxpy", "--require", "cuda", "--json")[0] == 1


@pytest.mark.parametrize("kernel, hole", [
    ("saxpy", "saxpy T=float64: there is no artifact at all"),
    ("Any", "Any STEP=3: there is no artifact at all"),
])  # fmt: skip
def test_a_choice_that_is_not_there(bundle, capsys, kernel, hole):
    edit(bundle, lambda kernels: kernels[kernel]["specializations"].popitem())
    code, out, _ = check(capsys, bundle, *HAVE)
    assert (code, out) == (1, [hole])
    assert check(capsys, bundle, "span", *HAVE)[0] == 0


def test_what_is_damaged_missing_or_stale(bundle, capsys):
    span = read_manifest(str(bundle))[0]["kernels"]["span"]["specializations"]["-"]["artifacts"]
    kept = span["cpu:x86-64-v2"]["object"]
    found = sorted(path for path in (bundle / "objects").rglob("*.so") if path.stem != kept)
    found[0].write_bytes(b"x"), found[1].unlink()
    code, out, _ = check(capsys, bundle)
    assert code == 1 and sorted(line.rpartition(": ")[2] for line in out) == ["object damaged", "object missing"]
    edit(bundle, lambda kernels: kernels["span"]["specializations"]["-"]["artifacts"]["cpu:x86-64-v2"].update(stale="no"))
    assert "span - cpu:x86-64-v2: stale: no" in check(capsys, bundle)[1]
    (bundle / "manifest.json").write_text("{}")
    code, out, err = check(capsys, bundle)
    assert code == 1 and "is damaged" in err
    code, out, err = check(capsys, bundle / "nowhere")
    assert code == 1 and "no kernels are built" in err
    (bundle / "manifest.json").write_bytes(seal(json.dumps({"version": VERSION, "kernels": {}})))
    assert check(capsys, bundle)[0] == 1  # of nothing, nothing can be called


def test_what_is_no_question(bundle, capsys):
    assert check(capsys, bundle, "--require", "cpu:x86-64-v9")[0] == 2
    assert check(capsys, bundle, "saxpi")[0] == 2
    assert check(capsys, bundle, "-t", "cpu:x86-64-v2")[0] == 2
    assert main(["check", "--require", "cpu:x86-64-v2"]) == 2
    assert "name it with --bundle DIR" in capsys.readouterr().err
