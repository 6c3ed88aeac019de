"""Whatever happens to a build, what was there before still works, and the next build repairs the rest."""

import ctypes
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

import pydotcompute
from pydotcompute.builder.build import BuildError

from .project import build_project, edit, manifest, objects, plan_project, stale
from pydotcompute.artifact.remedies import install

PROGRAM = [sys.executable, "-m", "pydotcompute", "build"]
LOAD = (
    "import sys, warnings, numpy as np, pydotcompute\n"
    "warnings.simplefilter('ignore')\n"
    "lib = pydotcompute.load(sys.argv[1])\n"
    "x = np.arange(5, dtype='float32')\n"
    "print(*lib.cube(x).tolist())\n"
)
CUBED, SQUARED_TWICE = "0.0 1.0 8.0 27.0 64.0", "0.0 1.0 16.0 81.0 256.0"


def start(root, *arguments, **options):
    return subprocess.Popen(
        [*PROGRAM, "-C", str(root), "-j", "2", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def cube_of(root):
    done = subprocess.run([sys.executable, "-c", LOAD, str(root)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def workers_of(process):
    """The ids of a running builder's worker processes."""
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return [int(number) for number in file.read().split()]
    except FileNotFoundError:
        return []


def wait_for_worker(process):
    """The id of one that has begun to compile."""
    while process.poll() is None:
        for worker in workers_of(process):
            with contextlib.suppress(OSError), open(f"/proc/{worker}/maps") as maps:
                if "libllvmlite" in maps.read():
                    return worker
        time.sleep(0.002)
    pytest.fail("the build ended without a worker: " + process.stderr.read())


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_whole(root):
    """The manifest, if there is one, names only objects that are there and intact."""
    from pydotcompute.cache.writer import object_fault, read_manifest

    cache = str(root / "build" / "cache")
    found, problem = read_manifest(cache)
    assert problem == ""
    for header in found["kernels"].values():
        for specialisation in header["specializations"].values():
            for entry in specialisation["artifacts"].values():
                assert object_fault(cache, entry["object"], entry["suffix"], entry["size"]) == ""


def test_a_builder_killed_at_any_moment_leaves_what_was_there_and_the_next_repairs(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    generator = random.Random(7)
    for delay in (0.05, *(generator.uniform(0.1, 2.5) for _ in range(3))):
        process = start(built, "-k")
        workers = []
        deadline = time.monotonic() + delay
        while time.monotonic() < deadline and process.poll() is None:
            workers = workers_of(process) or workers
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert_whole(built)
        assert cube_of(built) in (CUBED, SQUARED_TWICE)
        while any(is_running(worker) for worker in workers):
            time.sleep(0.01)  # they end with their builder; a hang here is a worker that stays
    build_project(built)
    assert stale(plan_project(built)) == {}
    assert cube_of(built) == SQUARED_TWICE
    assert not [path for path in (built / "build" / "cache").rglob(".new-*")]


def test_two_builders_at_once_build_everything_once(fresh):
    both = [start(fresh, "--json"), start(fresh, "--json")]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    counts = [json.loads(out) for out, _ in answers]
    assert sorted(count["built"] for count in counts) == [0, 10]
    assert {len(count["artifacts"]) for count in counts} == {10}
    assert stale(plan_project(fresh)) == {} and len(objects(fresh)) == 10


def test_two_builders_of_different_kernels_lose_nothing(fresh):
    both = [start(fresh, "cube"), start(fresh, "scale")]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert {name.split()[0] for name in objects(fresh)} == {"cube", "scale"} and len(objects(fresh)) == 8


@pytest.mark.parametrize("damage", ["missing", "truncated", "changed"])
def test_a_damaged_object_is_made_again_alone(built, damage):
    entry = manifest(built)["kernels"]["cube"]["specializations"]["T=float32"]["artifacts"]["cpu:x86-64-v3"]
    path = built / "build" / "cache" / "objects" / entry["object"][:2] / f"{entry['object']}.so"
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:-100] if damage == "truncated" else data[:500] + b"\xff" + data[501:])
    reason = "object missing" if damage == "missing" else "object damaged"
    assert stale(plan_project(built)) == {"cube T=float32 cpu:x86-64-v3": reason}
    plan, outcome = build_project(built)
    assert [(result.status, result.reason) for result in outcome.results] == [("built", reason)]
    assert path.read_bytes() == data


@pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
def test_a_damaged_manifest_is_made_again_from_what_is_there(built, damage):
    path = built / "build" / "cache" / "manifest.json"
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if damage == "truncated" else b"")
    said = []
    plan, outcome = build_project(built, said=said)
    assert {result.status for result in outcome.results} == {"reused"} and len(outcome.results) == 10
    assert path.read_bytes() == data
    assert any("manifest.json: damaged" in line for line in said) == (damage != "missing")


def test_a_damaged_database_loses_history_alone(built):
    (built / "build" / "cache" / "keys" / "cache.db").write_bytes(os.urandom(50_000))
    assert stale(plan_project(built)) == {}
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    said = []
    plan, outcome = build_project(built, said=said)
    assert {result.item.kernel.name for result in outcome.results} == {"cube"} and not outcome.failed
    assert len(said) == 1 and "cache.db was damaged" in said[0]
    edit(built, "templates/cube.py.j2", "x * x * x * x", "x * x * x")
    assert set(stale(plan_project(built)).values()) == {"source changed (template cube.py.j2)"}


def test_a_worker_that_is_killed_fails_one_job_and_the_others_go_on(built, tmp_path):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    # With one target there is no second chance for the others of a job.
    process = start(built, "-k", "--json", "-t", "cpu:x86-64-v2")
    os.kill(wait_for_worker(process), signal.SIGABRT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    data = json.loads(out)
    failed = [row for row in data["artifacts"] if row["status"] == "failed"]
    assert data["failed"] == len(failed) == 1 and data["built"] == 2
    assert failed[0]["reason"].startswith("the compiler was killed by SIGABRT")
    name = f"{failed[0]['kernel']} {failed[0]['specialization']} {failed[0]['target']}"
    assert name in objects(built)  # the last good one
    mark = manifest(built)["kernels"][failed[0]["kernel"]]["specializations"][failed[0]["specialization"]]
    assert mark["artifacts"][failed[0]["target"]]["stale"].startswith("the compiler was killed by SIGABRT")
    assert_whole(built)
    build_project(built)
    assert stale(plan_project(built)) == {}


def test_a_worker_that_dies_over_one_target_gets_each_a_second_chance(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    process = start(built, "--json")
    os.kill(wait_for_worker(process), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["built"] == 4 and stale(plan_project(built)) == {}


def test_an_interrupted_build_ends_with_130_and_without_workers(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    process = start(built, start_new_session=True)
    worker = wait_for_worker(process)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted" and "Traceback" not in err
    assert not is_running(worker)
    assert_whole(built)
    assert cube_of(built) in (CUBED, SQUARED_TWICE)


def test_a_mistake_fails_its_kernel_alone(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * y")
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    process = start(built, "-k", "--json")
    out, err = process.communicate(timeout=120)
    data = json.loads(out)
    assert (process.returncode, data["built"], data["failed"]) == (1, 2, 4)
    place = str(built / "templates" / "cube.py.j2")
    reasons = {row["reason"] for row in data["artifacts"] if row["status"] == "failed"}
    assert all(reason.startswith(f"{place}:2:") for reason in reasons), reasons
    assert "Traceback" not in err and err.count(f"{place}:2:") == len(reasons)
    marks = manifest(built)["kernels"]["cube"]["specializations"]["T=float32"]["artifacts"]["cpu:x86-64-v2"]
    assert marks["stale"].startswith(f"{place}:2:")
    assert cube_of(built) == CUBED
    assert start(built, "--check").wait(timeout=60) == 1
    with pytest.warns(pydotcompute.StaleArtifactWarning, match="cube"):
        pydotcompute.load(built)
    with pytest.raises(pydotcompute.KernelNotBuiltError, match="cube"):
        pydotcompute.load(built, strict=True)


def test_without_k_nothing_is_built_after_a_mistake_in_one_kernel(built):
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * y")
    for old, new in (("a * x[i] + y[i]", "a * x[i] - y[i]"), ("[2, 3]", "[4, 5, 6, 7, 8, 9]")):
        edit(built, "kernels.yaml", old, new)
    process = start(built, "--json", "-j", "1")
    out, err = process.communicate(timeout=120)
    statuses = [row["status"] for row in json.loads(out)["artifacts"]]
    assert process.returncode == 1 and statuses.count("failed") == 4 and statuses.count("built") == 0
    assert statuses.count("skipped") == len(statuses) - 4
    assert err.splitlines()[-1] == "nothing is built, because of what is wrong above; -k builds the other kernels"
    assert cube_of(built) == CUBED


def test_a_template_that_cannot_be_rendered_fails_its_kernel_alone(built):
    edit(built, "templates/factor.py.j2", "FACTOR", "FACTER")
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    process = start(built, "-k", "--json")
    out, err = process.communicate(timeout=120)
    data = json.loads(out)
    assert (process.returncode, data["built"], data["failed"]) == (1, 2, 4), err
    assert "Traceback" not in err and "FACTER" in err
    assert {row["kernel"] for row in data["artifacts"] if row["status"] == "failed"} == {"scale"}
    stale_marks = manifest(built)["kernels"]["scale"]["specializations"]["FACTOR=2"]["artifacts"]
    assert all(entry["stale"] for entry in stale_marks.values())


def test_a_broken_kernel_that_is_not_asked_for_is_left_alone(built):
    edit(built, "templates/factor.py.j2", "FACTOR", "FACTER")
    edit(built, "kernels.yaml", "a * x[i] + y[i]", "a * x[i] - y[i]")
    process = start(built, "saxpy", "--json")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, json.loads(out)["built"]) == (0, 2), err
    assert {name.split()[0] for name in objects(built)} == {"saxpy", "cube", "scale"}


def test_without_the_cuda_toolchain_the_cpu_is_built_and_the_message_says_what_to_install(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    targets = ("cuda:compute_80", "cpu:x86-64-v3")
    plan, outcome = build_project(fresh, targets=targets, kernels=("cube",), keep_going=False)
    assert {result.item.target: result.status for result in outcome.results} == {
        "cuda:compute_80": "failed", "cpu:x86-64-v3": "built",
    }  # fmt: skip
    (reason,) = set(outcome.failed.values())
    assert "numba-cuda" in reason and "pip install" in reason


def test_without_numba_the_message_says_what_to_install(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    plan, outcome = build_project(fresh, keep_going=False)
    reason = f"building needs numba, which is not installed: {install('build', 'numba')}"
    assert set(outcome.failed.values()) == {reason} and len(outcome.results) == 10


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 256 KiB, where the machine lets us mount one."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    if os.geteuid() or subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True
    ).returncode:
        yield None
        return
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_changes_nothing(built, tiny_disk):
    cache = built / "build" / "cache"
    limit = {}
    if tiny_disk is None:
        # No file may become as large as an object: the same path through our code.
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))}
    else:
        # The cache alone, without its history, and no room left for more.
        shutil.copytree(cache, tiny_disk / "cache", ignore=shutil.ignore_patterns("keys"))
        shutil.rmtree(cache)
        cache.symlink_to(tiny_disk / "cache")
        room = os.statvfs(tiny_disk)
        (tiny_disk / "ballast").write_bytes(bytes(max(0, room.f_bavail * room.f_bsize - 4096)))
    before = (cache / "manifest.json").read_bytes()
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    process = start(built, "-k", **limit)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    last = [line for line in err.splitlines() if "no space left" in line or "ulimit" in line]
    assert len(last) == 1 and "Traceback" not in err, err
    assert not list(cache.rglob(".new-*"))
    assert_whole(built)
    artifacts = manifest(built)["kernels"]["cube"]["specializations"]["T=float32"]["artifacts"]
    assert (cache / "manifest.json").read_bytes() == before or all(entry["stale"] for entry in artifacts.values())
    assert cube_of(built) == CUBED


def without_override():
    """In the child: root loses the right to write where the mode forbids it (CAP_DAC_OVERRIDE)."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1)  # PR_CAPBSET_DROP, takes effect with exec


def test_a_cache_that_cannot_be_written(built):
    cache = built / "build" / "cache"
    (cache / "lock").unlink()
    folders = [cache, *(path for path in cache.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    process = start(built, preexec_fn=without_override)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err  # nothing to do writes nothing
    edit(built, "templates/cube.py.j2", "x * x * x", "x * x * x * x")
    process = start(built, preexec_fn=without_override)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert len([line for line in err.splitlines() if "cannot be written (Permission denied)" in line]) == 1, err
    assert "Traceback" not in err
    for folder in folders:
        folder.chmod(0o700)


def test_a_file_in_the_place_of_the_cache_is_one_line(fresh):
    (fresh / "build").mkdir()
    (fresh / "build" / "cache").write_text("in the way")
    with pytest.raises(BuildError, match="build/cache"):
        build_project(fresh)


def test_no_place_for_the_rendered_sources_is_one_line_for_each_job(fresh):
    (fresh / "build").mkdir()
    (fresh / "build" / "rendered").write_text("in the way")
    plan, outcome = build_project(fresh, kernels=("saxpy",), targets=("cpu:x86-64-v2",))
    (reason,) = outcome.failed.values()
    assert reason == f"{fresh}/build/rendered/saxpy/T=float32.py: Not a directory"


def test_others_read_the_cache_and_do_not_write_it_whatever_the_umask(fresh):
    before = os.umask(0)
    try:
        build_project(fresh, kernels=("saxpy",), targets=("cpu:x86-64-v2",))
    finally:
        os.umask(before)
    made = [fresh / "build", *(fresh / "build").rglob("*")]
    assert len(made) > 8
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o022] == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o755, 0o700}
    assert stat.S_IMODE((fresh / "build" / "cache" / "keys").stat().st_mode) == 0o700


def test_a_build_closes_a_cache_that_others_may_write_to_and_says_so(built):
    cache = built / "build" / "cache"
    cache.chmod(0o777)
    said = []
    build_project(built, said=said)
    assert [line for line in said if "every user may write there (mode 777); now only you may" in line] == said
    assert stat.S_IMODE(cache.stat().st_mode) == 0o755
