"""Objects, manifest and lock: whole or not at all, whatever happens to the writer."""

import errno
import json
import os
import platform
import signal
import stat
import subprocess
import sys

import pytest

from pydotcompute.builder.build import BuildError
from pydotcompute.cache import lock, writer
from pydotcompute.cache.inspection import verify
from pydotcompute.cache.keys import digest
from pydotcompute.cache.layout import VERSION
from pydotcompute.cache.sealed import seal

from .project import build_project

MANIFEST = {"version": VERSION, "kernels": {}}


def test_an_object_is_named_by_its_bytes_and_written_once(tmp_path):
    name = writer.write_object(str(tmp_path), b"machine code", ".so")
    path = tmp_path / "objects" / name[:2] / f"{name}.so"
    assert name == digest(b"machine code") and path.read_bytes() == b"machine code"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    inode = path.stat().st_ino
    assert writer.write_object(str(tmp_path), b"machine code", ".so") == name
    assert path.stat().st_ino == inode

ANOTHER_BOOT = "8c0b5cbe-7a57-4d5c-9d1b-4f8f1a2f6f10"


IN_THE_WAY = {
    "a FIFO": os.mkfifo, "a file": lambda path: path.write_text("x"), "an empty folder": os.mkdir,
    "a link to nothing": lambda path: path.symlink_to("/no"), "an endless link": lambda path: path.symlink_to(path.name),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_THE_WAY)
@pytest.mark.parametrize("place", ["objects", "objects/xx", "records", "manifest.json"])
def test_a_build_puts_its_own_in_the_place_of_what_is_in_the_way(built, place, what):
    """So `cache verify` says that one repairs it."""
    cache = built / "build" / "cache"
    path = next((cache / "objects").iterdir()) if place == "objects/xx" else cache / place
    writer.remove(str(path))
    IN_THE_WAY[what](path)
    assert any(finding.fatal for finding in verify(str(cache)))
    _, outcome = build_project(built)
    assert not outcome.failed and not any(finding.fatal for finding in verify(str(cache)))


def test_a_folder_with_something_in_it_stays_in_the_way_and_is_told(built):
    manifest = built / "build" / "cache" / "manifest.json"
    manifest.unlink()
    (manifest / "mine").mkdir(parents=True)
    with pytest.raises(BuildError) as caught:
        build_project(built)
    assert str(caught.value) == f"{manifest}: something else stands there (Directory not empty); remove it, then build again"
    assert os.listdir(manifest) == ["mine"]


@pytest.mark.parametrize("damage", [b"machine c0de", b"machine", b""])
def test_a_damaged_object_is_found_and_written_again(tmp_path, damage):
    name = writer.write_object(str(tmp_path), b"machine code", ".so")
    path = tmp_path / "objects" / name[:2] / f"{name}.so"
    path.write_bytes(damage)
    assert writer.object_fault(str(tmp_path), name, ".so", 12) == "object damaged"
    writer.write_object(str(tmp_path), b"machine code", ".so")
    assert writer.object_fault(str(tmp_path), name, ".so", 12) == ""
    path.unlink()
    assert writer.object_fault(str(tmp_path), name, ".so", 12) == "object missing"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from pydotcompute.cache.writer import replace_file\n"
        "try: replace_file(sys.argv[1], b'x' * 100_000)\n"
        "except OSError as error: print(error.errno)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert done.stdout.strip() == str(errno.EFBIG)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": VERSION}',
        '{"version": VERSION, "kernels": {"a": 1}}',
        '{"version": VERSION, "kernels": {"a": {"specializations": {"-": {"artifacts": {"cpu:native": {}}}}}}}',
        '{"version": VERSION, "kernels": {"a": "00"}}',
        '{"version": 0, "kernels": {}}',
        "\xff",
    ],
)
def test_a_damaged_manifest_is_an_empty_one_with_a_problem(tmp_path, text):
    text = text.replace("VERSION", str(VERSION))
    for data in (text.encode("latin-1"), seal(text)):
        (tmp_path / "manifest.json").write_bytes(data)
        manifest, problem = writer.read_manifest(str(tmp_path))
        assert manifest == MANIFEST
        assert problem.startswith(str(tmp_path / "manifest.json"))


@pytest.mark.parametrize("change", [{"version": VERSION, "kernels": {"a": "0" * 64}, "stale": {}}, {"kernels": {}}])
def test_a_manifest_whose_digest_is_of_something_else_is_damaged(tmp_path, change):
    writer.write_manifest(str(tmp_path), MANIFEST)
    kept = json.loads((tmp_path / "manifest.json").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps({"digest": kept["digest"], **change}, separators=(",", ":")))
    assert writer.read_manifest(str(tmp_path)) == (MANIFEST, f"{tmp_path}/manifest.json: damaged")


