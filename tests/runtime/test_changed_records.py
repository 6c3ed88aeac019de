"""Records that somebody has changed and given a fitting digest: refused where a call would need what is not so."""

import copy
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import pydotcompute
from pydotcompute import KernelNotBuiltError
from pydotcompute.artifact import identity
from pydotcompute.cache.files import sha256
from pydotcompute.cache.sealed import seal

BUNDLE = Path(__file__).parents[1] / "packaging" / "released" / "0.1.0"  # which has indices that are looked at
TARGET = "cpu:x86-64-v2"
OTHERS = (None, 7, "n", "zz", [], {}, [["x"]], 2**70)


def places(value, path=()):
    """The path of every part of a JSON value, itself left out."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield (*path, name)
        yield from places(part, (*path, name))


def changed(value, path, other):
    """A copy with something else in one place; `...`: with nothing there."""
    new = at = copy.deepcopy(value)
    for name in path[:-1]:
        at = at[name]
    if other is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = other
    return new


def put(folder, name, record):
    data = json.dumps(record).encode()
    (folder / "records" / f"{sha256(data)}.json").write_bytes(data)
    index = {"version": json.loads((BUNDLE / "manifest.json").read_text())["version"], "kernels": {name: sha256(data)}}
    (folder / "manifest.json").write_bytes(seal(json.dumps(index)))


def record_of(name):
    digest = json.loads((BUNDLE / "manifest.json").read_text())["kernels"][name]
    return json.loads((BUNDLE / "records" / f"{digest}.json").read_text())


def use(folder, name):
    """Both ways of calling, and what goes wrong in a call."""
    kernel = pydotcompute.load(folder)[name]
    if name == "saxpy":
        for x in (np.arange(70, dtype=dtype) for dtype in ("f4", "f8")):
            for result in (kernel(2.0, x, x), kernel(2.0, x, x), kernel(2.0, x, y=x)):
                np.testing.assert_array_equal(result, 3 * x)
        return
    x = np.arange(6.0).reshape(3, 2)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(x, np.array([2, 0])), x[[2, 0]])
        with pytest.raises(IndexError, match="is outside"):
            kernel(x, np.array([10**12]))


def outcome(folder, name) -> str:
    """Of using it in a process of its own."""
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            use(folder, name)
            told = "right"
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writable, told.encode()[:4000])
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as file:
        told = file.read()
    _, status = os.waitpid(child, 0)
    return told if not status else f"signal {status}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", "saxpy"])
def test_nothing_in_a_record_leads_beyond_what_its_objects_say(tmp_path, name):
    """Either the change says nothing about calls, or loading is refused, or the call, by the rules that now stand there:
    never a KeyError, other numbers or the end of the process."""
    folder, record, told = tmp_path / "bundle", record_of(name), {}
    shutil.copytree(BUNDLE, folder)
    use(folder, name)
    for k, path in enumerate(path for path in places(record) if "cuda:compute_80" not in path):
        for other in (..., OTHERS[k % len(OTHERS)]):
            put(folder, name, changed(record, path, other))
            said = outcome(folder, name)
            rule = path[0] == "parameters" and said.startswith(("TypeError: " + name, "ValueError: " + name))
            refused = said.startswith("KernelNotBuiltError: ")
            assert refused or rule or said == "right", (path, other, said)
            told[path, repr(other)] = said
    free = {path[5:] for path, other in told if path[4:5] == ("meta",) and told[path, other] == "right"}
    assert all(path[0] == "places" or path[0] == "sites" and path[2] < 2 or path == ("calls",) for path in free), free
    assert sum(said.startswith("KernelNotBuiltError") for said in told.values()) > len(told) / 2


def test_the_line_of_an_object_has_all_of_the_metadata_that_a_call_needs():
    """For a device: launches, arguments, scratch, indices; but neither lines of the source nor what is only shown."""
    meta = record_of("rows")["specializations"]["-"]["artifacts"]["cuda:compute_80"]["meta"]

    def line(meta):
        return identity.line("rows", "-", "cuda:compute_80", (), (), sha256, (), meta)

    shown = {path for path in places(meta) if line(changed(meta, path, "another")) == line(meta)}
    assert {path[0] for path in shown} == {"places", "resources", "tools", "sites"}
    assert {path for path in shown if path[0] == "sites"} == {("sites", k, place) for k in (0, 1) for place in (0, 1)}
    assert all(line(changed(meta, path, ...)) != line(meta) for path in places(meta) if path[0] not in identity.SHOWN)
    found = identity.difference(line({**meta, "scratch": ["n"]}), line(meta))
    assert found == "was made with other metadata than its record has"


def test_a_backend_that_makes_nothing_of_a_record_is_told_so(tmp_path, monkeypatch):
    """What decides whether an artifact runs is read before its object is."""
    from pydotcompute.backends.cpu import CPUBackend

    shutil.copytree(BUNDLE, tmp_path / "bundle")
    monkeypatch.setattr(CPUBackend, "judge", lambda self, artifact: artifact.meta["launches"])
    with pytest.raises(KernelNotBuiltError) as caught:
        pydotcompute.load(tmp_path / "bundle").saxpy(1.0, np.ones(3), np.ones(3))
    told = str(caught.value)
    assert told.startswith(f"saxpy[T=float64] for {TARGET}: its record is damaged (no 'launches'); ")
