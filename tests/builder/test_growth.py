"""What a build costs as a library grows: a job has its own kernel's lines, a plan is made once, objects are read once."""

import json
import os
import pickle
import time

import pytest

from pydotcompute.builder import build as building
from pydotcompute.builder.build import Project, Request, build
from pydotcompute.builder.execute import jobs_of
from pydotcompute.cache import seen
from pydotcompute.errors import KernelNotBuiltError, StaleArtifactWarning
from pydotcompute import load

KERNEL = """\
  k{0}:
    signature: "(x: float32[...]) -> (out: float32[...])"
    body: |
      for i in grid(size):
          out[i] = {1}
"""


def write(folder, numbers, wrong=()):
    """A project of a kernel for each number, for a target that takes no compiler."""
    folder.mkdir(exist_ok=True)
    kernels = "".join(KERNEL.format(n, "x[j]" if n in wrong else f"{n} * x[i]") for n in numbers)
    (folder / "kernels.yaml").write_text(f'version: 1\ntargets: ["opencl:1.2"]\nkernels:\n{kernels}')
    return folder


def built(folder, *names):
    """What a build did: the plan, the outcome."""
    told = []
    project = Project(str(folder), told.append)
    plan, outcome = build(project, Request(kernels=names or None), lambda event: None)
    assert not told
    return plan, outcome


def test_a_job_has_the_lines_of_its_kernel(tmp_path):
    sizes = {}
    for count in (3, 300):
        project = Project(str(write(tmp_path / str(count), range(100, 100 + count))), print)
        plan = project.plan(Request())
        jobs = jobs_of(plan, list(plan.stale), "rendered", "")
        sizes[count] = len(pickle.dumps(jobs[1]))
        copy = pickle.loads(pickle.dumps(jobs[-1]))
        at = copy.rendered.position(2, 5)
        number = 99 + count
        assert (at.line, at.text) == (3 + 5 * count - 1, "      for i in grid(size):")
        assert at.text == jobs[-1].rendered.position(2, 5).text and copy.kernel.name == f"k{number}"
    assert abs(sizes[300] - sizes[3]) < 20 and sizes[3] < 3000


@pytest.mark.slow
def test_a_mistake_deep_in_a_long_file_is_shown_with_its_line(tmp_path):
    _, outcome = built(write(tmp_path / "p", range(200), wrong=(150,)), "k150")
    (told,) = outcome.failed.values()
    assert told.splitlines()[0].startswith(f"{tmp_path}/p/kernels.yaml:{3 + 5 * 151}:22: ")
    assert told.splitlines()[1].strip() == "out[i] = x[j]"


@pytest.mark.slow
def test_an_edit_is_planned_once(tmp_path, monkeypatch):
    plans = []
    make_plan = building.make_plan
    monkeypatch.setattr(building, "make_plan", lambda *args, **more: plans.append(1) or make_plan(*args, **more))
    folder = write(tmp_path / "p", range(3))
    for numbers in (range(3), range(4)):
        write(folder, numbers)
        plans.clear()
        _, outcome = built(folder)
        assert len(plans) == 1 and outcome.made
    write(folder, range(5))
    locked = building.locked

    def late(cache, say):  # another builder is faster, and this one waits for it
        monkeypatch.setattr(building, "locked", locked)
        assert len(built(folder)[1].made) == 1
        return locked(cache, say)

    monkeypatch.setattr(building, "locked", late)
    plans.clear()
    _, outcome = built(folder)
    assert len(plans) == 3 and not outcome.made


@pytest.fixture
def reads(monkeypatch):
    """The objects that a plan reads; the clock is ten seconds on."""
    found, fault, clock = [], seen.object_fault, seen.time_ns
    monkeypatch.setattr(seen, "object_fault", lambda folder, name, *rest: found.append(name) or fault(folder, name, *rest))
    monkeypatch.setattr(seen, "time_ns", lambda: clock() + 10 * 10**9)
    return found


@pytest.mark.slow
def test_objects_are_read_when_they_have_changed(tmp_path, reads):
    folder = write(tmp_path / "p", range(3))
    built(folder)
    objects = sorted((folder / "build/cache/objects").rglob("*.cl"))
    assert len(objects) == 3
    built(folder), reads.clear()
    built(folder)
    assert not reads
    for damage in (lambda data: data[:-1] + b"?", lambda data: data[:-1]):  # of the same size, and shorter
        status, data = objects[0].stat(), objects[0].read_bytes()
        objects[0].chmod(0o644)
        objects[0].write_bytes(damage(data))
        os.utime(objects[0], ns=(status.st_atime_ns, status.st_mtime_ns))
        plan, _ = built(folder)
        assert [item.reason for item in plan.items if item.reasons] == ["object damaged"]
        assert objects[0].read_bytes() == data
        built(folder), reads.clear()
        built(folder)
        assert not reads
    objects[1].rename(objects[1].with_suffix(".old"))
    for text in ("[}", "[]", "7", "null"):
        (folder / "build/cache/seen.json").write_text(text)
        plan, _ = built(folder)
        assert [item.reason for item in plan.items if item.reasons] == ["object missing"]
        objects[1].rename(objects[1].with_suffix(".old"))


