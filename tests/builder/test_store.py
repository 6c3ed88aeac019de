"""The store of history: text and bytes alone, owner-only, and nothing depends on it."""

import os
import pickle
import sqlite3
import stat
import time

import diskcache
import pytest

from pydotcompute.cache.layout import record_name
from pydotcompute.cache.store import RawDisk, open_store

from .project import build_project, edit, manifest, plan_project, stale

PLANTED = []


class Planted:
    """Unpickling this is seen."""

    def __reduce__(self):
        return (PLANTED.append, ("ran",))


@pytest.fixture
def said():
    return []


@pytest.fixture
def store(tmp_path, said):
    store = open_store(str(tmp_path / "keys"), said.append)
    yield store
    store.close()


def test_values_come_back_in_another_store(store, tmp_path, said):
    store.set("key/1", {"fields": {"a": "ä"}, "n": 1.5})
    store.close()
    again = open_store(str(tmp_path / "keys"), said.append)
    assert again.get("key/1") == {"fields": {"a": "ä"}, "n": 1.5}
    assert again.get("key/2") is None
    assert list(again.names()) == ["key/1"] and abs(again.names()["key/1"] - time.time()) < 60
    again.delete("key/1")
    assert again.names() == {}
    again.close()
    assert said == []


def test_everything_in_the_folder_is_the_owners_alone(store, tmp_path):
    store.set("a", "x" * 100_000)
    for at, folders, files in os.walk(tmp_path / "keys"):
        for name in (*folders, *files):
            mode = stat.S_IMODE(os.stat(os.path.join(at, name)).st_mode)
            assert mode & 0o077 == 0, (name, oct(mode))
    assert stat.S_IMODE(os.stat(tmp_path / "keys").st_mode) == 0o700


@pytest.mark.parametrize("key", [b"bytes", 1, 1.5, ("a",), None])
def test_other_keys_are_refused(tmp_path, key):
    with diskcache.Cache(str(tmp_path), disk=RawDisk) as cache, pytest.raises(TypeError, match="text keys and raw"):
        cache.set(key, b"x")


@pytest.mark.parametrize("value", ["text", 1, 1.5, ("a",), None, Planted()])
def test_other_values_are_refused(tmp_path, value):
    with diskcache.Cache(str(tmp_path), disk=RawDisk) as cache, pytest.raises(TypeError, match="text keys and raw"):
        cache.set("key", value)


def test_a_planted_pickle_is_neither_run_nor_returned(store, tmp_path, said):
    store.set("key/1", 1)
    store.close()
    path = tmp_path / "keys" / "cache.db"
    bomb = pickle.dumps(Planted(), protocol=0)
    file = tmp_path / "keys" / "planted.val"
    file.write_bytes(bomb)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE Cache SET value = ?, mode = 4 WHERE key = 'key/1'", (bomb,))
        columns = "key, raw, store_time, access_time, access_count, size, mode, filename, value"
        insert = f"INSERT INTO Cache ({columns}) VALUES (?, ?, 1, 1, 0, 0, ?, ?, ?)"
        database.execute(insert, (bomb, 0, 1, None, b"1"))
        database.execute(insert, ("key/2", 1, 4, "planted.val", None))
        database.execute(insert, ("key/3", 1, 2, "planted.val", None))
    database.close()
    again = open_store(str(tmp_path / "keys"), said.append)
    assert [again.get(name) for name in ("key/1", "key/2", "key/3")] == [None, None, None]
    assert list(again.names()) == ["key/1", "key/2", "key/3"]
    again.close()
    assert PLANTED == []


@pytest.mark.parametrize("damage", ["not a database", "header", "middle"])
def test_a_damaged_database_is_started_anew_and_that_is_said_once(store, tmp_path, said, damage):
    for number in range(200):
        store.set(f"key/{number}", "x" * 500)
    store.close()
    path = tmp_path / "keys" / "cache.db"
    data = bytearray(path.read_bytes())
    if damage == "not a database":
        data = bytearray(b"not a database at all" * 100)
    elif damage == "header":
        data[:100] = os.urandom(100)
    else:
        data[8192 : len(data) - 4096] = os.urandom(len(data) - 12288)
    path.write_bytes(data)
    again = open_store(str(tmp_path / "keys"), said.append)
    assert again.get("key/1") is None
    again.set("key/1", "new")
    assert again.get("key/1") == "new"
    again.close()
    assert len(said) == 1 and "cache.db was damaged" in said[0]


def test_reading_alone_does_not_replace_a_damaged_database(tmp_path, said):
    (tmp_path / "cache.db").write_bytes(b"no database" * 1000)
    store = open_store(str(tmp_path), said.append, start_anew=False)
    assert store.get("key/1") is None
    assert (tmp_path / "cache.db").read_bytes() == b"no database" * 1000
    assert len(said) == 1


def test_a_folder_that_cannot_be_made_is_said_and_remembers_nothing(tmp_path, said):
    (tmp_path / "keys").write_text("a file in the way")
    store = open_store(str(tmp_path / "keys"), said.append)
    store.set("a", 1)
    assert store.get("a") is None
    assert len(said) == 1 and "not kept" in said[0]


def test_nothing_is_culled(tmp_path, said):
    store = open_store(str(tmp_path), said.append)
    assert store._cache.eviction_policy == "none" and store._cache.cull_limit == 0
    assert store._cache.size_limit > 2**60
    store.close()


@pytest.mark.parametrize("change", [
    lambda record: record["entry"].update(object="a\0b"), lambda record: record["entry"].update(suffix=".so\0"),
    lambda record: record["entry"].update(size=True), lambda record: record.update(aliases=[[1]]),
    lambda record: record["entry"].update(meta=[]), lambda record: record.update(entry=7),
])  # fmt: skip
def test_what_the_history_says_of_an_artifact_is_used_where_a_build_wrote_it(built, change):
    cache = built / "build" / "cache"
    key = manifest(built)["kernels"]["saxpy"]["specializations"]["T=float32"]["artifacts"]["cpu:x86-64-v2"]["key"]
    store = open_store(str(cache / "keys"), print)
    record = store.get(record_name(key))
    change(record)
    store.set(record_name(key), record)
    store.close()
    (cache / "manifest.json").unlink()
    plan, outcome = build_project(built)
    assert [r.item.kernel.name for r in outcome.results if r.status == "built"] == ["saxpy"] and not outcome.failed
    assert stale(plan_project(built)) == {}


@pytest.mark.parametrize("wrong", [[1], {"fields": 3}, {"fields": {"a": 3}}, {"fields": {}, "sources": 4}])
def test_what_the_history_says_of_a_key_is_no_reason_for_a_build_to_fail(built, wrong):
    entry = manifest(built)["kernels"]["saxpy"]["specializations"]["T=float32"]["artifacts"]["cpu:x86-64-v2"]
    store = open_store(str(built / "build" / "cache" / "keys"), print)
    store.set(record_name(entry["key"]), wrong)
    store.close()
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "y[i] + a * x[i]")
    plan, outcome = build_project(built)
    reasons = [item.reason for item in plan.stale if item.target == "cpu:x86-64-v2"]
    assert reasons == ["something changed (the history of the cache was lost)"] and not outcome.failed
