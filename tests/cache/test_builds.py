"""What a cache remembers of builds and loads: hits, misses by reason, time saved, last use; and that none of it can do
any harm."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pydotcompute
from pydotcompute.cache import Cache, builds
from pydotcompute.cache.builds import Builds
from pydotcompute.cli import main
from tests.cache.made import DAY, V2, V3, age, made, object_file, write_cache
from tests.runtime.support import write_saxpy

KERNELS = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  twice:
    signature: "(x: float32[...]) -> (out: float32[...])"
    body: |
      for i in grid(size):
          out[i] = 2 * x[i]
"""


def mark(root: Path, data: bytes) -> Path:
    """The file that says when an object was loaded last."""
    return root / "build" / "cache" / "used" / object_file(root, data).stem


@pytest.fixture
def used(tmp_path):
    """A project with an artifact that runs here, and the mark of its uses."""
    root = Path(write_saxpy(tmp_path))
    (root / "build" / "cache" / "used").mkdir()
    (record,) = [r for r in Cache(root).records() if r.specialization == "T=float32"]
    return root, root / "build" / "cache" / "used" / record.object


def load_anew(root) -> None:
    """A program that calls the kernel once."""
    program = (
        "import sys, numpy, pydotcompute\n"
        "assert pydotcompute.load(sys.argv[1]).saxpy(2.0, *[numpy.ones(3, 'f4')] * 2).tolist() == [3, 3, 3]\n"
    )
    subprocess.run([sys.executable, "-c", program, str(root)], check=True)


@pytest.mark.slow
def test_a_load_is_noted_once_a_day(used):
    root, path = used
    load_anew(root)
    assert path.exists() and abs(path.stat().st_mtime - time.time()) < 60
    age(path, 0.5)
    before = path.stat().st_mtime
    load_anew(root)
    assert path.stat().st_mtime == before
    for days in (1.5, -1):  # a clock that was wrong
        age(path, days)
        load_anew(root)
        assert abs(path.stat().st_mtime - before) < DAY
    assert [r.used for r in Cache(root).records() if r.specialization == "T=float32"] == [path.stat().st_mtime]
    assert Cache(root).statistics().used == path.stat().st_mtime


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["no folder", "a file", "a link", "a folder in its place"])
def test_no_load_fails_because_of_it(used, tmp_path, harm):
    root, path = used
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    if harm == "no folder":
        path.parent.rmdir()
    elif harm == "a file":
        path.parent.rmdir()
        path.parent.write_text("")
    elif harm == "a link":
        path.symlink_to(elsewhere)
        os.utime(elsewhere, (0, 0))
    else:
        path.mkdir()
    load_anew(root)
    assert elsewhere.read_text() == "mine" and (harm != "a link" or elsewhere.stat().st_mtime == 0)


