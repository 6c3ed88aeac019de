"""Whether a project's sources are those that were built last: every way in which one of them can be another."""

import pytest

from pydotcompute.cache.sources import changed, digests, doubt, record

FILES = {"kernels.yaml": "version: 1", "templates/a.py.j2": "a", "templates/deep/b.py": "b"}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "build" / "cache").mkdir(parents=True)
    return tmp_path


def test_what_changed(project):
    assert changed(project) == []  # nothing was said yet
    record(project, digests(project))
    assert changed(project) == []
    (project / "templates" / "a.py.j2").write_text("A")
    (project / "templates" / "deep" / "b.py").unlink()
    (project / "templates" / "c.py").write_text("c")
    (project / "templates" / "__pycache__").mkdir()
    (project / "templates" / "__pycache__" / "c.pyc").write_text("")
    assert changed(project) == ["templates/a.py.j2", "templates/c.py", "templates/deep/b.py"]
    record(project, digests(project))
    assert changed(project) == []


def test_what_changed_behind_links_to_folders(project, tmp_path_factory):
    """Includes are found there; one link leads to a folder above it, another to one that is looked into anyway."""
    shared = tmp_path_factory.mktemp("shared")
    (shared / "macros.j2").write_text("2")
    (project / "templates" / "lib").symlink_to(shared)
    (project / "templates" / "deep" / "up").symlink_to(project / "templates")
    (project / "templates" / "same").symlink_to(project / "templates" / "deep")
    record(project, digests(project))
    assert changed(project) == []
    (shared / "macros.j2").write_text("3")
    assert changed(project) == ["templates/lib/macros.j2"]


def test_what_changed_before_a_build_that_was_not_of_everything(project):
    doubt(project, digests(project))  # the first build
    assert changed(project) == sorted(FILES)
    record(project, digests(project))
    doubt(project, digests(project))  # a build of what was built
    assert changed(project) == []
    (project / "templates" / "a.py.j2").write_text("A")
    (project / "templates" / "deep" / "b.py").unlink()
    doubt(project, digests(project))
    (project / "templates" / "a.py.j2").write_text("a")  # as it was before, and yet it may be built from "A"
    assert changed(project) == ["templates/a.py.j2", "templates/deep/b.py"]
    record(project, digests(project))
    assert changed(project) == []


@pytest.mark.parametrize("text", ["", "[}", "[]", "7"])
def test_what_was_said_is_damaged(project, text):
    (project / "build" / "cache" / "sources.json").write_text(text)
    assert changed(project) == []
    record(project, digests(project))
    (project / "kernels.yaml").write_text("version: 2")
    assert changed(project) == ["kernels.yaml"]
