"""Wheels, sdists and editable installs of a package with kernels, by hatchling and by setuptools."""

import base64
import csv
import hashlib
import os
import shutil
import sys
import tarfile
from email.parser import Parser
from pathlib import Path

import pytest

import pydotcompute
from pydotcompute.cli import main

from .building import PYPROJECT_OF_SETUPTOOLS, Environment, contents, make, made, run

pytestmark = pytest.mark.slow
BACKENDS = ("hatchling.build", "setuptools.build_meta")
TAG = "py3-none-manylinux_2_17_x86_64.musllinux_1_2_x86_64"
EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}
RAW = """\
version: 1
targets: [cuda]
kernels:
  twice:
    signature: "(x: float32[n]) -> (out: float32[n])"
    launch: {block: 32, grid: "(n + 31) // 32"}
    body: |
      i = cuda.grid(1)
      if i < x.shape[0]:
          out[i] = x[i] + x[i]
"""
USE = """
import sys
import rings.kernels, numpy as np
x = np.linspace(-3, 3, 12, dtype=np.float32)
assert abs(rings.kernels.softmax(x).sum() - 1) < 1e-6 and rings.kernels.saxpy(1.0, x, x, out=x) is x
for name in ("numba", "llvmlite", "yaml", "jinja2"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(name)
"""


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    """What `init --package` writes, for one level."""
    root = tmp_path_factory.mktemp("first") / "rings"
    assert main(["init", "--package", str(root)]) == 0
    set_in(root, 'size_budget = "20 MB"', 'targets = ["cpu:x86-64-v2"]')
    return root


@pytest.fixture(scope="session")
def wheels(first):
    """Made by each backend from one folder, which then has the cache of both."""
    found = {}
    for backend in BACKENDS:
        pyproject = (first / "pyproject.toml").read_text()
        if backend != BACKENDS[0]:
            (first / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS)
        found[backend] = made(first, "build_wheel", first.parent / backend, backend, **EPOCH)
        (first / "pyproject.toml").write_text(pyproject)
    return found


@pytest.fixture
def rings(wheels, first, tmp_path):
    """A copy, with what was built."""
    shutil.copytree(first, tmp_path / "rings")
    return tmp_path / "rings"


