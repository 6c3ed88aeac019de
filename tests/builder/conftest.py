"""One real build for all tests; each test works on a copy of it."""

import pytest

from .project import build_project, copy_project, write_project


@pytest.fixture(scope="session")
def built_once(tmp_path_factory):
    root = write_project(tmp_path_factory.mktemp("built") / "project")
    plan, outcome = build_project(root, jobs=2)
    assert not outcome.failed, outcome.failed
    return root


@pytest.fixture
def built(built_once, tmp_path):
    return copy_project(built_once, tmp_path / "project")


@pytest.fixture
def fresh(tmp_path):
    return write_project(tmp_path / "project")
