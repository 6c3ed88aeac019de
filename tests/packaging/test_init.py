"""`pydotcompute init`: what it writes builds, is checked and runs at once; nothing is replaced."""

import json
import subprocess
import sys
import tomllib

import pytest
import yaml

from pydotcompute.artifact.remedies import source_requirement
from pydotcompute.cli import main

PROJECT = {"kernels.yaml", "templates/softmax.py.j2", "templates/references.py", "program.py"}
PACKAGE = PROJECT - {"program.py"} | {
    "pyproject.toml", "README.md", ".gitignore", ".github/workflows/kernels.yml", "tests/test_kernels.py",
}  # fmt: skip


def written(root):
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_project_builds_is_checked_and_runs_at_once(tmp_path):
    def run(*command):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path / "new", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert main(["init", str(tmp_path / "new")]) == 0
    assert written(tmp_path / "new") == PROJECT
    run("-m", "pydotcompute", "build", "-t", "cpu:x86-64-v2")
    run("-m", "pydotcompute", "check", "--quick")
    assert run("program.py").splitlines()[-1] == "cpu:x86-64-v2"


def test_a_package_is_called_as_its_folder_or_as_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--package", "big-rings"]) == 0
    shown = capsys.readouterr()
    assert written(tmp_path / "big-rings") == PACKAGE | {"src/big_rings/__init__.py", "src/big_rings/py.typed"}
    assert set(shown.out.split()) == {f"big-rings/{name}" for name in written(tmp_path / "big-rings")}
    assert shown.err == "next: pip wheel --no-deps ./big-rings\n"
    assert main(["init", "-C", "big-rings", "--package", "--name", "Rings.io", "inner", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["files"]) == written(tmp_path / "big-rings" / "inner")
    settings = tomllib.loads((tmp_path / "big-rings" / "inner" / "pyproject.toml").read_text())
    assert settings["project"]["name"] == "Rings.io"
    assert settings["tool"]["pydotcompute"]["bundle"] == "src/rings_io/kernels"
    assert settings["project"]["entry-points"]["pydotcompute.kernels"] == {"Rings.io": "rings_io.kernels"}
    for path in written(tmp_path):
        assert "@name@" not in (text := (tmp_path / path).read_text()) and "@module@" not in text, path


def test_the_ci_recipe_builds_checks_and_keeps_the_cache(tmp_path):
    assert main(["init", "--package", str(tmp_path / "p")]) == 0
    steps = yaml.safe_load((tmp_path / "p/.github/workflows/kernels.yml").read_text())["jobs"]["kernels"]["steps"]
    commands = [step.get("run", "") for step in steps]
    assert "pydotcompute build" in commands and "pydotcompute check" in commands
    # what the wheel runs by comes from where it was installed from: an index may know the name as another's
    assert [command for command in commands if f'pip install "{source_requirement()}" dist/*.whl' in command]
    assert [step["with"]["path"] for step in steps if "cache" in step.get("uses", "")] == ["build/cache"]


def test_nothing_is_replaced(tmp_path, capsys):
    root = tmp_path / "p"
    root.mkdir()
    (root / "README.md").write_text("mine")
    assert main(["init", "--package", str(root)]) == 2
    assert "there is README.md already, and nothing is replaced" in capsys.readouterr().err
    assert written(root) == {"README.md"} and (root / "README.md").read_text() == "mine"
    assert main(["init", str(root)]) == 0 and main(["init", str(root)]) == 2
    assert main(["init", "--package", str(tmp_path / "2 names")]) == 2
    assert "'2 names' is no name for a package" in capsys.readouterr().err and not (tmp_path / "2 names").exists()
    assert main(["init", "--package", str(tmp_path / "Class")]) == 2
    assert "'Class' is no name for a package: Python has a keyword 'class'" in capsys.readouterr().err
