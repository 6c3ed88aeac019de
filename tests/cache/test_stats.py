"""`cache stats`: what each kernel and target takes up, and what is known of the builds."""

import json

import pytest

from pydotcompute.cache import Cache
from pydotcompute.cache.history import build_seconds
from pydotcompute.cache.layout import record_name
from pydotcompute.cache.store import open_store
from pydotcompute.cli import main
from tests.cache.made import PTX, V2, V3, made, write_cache

SIZES = {("axpy", V2): 3000, ("axpy", V3): 9000, ("sum", V2): 5000, ("sum", PTX): 20000}
SECONDS = {("axpy", V2): 1.5, ("axpy", V3): 2.25, ("sum", PTX): 0.25}
BYTES = {name: len(made(*name, size)) for name, size in SIZES.items()}


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = write_cache(tmp_path / "project", SIZES, stale=[("sum", V2)], older=(700,))
    store = open_store(str(root / "build" / "cache" / "keys"), lambda line: None)
    for (kernel, target), seconds in SECONDS.items():
        store.set(record_name(f"{kernel} {target}"), {"fields": {}, "seconds": seconds})
    store.set(record_name(f"sum {V2}"), {"fields": {}, "seconds": None})
    store.set("another kind", {"seconds": 100})
    store.close()
    monkeypatch.chdir(root)
    return root


def part(by: int) -> dict:
    """name → (artifacts, bytes, seconds, last use), reckoned here."""
    found: dict = {}
    for name, size in BYTES.items():
        number, total, seconds, _ = found.get(name[by], (0, 0, None, None))
        took = SECONDS.get(name)
        found[name[by]] = (number + 1, total + size, seconds if took is None else (seconds or 0) + took, None)
    return found


def test_by_kernel_and_by_target(project, capsys):
    assert main(["cache", "stats", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    kernels = {share.pop("name"): tuple(share.values()) for share in data.pop("kernels")}
    targets = {share.pop("name"): tuple(share.values()) for share in data.pop("targets")}
    assert (kernels, targets) == (part(0), part(1)) and list(kernels) == ["sum", "axpy"]
    assert data == {
        "version": 1, "artifacts": 4, "stale": 1, "bytes": sum(BYTES.values()), "seconds": 4.0, "unknown": 1,
        "unused": 1, "unused_bytes": len(made("older", V2, 700)), "used": None, "problem": "",
        "builds": {"since": None, "builds": 0, "hits": 0, "saved": 0.0, "misses": {}},
    }  # fmt: skip


def test_as_text(project, capsys):
    assert main(["cache", "stats"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "kernel  artifacts     size  build  used",
        "sum             2  25.4 KB  0.2 s     -",
        "axpy            2  12.4 KB  3.8 s     -",
        "",
        "target           artifacts     size  build  used",
        "cuda:compute_80          1  20.2 KB  0.2 s     -",
        "cpu:x86-64-v3            1   9.2 KB  2.2 s     -",
        "cpu:x86-64-v2            2   8.4 KB  1.5 s     -",
    ]
    assert captured.err == ("4 artifacts, 1 of them stale, 37.8 KB, 4.0 s, 1 not known; 1 file that none uses, 911 B\n")


def test_without_a_history_nothing_is_guessed(project, capsys):
    (project / "build" / "cache" / "keys" / "cache.db").write_bytes(b"no database" * 100)
    assert main(["cache", "stats"]) == 0
    captured = capsys.readouterr()
    assert " s " not in captured.out and captured.out.count("     -     -\n") == 5
    assert "the history of the cache cannot be read: file is not a database" in captured.err
    found = Cache(project).statistics()
    assert (found.seconds, found.unknown) == (None, 4) and found.problem


WRONG = (
    b"{", b"[1]", b'{"fields": {}, "seconds": ""}', b"[" * 100_000, b'{"seconds": "1"}', b'{"seconds": -1}', b'{"fields": {}, "seconds": "1"}',
    b'{"fields": {}, "seconds": 1e999}', b'{"fields": 3, "seconds": 1}', b'{"fields": {"a": 1}, "seconds": 1}',
    b'{"fields": {}, "sources": 4, "seconds": 1}', b'{"fields": {}, "phases": [1], "seconds": 1}',
)  # fmt: skip


def test_records_that_are_not_ours_are_left_out(project, capsys):
    import sqlite3

    path = project / "build" / "cache" / "keys" / "cache.db"
    with sqlite3.connect(path) as connection:
        for value in WRONG:
            connection.execute("UPDATE Cache SET value = ? WHERE key = ?", (value, record_name(f"axpy {V2}")))
            connection.commit()
            assert (f"axpy {V2}" in build_seconds(str(path.parents[1]))[0]) == (b'"seconds": 1}' in value)
            for arguments in (["stats"], ["show", "axpy"], ["show", "axpy", "--json"]):
                assert main(["cache", *arguments]) == 0, (value[:80], capsys.readouterr().err)
    connection.close()


def test_an_empty_cache(tmp_path, capsys):
    assert main(["cache", "stats", "-C", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "0 artifacts, 0 B, -\n")
