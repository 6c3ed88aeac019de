"""`cache prune`: what goes and what never does."""

import fcntl
import json
import os
import random
import time

import pytest

from pydotcompute.cache import Cache
from pydotcompute.cache.files import sha256
from pydotcompute.cache.layout import VERSION
from pydotcompute.cache.store import open_store
from pydotcompute.cache.writer import read_manifest
from pydotcompute.cli import main
from pydotcompute.errors import KernelNotBuiltError, UntrustedCacheError
from tests.cache.made import DAY, PTX, V2, V3, age, files_of, made, object_file, write_cache

SIZES = {("axpy", V2): 10_000, ("axpy", V3): 10_000, ("sum", V2): 10_000, ("sum", V3): 10_000}
STALE = [("axpy", V3), ("sum", V3)]
OLDER = (10_000, 10_001)
AGES = {("axpy", V2): 90, ("axpy", V3): 60, ("sum", V2): 1, ("sum", V3): 5, 10_000: 40, 10_001: 2}  # days


def object_of(root, name):
    data = made("older", V2, name) if isinstance(name, int) else made(*name, SIZES[name])
    return object_file(root, data)


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = write_cache(tmp_path / "project", SIZES, STALE, OLDER)
    for name, days in AGES.items():
        age(object_of(root, name), days)
    monkeypatch.chdir(root)
    return root


def prune(capsys, *arguments):
    code = main(["cache", "prune", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def gone(root):
    return {name for name in AGES if not object_of(root, name).exists()}


def named(root):
    return {(r.kernel, r.target) for r in Cache(root).records()}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--unused"], {10_000, 10_001}),
        (["--older-than", "30d"], {10_000, ("axpy", V3)}),
        (["--older-than", "3d"], {10_000, ("axpy", V3), ("sum", V3)}),
        (["--older-than", "30d", "--unused"], {10_000, 10_001, ("axpy", V3)}),
        (["--max-size", "100K"], set()),
        (["--max-size", "52K"], {10_000}),
        (["--max-size", "41K"], {10_000, 10_001}),
        (["--max-size", "31K"], {10_000, 10_001, ("axpy", V3)}),
        (["--max-size", "41K", "--older-than", "30d"], {10_000, ("axpy", V3)}),
        (["--max-size", "31K", "--older-than", "30d"], {10_000, 10_001, ("axpy", V3)}),
    ],
)
def test_what_goes(project, capsys, arguments, expected):
    before = files_of(project)
    code, out, err = prune(capsys, *arguments, "--dry-run")
    assert code == 0 and len(out.splitlines()) == len(expected) and gone(project) == set()
    assert files_of(project) == before and f"would remove {len(expected)} object" in err
    assert all(any(object_of(project, name).name in line for line in out.splitlines()) for name in expected)
    code, out, err = prune(capsys, *arguments)
    assert (code, out) == (0, "") and gone(project) == expected
    assert err.startswith(f"./build/cache: removed {len(expected)} object")
    assert named(project) == set(SIZES) - expected and not any(r.fault for r in Cache(project).records())
    assert not [f for f in Cache(project).records() if not f.path]
    assert main(["cache", "verify"]) == 0


def test_what_is_current_stays_whatever_is_asked_for(project, capsys):
    code, out, err = prune(capsys, "--max-size", "1K", "--older-than", "0s", "--unused", "--json")
    assert code == 1 and gone(project) == set(AGES) - {("axpy", V2), ("sum", V2)}
    assert err.endswith("that is more than 1.0 KB, and all of it is current\n")
    data = json.loads(out)
    assert data["version"] == 1 and data["bytes"] + data["left"] == sum(
        len(made(*name, size)) for name, size in SIZES.items()
    ) + sum(len(made("older", V2, size)) for size in OLDER)
    assert [each["artifacts"] for each in data["objects"]] == [[], [], [["axpy", "-", V3]], [["sum", "-", V3]]]