@pytest.mark.slow
def test_young_objects_are_read_again(tmp_path, reads, monkeypatch):
    folder = write(tmp_path / "p", range(1))
    built(folder)
    (path,) = (folder / "build/cache/objects").rglob("*.cl")
    for age, read in ((1.9, 1), (1.9, 1), (2.1, 1), (2.1, 0), (0, 0)):
        now = path.stat().st_ctime_ns + int(age * 10**9)
        monkeypatch.setattr(seen, "time_ns", lambda now=now: now)
        reads.clear()
        built(folder)
        assert len(reads) == read, age


@pytest.mark.slow
def test_a_library_opened_before_a_build_loads_lazily(tmp_path):
    """What its index names stays until the build after next."""
    folder = write(tmp_path / "p", range(3))
    built(folder)
    records, index = folder / "build/cache/records", folder / "build/cache/manifest.json"
    library, first = load(folder), set(os.listdir(records))
    assert len(first) == 3 and library.k0.signature == "(x: float32[...]) -> (out: float32[...])"
    text = (folder / "kernels.yaml").read_text()
    for k, new in enumerate(("y", "z", "w")):
        (folder / "kernels.yaml").write_text(text.replace("x: float32", f"{new}: float32").replace("x[i]", f"{new}[i]"))
        built(folder)
        named = set(json.loads(index.read_text())["kernels"].values())
        assert len(named) == 3 and {f"{name}.json" for name in named} <= set(os.listdir(records))
        if k == 0:
            assert first <= set(os.listdir(records)) and library.k1.signature.startswith("(x: ")
    with pytest.raises(KernelNotBuiltError, match="is missing: if 'k2' was built again, load the library anew"):
        library.k2
    assert load(folder).k2.signature.startswith("(w: ") and len(os.listdir(records)) == 6
    assert library.k1.signature.startswith("(x: "), "what it has read, it has"


@pytest.mark.slow
def test_a_record_that_is_damaged_is_written_again(tmp_path):
    folder = write(tmp_path / "p", range(3))
    built(folder)
    records = sorted((folder / "build/cache/records").iterdir())
    whole = records[1].read_bytes()
    for damage in (whole[:-1], whole.replace(b"float32", b"float23"), b"", None):
        records[1].unlink()
        if damage is not None:
            records[1].write_bytes(damage)
        told = []
        _, outcome = build(Project(str(folder), told.append), Request(), lambda event: None)
        assert [result.status for result in outcome.results] == ["reused"]
        (line,) = told
        assert line.startswith(f"{records[1]}: {'missing' if damage is None else 'damaged'} (kernel 'k")
        assert records[1].read_bytes() == whole and set(records) <= set(records[1].parent.iterdir())


@pytest.mark.slow
def test_a_mark_is_in_the_index_alone(tmp_path):
    folder = write(tmp_path / "p", range(3))
    built(folder)
    records = set(os.listdir(folder / "build/cache/records"))
    write(folder, range(3), wrong=(1,))
    _, outcome = built(folder)
    assert set(outcome.failed) == {("k1", "-", "opencl:1.2")}
    index = json.loads((folder / "build/cache/manifest.json").read_text())
    assert list(index["stale"]) == ["k1"] and "unknown name `j`" in index["stale"]["k1"]["-"]["opencl:1.2"]
    assert len(set(os.listdir(folder / "build/cache/records")) - records) <= 1  # why it failed
    with pytest.warns(StaleArtifactWarning, match="k1 for opencl:1.2 is stale"):
        library = load(folder)
    assert library.k0.doc == ""
    write(folder, range(3))
    built(folder)
    assert json.loads((folder / "build/cache/manifest.json").read_text())["stale"] == {}


@pytest.mark.slow
def test_many_kernels(tmp_path):
    """PYDOTCOMPUTE_MANY_KERNELS=N has N of them: what a build and a plan take of this process's time, and opening one."""
    count = int(os.environ.get("PYDOTCOMPUTE_MANY_KERNELS", "100"))
    folder, seconds = write(tmp_path / "p", range(count)), {}

    def timed(name, action):
        began = time.process_time()
        found = action()
        seconds[name] = time.process_time() - began
        return found

    _, outcome = timed("build", lambda: built(folder))
    assert len(outcome.made) == count and not outcome.failed
    _, outcome = timed("nothing to do", lambda: built(folder))
    assert not outcome.made and not outcome.failed
    edited = (folder / "kernels.yaml").read_text().replace(f"{count - 1} * x[i]", f"{count} * x[i]")
    (folder / "kernels.yaml").write_text(edited)
    _, outcome = timed("one edited", lambda: built(folder))
    assert len(outcome.made) == 1
    last = timed("open one", lambda: load(folder)[f"k{count - 1}"])
    assert last.signature.startswith("(x: float32")
    print(f"{count} kernels: " + ", ".join(f"{name} {took:.3g} s" for name, took in seconds.items()))
    assert seconds["nothing to do"] < 0.002 * count + 2 and seconds["open one"] < 0.00002 * count + 0.2
