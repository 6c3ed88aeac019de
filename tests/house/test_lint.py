"""The package and its tests have no mistake that ruff finds, the package none that mypy finds; pyproject.toml says what
they look for."""

import subprocess
import sys
from pathlib import Path

import pydotcompute

PACKAGE = Path(pydotcompute.__file__).parent
ROOT = PACKAGE.parent
STRICT = ("analysis", "cache", "ir", "runtime")


def run(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", *command]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_ruff():
    done = run("ruff", "check", "--no-cache", str(PACKAGE), str(ROOT / "tests"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy():
    done = run("mypy")
    assert done.returncode == 0, done.stdout + done.stderr


def test_rooms_that_are_strict(tmp_path):
    """A function without types is a mistake there, and in no other room."""
    modules = []
    for room in (*STRICT, "calls"):
        folder = tmp_path / "pydotcompute" / room
        folder.mkdir(parents=True)
        (folder / "untyped.py").write_text("def f(a):\n    return a\n")
        modules += ["-m", f"pydotcompute.{room}.untyped"]
    options = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache"))
    done = run("mypy", *options, *modules, folder=tmp_path)
    found = {line.split("/")[1] for line in done.stdout.splitlines() if "[no-untyped-def]" in line}
    assert found == set(STRICT), done.stdout + done.stderr


def test_a_program_that_imports_the_package_sees_its_types():
    assert (PACKAGE / "py.typed").is_file()
