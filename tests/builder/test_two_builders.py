"""Two builders at once: what one has not finished, the other may remove as soon as it has the lock."""

import fcntl
import os

from pydotcompute.cache import sources
from pydotcompute.cache.writer import sweep

from .project import build_project, edit


def is_free(cache):
    """Whether another builder would have the lock at once."""
    with open(cache / "lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def swept(monkeypatch, cache):
    """The files of the cache that were renamed while another builder had the lock, and swept first."""
    names = []
    replace = os.replace

    def slow(source, place):
        if str(place).startswith(str(cache)) and is_free(cache):
            names.append(os.path.basename(place))
            sweep(str(cache))
        replace(source, place)

    monkeypatch.setattr(os, "replace", slow)
    return names


def add_comment(root):
    """To a source: what is built from it stays current."""
    edit(root, "kernels.yaml", "version: 1\n", "version: 1  # of the format\n")


def test_a_builder_that_gets_the_lock_takes_nothing_from_the_one_before(fresh, monkeypatch):
    names = swept(monkeypatch, fresh / "build" / "cache")
    for change in (add_comment, lambda root: edit(root, "templates/cube.py.j2", "x * x * x", "x * x + x")):
        plan, outcome = build_project(fresh)
        assert not outcome.failed and sources.changed(str(fresh)) == []
        change(fresh)
        assert len(sources.changed(str(fresh))) == 1
    build_project(fresh)
    assert sources.changed(str(fresh)) == []
    assert {*names} <= {"seen.json"}  # which may be lost


def test_what_another_builder_doubts_meanwhile_stays_in_doubt(fresh, monkeypatch):
    """The one before saw all current: it does not say so of sources that somebody builds from just then."""
    build_project(fresh)
    add_comment(fresh)
    recorded = sources.recorded

    def overtaken(root):
        """Another builder takes the lock, changes the cache and ends before this one has it."""
        assert is_free(fresh / "build" / "cache")
        monkeypatch.setattr(sources, "recorded", recorded)
        edit(fresh, "templates/cube.py.j2", "x * x * x", "x * x * y")
        build_project(fresh)
        return recorded(root)

    monkeypatch.setattr(sources, "recorded", overtaken)
    build_project(fresh)
    assert sources.changed(str(fresh)) == ["kernels.yaml", "templates/cube.py.j2"]