def set_in(root, old, new):
    path = root / "pyproject.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_wheel_holds(wheels, backend):
    wheel = wheels[backend]
    assert wheel.name == f"rings-0.1.0-{TAG}.whl"
    found = contents(wheel)
    objects = {name for name in found if name.startswith("rings/kernels/objects/")}
    records = {name for name in found if name.startswith("rings/kernels/records/")}
    objects |= records
    assert len(objects) - len(records) == 4 and records and {name for name in found if not name.startswith("rings-0.1.0.dist-info/")} == objects | {
        "rings/__init__.py", "rings/py.typed", *(f"rings/kernels/{name}" for name in (
            "__init__.py", "__init__.pyi", "py.typed", "manifest.json", "metadata.json"))
    }  # fmt: skip
    record = csv.reader(found["rings-0.1.0.dist-info/RECORD"].decode().splitlines())
    rows = {name: (digest, size) for name, digest, size in record}
    assert rows.keys() == found.keys() and rows.pop("rings-0.1.0.dist-info/RECORD") == ("", "")
    for name, (digest, size) in rows.items():
        expected = base64.urlsafe_b64encode(hashlib.sha256(found[name]).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={expected}", len(found[name])), name
    told = found["rings-0.1.0.dist-info/WHEEL"].decode()
    platforms = TAG.removeprefix("py3-none-").split(".")
    assert all(f"Tag: py3-none-{platform}\n" in told for platform in platforms) and "Root-Is-Purelib: false\n" in told
    metadata = Parser().parsestr(found["rings-0.1.0.dist-info/METADATA"].decode())
    assert metadata.get_all("Requires-Dist") == ["numpy>=1.26", "pydotcompute>=0.1.0"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_sdist_makes_the_same_wheel_byte_by_byte(wheels, rings, tmp_path, backend):
    if backend != BACKENDS[0]:
        (rings / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS)
    sdist = made(rings, "build_sdist", tmp_path / "dist", backend)
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
        assert {"kernels.yaml", "templates/softmax.py.j2", "templates/references.py", "pyproject.toml"} <= names
        assert not [name for name in names if name.startswith(("build", "src/rings/kernels"))]
        file.extractall(tmp_path / "elsewhere", filter="data")
    again = tmp_path / "elsewhere" / "rings-0.1.0"
    if backend != BACKENDS[0]:  # compiled anew once is enough
        shutil.copytree(rings / "build" / "cache", again / "build" / "cache")
    made(again, "build_wheel", tmp_path / "dist", backend, **EPOCH)
    assert (tmp_path / "dist" / wheels[backend].name).read_bytes() == wheels[backend].read_bytes()


def test_pip_makes_installs_and_removes_it_where_there_is_no_compiler(rings, wheels, tmp_path):
    command = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    done = run(*command, "-w", tmp_path / "dist", rings, env={**os.environ, **EPOCH})
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.read_bytes() == wheels[BACKENDS[0]].read_bytes()
    fresh = Environment(tmp_path / "fresh", Path(pydotcompute.__file__).parent)
    for each in wheels.values():
        before = set(fresh.packages.iterdir())
        fresh.pip("install", each)
        done = fresh.run(USE)
        assert done.returncode == 0, done.stderr
        own = "import test_kernels as t; t.test_softmax(); t.test_saxpy_in_place()"  # what `init` wrote
        done = fresh.run(own, cwd=rings / "tests")
        assert done.returncode == 0, done.stderr
        shutil.rmtree(fresh.packages / "rings" / "__pycache__", ignore_errors=True)
        fresh.pip("uninstall", "rings")
        assert set(fresh.packages.iterdir()) == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_editable_install_builds_nothing_and_reads_what_was_built(rings, tmp_path, backend):
    if backend != BACKENDS[0]:
        (rings / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS)
    (rings / "build").rename(tmp_path / "built")
    wheel = made(rings, "build_editable", tmp_path / "dist", backend)
    assert "Requires-Dist: pydotcompute>=0.1.0" in contents(wheel)["rings-0.1.0.dist-info/METADATA"].decode()
    assert not (rings / "build" / "cache").exists()
    fresh = Environment(tmp_path / "fresh", Path(pydotcompute.__file__).parent)
    fresh.pip("install", wheel)
    if backend == BACKENDS[0]:
        assert fresh.run("import rings.kernels as k; print(dir(k))").stdout == "[]\n"
    told = fresh.run("from rings.kernels import softmax").stderr
    assert f"no kernels are built in {rings}: " in told and f"pydotcompute build -C {rings}" in told
    shutil.rmtree(rings / "build", ignore_errors=True)
    (tmp_path / "built").rename(rings / "build")
    done = fresh.run(USE)
    assert (done.returncode, done.stderr) == (0, "")
    body = rings / "templates" / "softmax.py.j2"
    body.write_text(body.read_text() + "\n{# changed #}\n")
    (rings / "templates" / "new.txt").touch()
    told = fresh.run("import rings.kernels as k\nk.softmax, k.saxpy").stderr
    old = "templates/new.txt, templates/softmax.py.j2"
    assert f"<string>:2: StaleArtifactWarning: {rings}: not everything was built after {old} changed; " in told
    assert told.count("StaleArtifactWarning") == 1 and told.rstrip().endswith(f"run: pydotcompute build -C {rings}")
    made(rings, "build_wheel", tmp_path / "dist", backend)  # the package that stood for the bundle gives way to it
    assert (rings / "src" / "rings" / "kernels" / "manifest.json").exists()


def test_an_editable_install_builds_when_it_is_imported_if_that_is_asked_for(rings, tmp_path):
    set_in(rings, "[tool.pydotcompute]\n", "[tool.pydotcompute]\nauto_build = true\n")
    made(rings, "build_editable", tmp_path / "dist")
    environment = {**os.environ, "PYTHONPATH": str(rings / "src")}

    def first(program="from rings.kernels import saxpy; import numpy as np; print(saxpy(3.0, np.ones(1), np.ones(1)))"):
        return run(sys.executable, "-c", program, env=environment)

    done = first()
    assert done.stdout == "[4.]\n" and done.stderr == ""
    kernels = (rings / "kernels.yaml").read_text()
    (rings / "kernels.yaml").write_text(kernels.replace("out[i] = a * x[i] + y[i]", "out[i] = a * x[i] - y[i]"))
    done = first()
    assert done.stdout == "[2.]\n" and "2 built, 2 reused" in done.stderr
    assert first().stderr == ""
    (rings / "kernels.yaml").write_text(kernels.replace("out[i] = a * x[i] + y[i]", "out[i] = a * z[i]"))
    done = first()
    assert "kernels.yaml:" in done.stderr and "the build, which auto_build asks for, failed" in done.stderr
    shutil.rmtree(rings / "build" / "cache")  # so that this is the first build, and fails
    for _ in range(2):
        assert "the build, which auto_build asks for, failed" in first().stderr
    (rings / "kernels.yaml").write_text(kernels.replace("out[i] = a * x[i] + y[i]", "out[i] = a * x[i] - y[i]"))
    assert first().stdout == "[2.]\n"


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_ends_a_build(rings, tmp_path, backend):
    if backend != BACKENDS[0]:
        (rings / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS)
    pyproject = (rings / "pyproject.toml").read_text()
    kernels = (rings / "kernels.yaml").read_text()

    def told(old, new, blocked=(), file="pyproject.toml"):
        path = rings / file
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new))
        done = make(rings, "build_wheel", tmp_path / "dist", backend, blocked)
        path.write_text(before)
        assert done.returncode != 0 and not list((tmp_path / "dist").iterdir())
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    level = '["cpu:x86-64-v2"]'
    assert "unknown target 'cpu:x86-64-v5'" in told(level, '["cpu:x86-64-v5"]')
    assert "[tool.pydotcompute] has no setting 'bundel'" in told("\nbundle", "\nbundel = 1\nbundle")
    assert "expected a folder below that of pyproject.toml" in told('"src/rings/kernels"', '"../kernels"')
    assert "not a bundle (no manifest.json in it)" in told('"src/rings/kernels"', '"src/rings"')
    large = told(level, level + '\nsize_budget = "9.5 KB"')
    assert "more than size_budget allows; the largest:" in large and " saxpy T=float32 cpu:x86-64-v2\n" in large
    assert "kernels.yaml:" in told("x[i] + y[i]", "x[i] + z[i]", file="kernels.yaml")
    missing = told(level, '["cpu:x86-64-v2", "cpu:x86-64-v3"]', blocked=("llvmlite",))
    assert "building needs llvmlite, which is not installed: pip install" in missing
    (rings / "kernels.yaml").write_text(RAW)
    assert "no kernel has artifacts for cpu:x86-64-v2; leave it out" in told(level, '["cpu:x86-64-v2", "cuda:sm_90"]')
    (rings / "kernels.yaml").write_text(kernels)
    assert "building needs pyyaml: pip install" in told(level, level, blocked=("yaml",))
    assert ((rings / "pyproject.toml").read_text(), (rings / "kernels.yaml").read_text()) == (pyproject, kernels)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", ["build_wheel", "build_editable", "build_sdist"])