def test_an_object_that_is_still_named_stays_whatever_size_was_said(tmp_path):
    name = writer.write_object(str(tmp_path), b"machine code", ".so")

    def manifest(size):
        entry = {"object": name, "suffix": ".so", "size": size}
        return {"kernels": {"a": {"specializations": {"-": {"artifacts": {"abacus:beads": entry}}}}}}

    writer.drop_damaged(str(tmp_path), manifest(7), manifest(12))
    assert writer.object_is_intact(str(tmp_path), name, ".so", 12)


def test_a_missing_manifest_is_an_empty_one_without_a_problem(tmp_path):
    assert writer.read_manifest(str(tmp_path)) == (MANIFEST, "")


def test_a_manifest_comes_back(tmp_path):
    writer.write_manifest(str(tmp_path), {**MANIFEST, "kernels": {}})
    assert writer.read_manifest(str(tmp_path)) == (MANIFEST, "")
    kept = json.loads((tmp_path / "manifest.json").read_bytes())
    assert len(kept.pop("digest")) == 64 and kept == {**MANIFEST, "stale": {}}


def test_the_lock_is_free_again_when_its_holder_is_killed(tmp_path):
    program = (
        "import sys, time; from pydotcompute.cache.lock import locked\n"
        "with locked(sys.argv[1], print): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    heard = []

    def waiting(who):
        heard.append(who)
        holder.send_signal(signal.SIGKILL)

    with lock.locked(str(tmp_path), waiting):
        pass
    holder.wait()
    holder.stdout.close()
    assert heard == [f"waiting for process {holder.pid}, which is building here"]


WITHOUT_LOCKS = """
import errno, fcntl, os, sys, time
def flock(handle, how):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = flock
from pydotcompute.cache.lock import locked
told = []
with locked(sys.argv[1], told.append):
    number = int(open(sys.argv[1] + "/number").read())
    time.sleep(0.05)
    open(sys.argv[1] + "/number", "w").write(str(number + 1))
    if sys.argv[2:]:
        print("held", flush=True), sys.stdin.read()
print(*told, sep="\\n")
"""


def test_where_the_file_system_has_no_locks_a_file_serves_and_that_is_said(tmp_path):
    (tmp_path / "number").write_text("0")
    command = [sys.executable, "-c", WITHOUT_LOCKS, str(tmp_path)]
    killed = subprocess.Popen([*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert killed.stdout.readline() == "held\n" and (tmp_path / "lock.held").exists()
    killed.kill(), killed.wait(), killed.stdout.close(), killed.stdin.close()
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [writer.communicate(timeout=60)[0] for writer in writers]
    assert (tmp_path / "number").read_text() == "5" and not (tmp_path / "lock.held").exists()
    assert all(f"{tmp_path}: this file system has no locks (No locks available)" in text for text in told)
    assert any("which is building here; if nobody is, remove" in text for text in told)


@pytest.mark.parametrize("left", ["", "killed while it removed the file of another"])
def test_two_that_saw_the_same_dead_holder_do_not_both_write(tmp_path, monkeypatch, left):
    """The second one is stopped between its look and what it does about it, until the first holds the lock."""
    (tmp_path / "number").write_text("0")
    dead = f"process {2**22 + 1} on {lock._machine()}"
    (tmp_path / "lock.held").write_text(dead)
    if left:
        (tmp_path / "lock.held.removing").write_text(dead)
    first, heard, is_dead = [], [], lock._is_dead

    def looked(holder):
        seen = is_dead(holder)
        if not first:
            command = [sys.executable, "-c", WITHOUT_LOCKS, str(tmp_path), "wait"]
            first.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            assert seen and first[0].stdout.readline() == "held\n"
        return seen

    def waits(what):
        heard.append(what)
        if what.startswith("waiting"):
            first[0].communicate("", timeout=60)

    def without_locks(handle, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock, "_is_dead", looked)
    monkeypatch.setattr(lock.fcntl, "flock", without_locks)
    with lock.locked(str(tmp_path), waits):
        assert first[0].returncode == 0, "both write"
    assert f"waiting for process {first[0].pid} on" in heard[1] and not list(tmp_path.glob("lock.held*"))


@pytest.mark.parametrize("holder, dead", [
    ("", False), ("process", False), (f"process {2**22 + 1} on {platform.node()} pid:[1]", False), ("process 12 on elsewhere", False), (f"process 1 on {lock._machine()}", False),
    (f"process {2**22 + 1} on {platform.node()}", False),
    (f"process {2**22 + 1} on {' '.join((platform.node(), ANOTHER_BOOT, os.readlink('/proc/self/ns/pid')))}", False),
    (f"process {2**22 + 1} on {lock._machine()}", True), (f"process {10**30} on {lock._machine()}", False),
])  # fmt: skip
def test_only_a_dead_process_of_this_machine_loses_its_lock(holder, dead):
    assert lock._is_dead(holder) is dead


@pytest.mark.parametrize("number, goes_on", [("EINVAL", True), ("ENOSYS", True), ("EIO", False), ("ENOSPC", False)])
def test_a_file_system_that_cannot_sync_is_written_to_and_one_that_fails_is_not(tmp_path, monkeypatch, number, goes_on):
    def fsync(handle):
        raise OSError(getattr(errno, number), number)

    monkeypatch.setattr(os, "fsync", fsync)
    if goes_on:
        writer.replace_file(str(tmp_path / "file"), b"new")
        assert (tmp_path / "file").read_bytes() == b"new"
    else:
        with pytest.raises(OSError, match=number):
            writer.replace_file(str(tmp_path / "file"), b"new")
        assert os.listdir(tmp_path) == []


def test_a_file_its_name_and_its_new_folders_are_on_the_disk_in_that_order(tmp_path, monkeypatch):
    done = []
    sync, replace, make = os.fsync, os.replace, os.mkdir
    path_of = lambda handle: os.path.relpath(os.readlink(f"/proc/self/fd/{handle}"), tmp_path)  # noqa: E731
    monkeypatch.setattr(os, "fsync", lambda h: (done.append(("sync", path_of(h))), sync(h)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append(("rename", os.path.basename(b))), replace(a, b)))
    monkeypatch.setattr(os, "mkdir", lambda p, m: (done.append(("make", os.path.relpath(p, tmp_path))), make(p, m)))
    name = writer.write_object(str(tmp_path), b"code", ".so")
    folder = f"objects/{name[:2]}"
    assert done[:4] == [("make", "objects"), ("sync", "."), ("make", folder), ("sync", "objects")]
    (what, temporary), *rest = done[4:]
    assert what == "sync" and temporary.startswith(f"{folder}/.new-")
    assert rest == [("rename", f"{name}.so"), ("sync", folder)]


def test_sweep_removes_unfinished_files_alone(tmp_path):
    name = writer.write_object(str(tmp_path), b"code", ".so")
    for place in (tmp_path, tmp_path / "objects", tmp_path / "objects" / name[:2]):
        (place / ".new-1-x").write_bytes(b"half")
    writer.sweep(str(tmp_path))
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == [f"{name}.so"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folders_are_made_for_all_to_read_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        writer.make_folders(str(tmp_path / "build" / "cache"))
        name = writer.write_object(str(tmp_path / "build" / "cache"), b"code", ".so")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes.pop(f"{name}.so") == 0o644 & ~umask
    assert set(modes) == {"build", "cache", "objects", name[:2]} and set(modes.values()) == {0o755}


def test_a_cache_is_closed_to_others_with_all_that_is_in_it(tmp_path):
    writer.make_folders(str(tmp_path / "cache"))
    assert writer.close_to_others(str(tmp_path / "nothing")) == writer.close_to_others(str(tmp_path / "cache")) == ""
    name = writer.write_object(str(tmp_path / "cache"), b"code", ".so")
    outside = tmp_path / "outside"
    outside.write_bytes(b"")
    (tmp_path / "cache" / "link").symlink_to(outside)
    for path in (tmp_path / "cache", *(tmp_path / "cache").rglob("*")):
        path.chmod(0o777)
    assert writer.close_to_others(str(tmp_path / "cache")) == "every user may write there (mode 777)"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o777, "no link is followed"
    closed = [path for path in (tmp_path / "cache").rglob("*") if path.name != "link"]
    assert closed and {stat.S_IMODE(path.stat().st_mode) for path in closed} == {0o755}
    assert (tmp_path / "cache" / "objects" / name[:2] / f"{name}.so") in closed


@pytest.mark.parametrize(
    "number, words",
    [
        (errno.ENOSPC, "no space left on the device"),
        (errno.EACCES, "cannot be written (Permission denied)"),
        (errno.EROFS, "cannot be written (Read-only file system)"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_the_disk_refuses_is_one_line(number, words):
    line = writer.explain_os_error(OSError(number, os.strerror(number), "/x/y"), "/x")
    assert line.startswith("/x/y: ") and words in line and "\n" not in line
