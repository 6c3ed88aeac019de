"""What a cache remembers of checks: verdicts on bytes, of nothing else."""

import shutil

from pydotcompute.cache.checks import Checked, keep, kept, objects
from tests.cache.made import V2, V3, write_cache

GOOD = Checked(10.0, 7, 0, "")


def test_a_verdict_is_on_what_was_there_when_the_check_began(tmp_path):
    root = write_cache(tmp_path / "project", {("a", V2): 100, ("a", V3): 200})
    folder = str(root / "build" / "cache")
    before = objects(folder)
    rebuilt = write_cache(tmp_path / "later", {("a", V2): 101, ("a", V3): 200})
    shutil.rmtree(folder)
    shutil.copytree(rebuilt / "build" / "cache", folder)
    keep(folder, {("a", "-", V2): GOOD, ("a", "-", V3): GOOD, ("b", "-", V2): GOOD}, before)
    assert kept(folder) == {before["a", "-", V3]: GOOD}