def test_random_caches(tmp_path):
    """Against the rule itself: whatever is asked, all that is current is there, whole, and named."""
    draw = random.Random(7)
    for trial in range(25):
        sizes = {(f"k{i}", draw.choice([V2, V3, PTX])): draw.randrange(1, 3000) for i in range(draw.randrange(1, 6))}
        stale = [name for name in sizes if draw.random() < 0.5]
        root = write_cache(tmp_path / str(trial), sizes, stale, [draw.randrange(1, 3000) for _ in range(3)])
        for path in (root / "build" / "cache" / "objects").rglob("*.so"):
            age(path, draw.uniform(0, 10))
        total = sum(len(data) for name, data in files_of(root).items() if name.startswith("objects/"))
        asked = {
            "max_size": draw.choice([None, 0, draw.randrange(total + 1)]),
            "older_than": draw.choice([None, 0.0, draw.uniform(0, 10) * DAY]),
            "unused": draw.random() < 0.5,
        }
        plan = Cache(root).prune(**asked, dry_run=True)
        done = Cache(root).prune(**asked)
        assert {t.path for t in done.objects} == {t.path for t in plan.objects}
        left = sum(len(data) for name, data in files_of(root).items() if name.startswith("objects/"))
        assert (left, left + done.bytes) == (done.left, total)
        records = Cache(root).records()
        assert {(r.kernel, r.target) for r in records if not r.stale} == set(sizes) - set(stale)
        assert not any(r.fault for r in records)
        if asked["max_size"] is not None and left > asked["max_size"]:
            assert left == sum(r.size for r in records) and not any(r.stale for r in records)


def damaged(path):
    path.write_bytes(path.read_bytes()[:-1] + b" ")


def of_another_version(path):
    path.write_bytes(path.read_bytes().replace(b'"version":%d' % VERSION, b'"version":2'))


@pytest.mark.parametrize("harm", [damaged, of_another_version, os.unlink])
@pytest.mark.parametrize("arguments", [["--unused"], ["--unused", "-n"]])
def test_nothing_goes_where_it_is_not_known_what_is_current(project, capsys, harm, arguments):
    harm(project / "build" / "cache" / "manifest.json")
    before = files_of(project)
    code, out, err = prune(capsys, *arguments)
    assert (code, out) == (1, "") and "it is not known which objects are current, and none is removed" in err
    assert len(err.splitlines()) == 1 and files_of(project) == before


def test_what_is_no_object_stays(project, capsys):
    for name in ("README", "ab/notes.txt", f"ab/{'c' * 64}.so"):
        path = project / "build" / "cache" / "objects" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
    before = set(files_of(project))
    assert prune(capsys, "--unused")[0] == 0
    assert len(before - set(files_of(project))) == len(OLDER)


