"""The project of console.py, built once for each file of tests, and a copy of it for each test."""

import shutil

import pytest

from .console import KERNELS, run


@pytest.fixture(scope="module")
def built_once(tmp_path_factory):
    root = tmp_path_factory.mktemp("cli") / "project"
    root.mkdir()
    (root / "kernels.yaml").write_text(KERNELS)
    done = run("build", "-C", str(root))
    return root, done


@pytest.fixture
def project(built_once, tmp_path, monkeypatch):
    shutil.copytree(built_once[0], tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"