def test_where_nothing_can_be_built_one_sentence_says_so(first, tmp_path, backend, what):
    """As on Windows, whose Python has no fcntl."""
    shutil.copytree(first, tmp_path / "rings", ignore=shutil.ignore_patterns("build"))
    if backend != BACKENDS[0]:
        (tmp_path / "rings" / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS)
    done = make(tmp_path / "rings", what, tmp_path / "dist", backend, blocked=("fcntl",))
    told = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in told, told
    assert "nothing is built on this system, whose files cannot be locked: install a wheel" in told


def test_where_bundle_is_not_said(rings, tmp_path):
    set_in(rings, 'bundle = "src/rings/kernels"\n', "")
    done = make(rings, "build_wheel", tmp_path / "dist")
    assert done.returncode != 0 and 'write bundle = "src/mylib/kernels", a folder' in done.stdout + done.stderr
    # setuptools has no table that asks for us: it leaves such a package alone
    (rings / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS.replace('bundle = "src/rings/kernels"\n', ""))
    assert made(rings, "build_wheel", tmp_path / "dist", BACKENDS[1]).name == "rings-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wheel_for_any_platform_and_a_project_in_a_folder(rings, tmp_path, backend):
    if backend != BACKENDS[0]:
        (rings / "pyproject.toml").write_text(PYPROJECT_OF_SETUPTOOLS)
    set_in(rings, "[tool.pydotcompute]\n", '[tool.pydotcompute]\nplatform = "any"\nproject = "native"\n')
    (rings / "native").mkdir()
    for name in ("kernels.yaml", "templates", "build"):
        (rings / name).rename(rings / "native" / name)
    wheel = made(rings, "build_wheel", tmp_path / "dist", backend)
    assert wheel.name == "rings-0.1.0-py3-none-any.whl"
    assert "Root-Is-Purelib: true\n" in contents(wheel)["rings-0.1.0.dist-info/WHEEL"].decode()
    with tarfile.open(made(rings, "build_sdist", tmp_path / "dist", backend)) as file:
        assert {"rings-0.1.0/native/kernels.yaml", "rings-0.1.0/native/templates/softmax.py.j2"} <= set(file.getnames())