def test_a_build_is_waited_for(project):
    """It is under the lock: while somebody writes, nothing goes, and who is waited for is said."""
    handle = os.open(project / "build" / "cache" / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    child = os.fork()
    if child == 0:
        os.close(handle)
        out = os.open(project / "said", os.O_WRONLY | os.O_CREAT)
        Cache(project).prune(unused=True, say=lambda line: os.write(out, line.encode()))
        os._exit(0)
    end = time.monotonic() + 30
    while not ((project / "said").exists() and (project / "said").read_bytes()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert gone(project) == set() and "which is building here" in (project / "said").read_text()
    os.close(handle)
    assert os.waitpid(child, 0)[1] == 0 and gone(project) == {10_000, 10_001}


def test_whose_cache_and_what_is_asked(project, capsys, tmp_path):
    assert prune(capsys) == (
        2, "", "pydotcompute: say what is to go: --unused, --older-than AGE, --max-size SIZE\n"
    )  # fmt: skip
    assert "'--5' is no size" in prune(capsys, "--max-size=--5")[2]
    assert Cache(tmp_path / "nowhere").prune(unused=True) == ((), 0, 0, 0)
    (project / "build" / "cache").chmod(0o777)
    with pytest.raises(UntrustedCacheError):
        Cache(project).prune(unused=True)
    assert gone(project) == set()
    (project / "build" / "cache").chmod(0o755)
    (project / "build" / "cache" / "manifest.json").chmod(0o644)
    os.rename(project / "build" / "cache", tmp_path / "bundle")
    code, _, err = prune(capsys, "--unused", "-C", str(tmp_path / "bundle"))
    assert code == 2 and "is a bundle" in err
    with pytest.raises(ValueError, match="is a bundle"):
        Cache(tmp_path / "bundle").prune(unused=True)
    with pytest.raises(KernelNotBuiltError):
        Cache(tmp_path / "bundle").read("axpy", "-", PTX)


def test_a_pruning_that_is_killed_leaves_a_manifest_of_what_is_there(project, monkeypatch):
    """The manifest is written before the first object goes."""
    unlink = os.unlink

    def stop(path, *more, **options):
        if str(path).endswith(".so"):
            raise KeyboardInterrupt
        unlink(path, *more, **options)

    monkeypatch.setattr(os, "unlink", stop)
    with pytest.raises(KeyboardInterrupt):
        Cache(project).prune(older_than=0)
    assert gone(project) == set() and named(project) == {("axpy", V2), ("sum", V2)}
    assert read_manifest(str(project / "build" / "cache"))[1] == ""


def remember(root, entries):
    """A history with a record for each key: of an object's bytes, written so many days ago."""
    store = open_store(str(root / "build" / "cache" / "keys"), pytest.fail)
    for key, (data, days) in entries.items():
        store.set(f"key/{key}", {"fields": {}, "entry": {"object": sha256(data), "suffix": ".so"}})
        store._cache._sql("UPDATE Cache SET store_time = ? WHERE key = ?", (time.time() - days * DAY, f"key/{key}"))
    store.set("timeline", {"at": 1.0})
    store.close()


def remembered(root):
    store = open_store(str(root / "build" / "cache" / "keys"), pytest.fail, start_anew=False)
    try:
        return set(store.names())
    finally:
        store.close()


@pytest.mark.parametrize(
    "arguments, goes",
    [
        (["--max-size", "1M"], {"lost"}),
        (["--max-size", "62K"], {"lost"}),
        (["--max-size", "52K"], {"lost", "older"}),
        (["--unused"], {"lost", "older", "twin", "old"}),
        (["--older-than", "45d"], {"lost", "old", f"axpy {V3}"}),
    ],
)
def test_the_history_goes_with_what_it_tells_of(project, capsys, arguments, goes):
    """Never of what the manifest names, current or not: why it is out of date is told from there."""
    current = made("axpy", V2, SIZES["axpy", V2])
    entries = {f"{kernel} {target}": (made(kernel, target, size), 400) for (kernel, target), size in SIZES.items()}
    entries |= {"older": (made("older", V2, 10_000), 1), "lost": (b"not there", 1), "twin": (current, 1)}
    entries["old"] = (current, 50)
    remember(project, entries)
    everything = remembered(project)
    code, _, err = prune(capsys, *arguments, "--dry-run")
    assert (code, remembered(project)) == (0, everything) and f"{len(goes)} record" in err
    code, out, _ = prune(capsys, *arguments, "--json")
    assert code == 0 and json.loads(out)["records"] == len(goes)
    assert everything - remembered(project) == {f"key/{name}" for name in goes} and "timeline" in remembered(project)


@pytest.mark.parametrize("at, path", [(".", "build/cache"), (".", "build/cache/"), ("build", "cache"),
                                      ("build/cache", "."), (".", "build//cache/.")])  # fmt: skip
def test_the_cache_of_a_project_named_itself_however_it_is_written(project, monkeypatch, capsys, at, path):
    monkeypatch.chdir(project / at)
    cache = Cache(path)
    assert not cache.is_bundle and os.path.samefile(cache.root, project) and os.path.samefile(cache.folder, path)
    assert len(cache.prune(unused=True, dry_run=True).objects) == len(OLDER)
    assert prune(capsys, "-C", path, "--unused", "-n")[0] == 0
    assert main(["cache", "clear", "-C", path]) == 0
    assert not (project / "build/cache/manifest.json").exists()
