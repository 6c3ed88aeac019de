"""This repository's own wheel, which ships its kernels; its editable install, which builds nothing; its papers."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import pydotcompute
from pydotcompute.docs.pages import TOPICS

from .building import Environment, contents, made, run

ROOT = Path(__file__).parents[2]
OWN = {"backend": "backend", "PYTHONPATH": str(ROOT / "pydotcompute" / "packaging" / "own")}
REQUIRES = """
import sys
sys.path.insert(0, sys.argv[1])
import backend
print(*getattr(backend, sys.argv[2])())
"""
USE = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np
from pydotcompute.kernels import softmax
from pydotcompute import operations
x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
assert np.allclose(softmax(x).sum(-1), 1) and softmax.which(x).target.startswith("cpu:x86-64-v")
assert (operations.add(x, x) == 2 * x).all()
assert "numba" not in sys.modules
import pydotcompute
print(len(pydotcompute.library("pydotcompute")), pydotcompute.__file__)
"""


@pytest.mark.slow
def test_the_wheel_ships_its_kernels_to_where_numpy_is_alone(built, tmp_path):
    wheel = made(ROOT, "build_wheel", tmp_path / "dist", **OWN)
    assert wheel.name == f"pydotcompute-{pydotcompute.__version__}-py3-none-manylinux_2_17_x86_64.musllinux_1_2_x86_64.whl"
    found = contents(wheel)
    assert {"pydotcompute/_bundle/manifest.json", "pydotcompute/packaging/skeleton/package/gitignore.in"} <= found.keys()
    assert {f"pydotcompute/docs/pages/{topic}.md" for topic in TOPICS} <= found.keys()
    assert b"\nsoftmax: _softmax_kernel\n" in found["pydotcompute/kernels.pyi"]
    metadata = found[f"pydotcompute-{pydotcompute.__version__}.dist-info/METADATA"].decode()
    assert "License-Expression: BSD-3-Clause\n" in metadata and "License-File: LICENSE\n" in metadata
    required = re.findall("^Requires-Dist: (.*)", metadata, re.M)
    assert [line for line in required if "extra ==" not in line] == ["numpy>=1.26"]
    fresh = Environment(tmp_path / "fresh")
    fresh.pip("install", wheel)
    done = fresh.run(USE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    number, place = done.stdout.split()
    assert int(number) >= 38 and place.startswith(str(fresh.packages))
    listed = run(fresh.python, "-m", "pydotcompute", "cache", "list", "--installed", "softmax", cwd=tmp_path)
    assert listed.stdout.count("pydotcompute  softmax") == 6, listed.stderr
    shown = run(fresh.python, "-m", "pydotcompute", "docs", "security", cwd=tmp_path)
    assert shown.stdout.startswith("SECURITY\n"), shown.stderr
    assert not (ROOT / "pydotcompute" / "_bundle").exists()  # the checkout goes on with its own build/


def test_only_a_wheel_needs_the_build_half():
    wanted = {}
    for what in ("wheel", "editable", "sdist"):
        command = (sys.executable, "-c", REQUIRES, OWN["PYTHONPATH"], f"get_requires_for_build_{what}")
        done = run(*command, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        wanted[what] = done.stdout
    assert "numba" in wanted["wheel"] and "ziglang" in wanted["wheel"] and "numpy" in wanted["wheel"]
    assert "numba" not in wanted["editable"] + wanted["sdist"]


def test_an_editable_install_builds_nothing(tmp_path):
    wheel = made(ROOT, "build_editable", tmp_path / "dist", **OWN)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in contents(wheel) if "_bundle" in name or name.endswith(".pyi")]


def test_the_papers_are_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License\n") and project["license"] == "BSD-3-Clause"
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == project["version"]
