"""Building wheels as a front end does it, and installing them where only NumPy is."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

CALL = """
import importlib, os, sys
os.chdir(sys.argv[1])
for name in sys.argv[5:]:
    sys.modules[name] = None
backend = importlib.import_module(sys.argv[2])
print(getattr(backend, sys.argv[3])(sys.argv[4]))
"""
PYPROJECT_OF_SETUPTOOLS = """
[build-system]
requires = ["setuptools>=70.1", "pydotcompute[build]"]
build-backend = "setuptools.build_meta"

[project]
name = "rings"
version = "0.1.0"
dependencies = ["numpy>=1.26"]

[tool.setuptools.package-data]
rings = ["py.typed"]

[tool.pydotcompute]
bundle = "src/rings/kernels"
targets = ["cpu:x86-64-v2"]
"""


def run(*command, **options):
    command = [str(word) for word in command]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def make(root: Path, what: str, to: Path, backend: str = "hatchling.build", blocked=(), **environment):
    """What a build backend makes of a folder: `what` is a function of PEP 517 or 660. Returns the process."""
    to.mkdir(exist_ok=True)
    environment = {**os.environ, **environment}
    return run(sys.executable, "-c", CALL, root, backend, what, to, *blocked, env=environment)


def made(root: Path, what: str, to: Path, backend: str = "hatchling.build", **environment) -> Path:
    done = make(root, what, to, backend, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return to / done.stdout.splitlines()[-1]


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist() if not name.endswith("/")}


class Environment:
    """A fresh virtual environment with NumPy, which is linked, and what is installed."""

    def __init__(self, folder: Path, *links: Path):
        assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
        self.python = folder / "bin" / "python"
        self.packages = next(folder.glob("lib/python*/site-packages"))
        numpy = Path(importlib.util.find_spec("numpy").origin).parent
        for path in (numpy, numpy.with_name("numpy.libs"), *links):
            if path.exists():
                (self.packages / path.name).symlink_to(path)

    def pip(self, command: str, *words):
        options = {"install": ("--no-deps", "--no-index", "--no-compile"), "uninstall": ("-y",)}[command]
        done = run(sys.executable, "-m", "pip", "-q", "--python", self.python, command, *options, *words)
        assert done.returncode == 0, done.stderr

    def run(self, program: str, *words, **options):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return run(self.python, "-c", program, *words, env=environment, **options)
