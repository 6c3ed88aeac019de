"""A cache of 10,000 artifacts is looked into within a second."""

import json
import os
import pstats
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pydotcompute.cache import Cache, layout, writer
from pydotcompute.cache.files import sha256
from pydotcompute.cache.history import build_seconds
from pydotcompute.cache.inspection import artifact_faults
from pydotcompute.cache.seen import YOUNG, Seen
from pydotcompute.cache.store import open_store
from tests.cache.made import PTX, V2, V3
from tests.runtime.support import array, bound, kernel_entry, write_project

KERNELS, DTYPES, TARGETS = 1000, ("float32", "float64"), (V2, V3, "cpu:x86-64-v4", PTX, "cuda:sm_90")
FIELDS = {f"flag {k:02d}": "of a length that such fields have, mostly" for k in range(25)}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """As builds leave it: objects that were read, each with its key's fields and time in the history."""
    root = tmp_path_factory.mktemp("many")
    kernels, objects = {}, []
    for number in range(KERNELS):
        name, made = f"kernel{number:04d}", {}
        for dtype in DTYPES:
            label = f"T={dtype}"
            p = [array("x", dtype, ...), array("out", dtype, ..., role="out")]
            of = {target: bound(os.urandom(16) * 600, name, p, label, target) for target in TARGETS}
            made[label] = ({"T": dtype}, {}, [], of)
            objects += of.values()
        p = [array("x", "T", ...), array("out", "T", ..., role="out")]
        kernels[name] = kernel_entry(name, p, made, {"T": list(DTYPES)})
        for label, specialisation in kernels[name]["specializations"].items():
            for target, entry in specialisation["artifacts"].items():
                entry["key"] = sha256(f"{name} {label} {target}".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_sync", lambda handle: None)
        write_project(root, kernels, objects)
    folder = os.path.join(root, *layout.PROJECT_CACHE)
    store = open_store(os.path.join(folder, layout.KEYS), print)
    with store._cache.transact():
        for entry in kernels.values():
            for specialisation in entry["specializations"].values():
                for artifact in specialisation["artifacts"].values():
                    record = {"fields": FIELDS, "sources": {"body": "0" * 64}, "entry": artifact, "seconds": 0.25}
                    store.set(layout.record_name(artifact["key"]), record)
    store.close()
    os.mkdir(os.path.join(folder, layout.USED))
    for path in (os.path.join(folder, layout.USED, sha256(data)) for data in objects):
        os.close(os.open(path, os.O_CREAT))
    time.sleep(YOUNG / 1e9)
    seen = Seen(folder)
    assert set(artifact_faults(folder, Cache(root).manifest, seen.fault).values()) == {""}
    seen.save()
    return root


@pytest.mark.slow
@pytest.mark.parametrize("command, most", [("list", 180), ("stats", 90)])
def test_within_a_second_of_one_processor(many, command, most, tmp_path):
    """Calls of functions for each artifact, which are as many on every machine: a second is 200 of them on a slow one."""
    profile = str(tmp_path / "profile")
    words = ["-m", "cProfile", "-o", profile, "-m", "pydotcompute", "cache", command, "--json"]
    before = os.times()
    done = subprocess.run([sys.executable, *words], cwd=many, capture_output=True, text=True)
    after = os.times()
    data = json.loads(done.stdout)
    if command == "list":
        assert len(data["artifacts"]) == 10_000 and not any(r["fault"] or r["used"] is None for r in data["artifacts"])
    else:
        assert (data["artifacts"], data["seconds"], len(data["kernels"])) == (10_000, 2500.0, KERNELS)
    took = after.children_user + after.children_system - before.children_user - before.children_system
    calls = pstats.Stats(profile).total_calls / 10_000
    print(f"cache {command}: {calls:.0f} calls an artifact, {took:.2f} s with the profiler")
    assert calls <= most


@pytest.mark.slow
def test_what_has_changed_is_read_again(many):
    record = Cache(many).records(["kernel0500"])[3]
    whole = Path(record.path).read_bytes()
    try:
        with open(record.path, "r+b") as file:
            file.write(b"damaged")
        faults = {r.path: r.fault for r in Cache(many).records() if r.fault}
        assert faults == {record.path: "object damaged"}
    finally:
        Path(record.path).write_bytes(whole)
    assert len(build_seconds(os.path.join(many, *layout.PROJECT_CACHE))[0]) == 10_000