def test_what_is_sorted_and_filtered_by_last_use(tmp_path, monkeypatch, capsys):
    root = write_cache(tmp_path / "project", {("a", V2): 100, ("b", V2): 200, ("b", V3): 300})
    monkeypatch.chdir(root)
    for (kernel, target, size), days in ((("a", V2, 100), 3), (("b", V3, 300), 40)):
        mark(root, made(kernel, target, size)).parent.mkdir(exist_ok=True)
        mark(root, made(kernel, target, size)).touch()
        age(mark(root, made(kernel, target, size)), days)

    def listed(*arguments):
        assert main(["cache", "list", "--json", *arguments]) == 0
        return [(r["kernel"], r["target"]) for r in json.loads(capsys.readouterr().out)["artifacts"]]

    assert listed("--sort", "used") == [("b", V2), ("b", V3), ("a", V2)]
    assert listed("--unused-for", "30d") == [("b", V2), ("b", V3)]
    assert listed("--unused-for", "2d", "-t", V2) == [("a", V2), ("b", V2)]
    assert main(["cache", "stats"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[-2:] for line in lines if line and line[0] in ("a", "b")] == [["40", "d"], ["3", "d"]]


def test_what_was_used_lately_is_not_old(tmp_path):
    root = write_cache(tmp_path / "project", {}, older=(1000, 1001))
    for size in (1000, 1001):
        age(object_file(root, made("older", V2, size)), 90)
    mark(root, made("older", V2, 1000)).parent.mkdir()
    mark(root, made("older", V2, 1000)).touch()
    cache = Cache(root)
    assert cache.prune(older_than=30 * DAY, dry_run=True).bytes == len(made("older", V2, 1001))
    assert cache.prune(max_size=1500).bytes == len(made("older", V2, 1001))
    assert cache.prune(unused=True).bytes == len(made("older", V2, 1000))
    assert not mark(root, made("older", V2, 1000)).exists()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A project after six builds: what each noted, and how long the first artifact took."""
    root = tmp_path_factory.mktemp("builds")
    (root / "kernels.yaml").write_text(KERNELS)
    noted = []

    def build(*arguments):
        main(["build", "-q", "-C", str(root), *arguments])
        noted.append(builds.noted(str(root / "build" / "cache")))

    build()
    (took,) = builds.kept_seconds(str(root / "build" / "cache")).values()
    build()
    (root / "kernels.yaml").write_text(KERNELS.replace("2 *", "3 *"))
    build("--check")
    build()
    (root / "kernels.yaml").write_text(KERNELS)
    build()
    (root / "kernels.yaml").write_text(KERNELS.replace("2 *", "y *"))
    build()
    return root, noted, took


@pytest.mark.slow
def test_hits_and_misses_by_reason(built):
    _, noted, took = built
    first = {"not built": 1}
    assert [(each.builds, each.hits, dict(each.misses)) for each in noted] == [
        (1, 0, first), (2, 1, first), (2, 1, first), (3, 1, first | {"source changed": 1}),
        (4, 2, first | {"source changed": 1}), (5, 2, {"source changed": 2, "not built": 1}),
    ]  # fmt: skip
    assert noted[0].saved == 0 and noted[1].saved == noted[3].saved == pytest.approx(took) and 0 < took < 60
    assert noted[-1].saved == pytest.approx(2 * took)


@pytest.mark.slow
def test_stats_say_it(built, capsys):
    assert main(["cache", "stats", "-C", str(built[0])]) == 0
    out = capsys.readouterr().out
    assert "5 builds in " in out and ": 2 hits, which saved " in out
    assert out.endswith("; 3 misses:\n       2  source changed\n       1  not built\n")


def test_a_log_of_anything_does_no_harm(tmp_path):
    folder = str(tmp_path)
    one = Builds(10.0, 1, 2, 0.5, {"missing": 3})
    builds.note(folder, one)
    with open(tmp_path / builds.LOG, "ab") as log:
        log.write(b'{"since":\n\xff\n[]\n{"since": 1, "builds": "x", "hits": 1, "saved": 1, "misses": {}}\n{}\n"half')
        for since, saved in ("NaN", "1"), ("1", "NaN"), ("1", "1e999"), ("-1e999", "1"):
            log.write(f'\n{{"since": {since}, "builds": 1, "hits": 1, "saved": {saved}, "misses": {{}}}}'.encode())
    assert builds.noted(folder) == one
    (tmp_path / builds.LOG).unlink()
    (tmp_path / builds.LOG).symlink_to(tmp_path / "elsewhere")
    builds.note(folder, one)
    assert not (tmp_path / "elsewhere").exists() and builds.noted(folder) == Builds()
    builds.note(str(tmp_path / "nowhere"), one)
    (tmp_path / builds.LOG).unlink()
    os.mkfifo(tmp_path / builds.LOG)
    builds.note(folder, one)
    assert builds.noted(folder) == Builds()
    for text in ("{", "[]", '{"k": -1, "l": "1"}', '{"k": NaN, "l": 1e999}', '{"k": 1' + 400 * "0" + "}"):
        (tmp_path / builds.SECONDS).write_text(text)
        assert builds.kept_seconds(folder) == {}


def test_a_long_log_is_summed_up(tmp_path):
    folder = str(tmp_path)
    sizes = []
    for k in range(700):
        builds.note(folder, Builds(1000.0 + k, 1, k, 0.25, {"source changed": k % 3, "a long reason" * 5: 1}))
        sizes.append(os.path.getsize(tmp_path / builds.LOG))
    assert builds.LONG - 200 < max(sizes) <= builds.LONG and sizes[-1] < max(sizes)
    before = builds.noted(folder)
    assert before[:4] == (1000.0, 700, sum(range(700)), 175.0)
    misses = [("a long reason" * 5, 700), ("source changed", sum(k % 3 for k in range(700)))]
    assert list(before.misses.items()) == misses
    builds.note(folder, Builds(1.0, 1))
    assert builds.noted(folder)[:2] == (1.0, 701)


@pytest.mark.slow
def test_a_build_keeps_to_the_limit_and_takes_nothing_that_is_in_use(tmp_path, monkeypatch, capsys):
    """Of three builds with one source each the last two are kept: programs may still load what the former named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.pydotcompute]\ncache_size = "1 KB"\n')
    names = []
    for factor in (2, 3, 4):
        (tmp_path / "kernels.yaml").write_text(KERNELS.replace("2 *", f"{factor} *"))
        assert main(["build", "-q"]) == 0
        names.append(Cache(tmp_path).records()[0].object)
        there = {path.stem for path in (tmp_path / "build" / "cache" / "objects").rglob("*.so")}
        assert there == set(names[-2:])
        told = r"the objects that are in use have \d+,\d+ bytes, more than the \d[\d,]* of cache_size\n"
        assert re.search(told, capsys.readouterr().err)
        assert pydotcompute.load(tmp_path).twice(np.ones(2, "float32")).tolist() == [factor] * 2
    monkeypatch.setenv("PYDOTCOMPUTE_CACHE_SIZE", "1 GB")
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    assert main(["build", "-q"]) == 0 and capsys.readouterr().err == ""
    objects = tmp_path / "build" / "cache" / "objects"
    assert len(list(objects.rglob("*.so"))) == 3
    assert main(["build", "-q"]) == 0 and len(list(objects.rglob("*.so"))) == 3
    monkeypatch.delenv("PYDOTCOMPUTE_CACHE_SIZE")
    assert main(["build"]) == 0 and "1 reused" in (err := capsys.readouterr().err)  # there was nothing to do
    assert "the objects that are in use have " in err
    assert {path.stem for path in objects.rglob("*.so")} == {names[-1], Cache(tmp_path).records()[0].object}
    lock = tmp_path / "build" / "cache" / "lock"
    lock.unlink()
    lock.mkdir()
    assert main(["build", "-q"]) == 0  # nothing to do, in a cache that cannot be written
    assert capsys.readouterr().err.endswith("larger than cache_size says, and it stays so: Is a directory\n")
