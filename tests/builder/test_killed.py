"""A build with a bundle, killed before every operation on files that it makes: nothing half-made is ever visible.

The target is the one in tests/packages, whose compiler takes no time.
"""

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from pydotcompute.cache.inspection import verify
from pydotcompute.cache.writer import read_manifest

KERNELS = """
version: 1
targets: [abacus:beads]
kernels:
  one: {signature: "(x: float64[...]) -> (out: float64[...])", body: "for i in grid(size): out[i] = NUMBER * x[i]"}
  two: {signature: "(x: float64[...]) -> (out: float64[...])", body: "for i in grid(size): out[i] = NUMBER + x[i]"}
"""
# What the interpreter tells of itself: every file opened for writing, renamed, removed, made. For each number that it is
# given one more process, which has everything imported.
PROGRAM = """
import os, signal, sys
import abacus.target, pydotcompute.builder.build, pydotcompute.builder.bundle, pydotcompute.builder.execute, pydotcompute.cache.store
from pydotcompute.cli import main
EVENTS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "fcntl.flock"}
count, end = 0, 0
def hook(event, arguments):
    global count
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in EVENTS or writes:
        count += 1
        if count == end:
            os.kill(os.getpid(), signal.SIGKILL)
for line in sys.stdin:
    if (child := os.fork()) == 0:
        end = int(line)
        signal.alarm(120)
        sys.addaudithook(hook)
        code = main(["build", "-C", sys.argv[1], "--bundle", sys.argv[2], "-j", "1"])
        os._exit(code or (100 if count < end else 101))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
KILLED, ENDED = -9, 100
PACKAGES = str(Path(__file__).parent.parent / "packages")


@pytest.fixture
def folders(tmp_path):
    project, wheel = tmp_path / "project", tmp_path / "wheel"
    project.mkdir(), wheel.mkdir()
    return project, wheel


@pytest.fixture
def build(folders, tmp_path):
    """A build that is killed before the operation with a number; how it ended."""
    project, wheel = folders
    command = [sys.executable, "-c", PROGRAM, str(project), str(wheel / "kernels")]
    with (
        open(tmp_path / "said", "w+") as said,
        subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": PACKAGES}, stdin=PIPE, stdout=PIPE, stderr=said, text=True
        ) as builder,
    ):
        assert builder.stdin and builder.stdout

        def run(number):
            print(number, file=builder.stdin, flush=True)
            code = int(builder.stdout.readline())
            said.seek(0)
            assert code in (KILLED, ENDED), said.read()
            return code

        yield run


@pytest.mark.slow
def test_a_build_killed_at_every_operation_on_files(folders, build):
    project, wheel = folders
    number, code = 0, KILLED
    while code == KILLED:
        number += 1
        (project / "kernels.yaml").write_text(KERNELS.replace("NUMBER", str(number)))  # there is always something to do
        code = build(number)
        cache = project / "build" / "cache"
        if cache.exists():
            found, problem = read_manifest(str(cache))
            assert not problem and set(found["kernels"]) <= {"one", "two"}
            assert [f for f in verify(str(cache)) if f.fatal and f.fault != "there is none"] == []
        assert os.listdir(wheel) in ([], ["kernels"]), "nothing else that a wheel could pick up"
        if (wheel / "kernels").exists():
            assert [f for f in verify(str(wheel / "kernels")) if f.fault] == []
            made = {path.suffix for path in (wheel / "kernels").rglob("*") if path.is_file()}
            assert made == {".json", ".py", ".pyi", ".typed"}
            assert len(list((wheel / "kernels" / "objects").rglob("*.py"))) == 2
    assert number > 40  # the one before may have had more to do: what it found left over
    left = [path for path in (project / "build").rglob("*") if ".new" in path.name]
    assert left == [] and [f for f in verify(str(cache)) if f.fault] == []
