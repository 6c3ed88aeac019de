"""Two containers that build into one folder: their processes have the same numbers, and cannot see each other."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pydotcompute.cache.inspection import verify

from .test_killed import KERNELS, PACKAGES
from .test_writer import WITHOUT_LOCKS

CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("unshare") or subprocess.run([*CONTAINER, "true"], capture_output=True).returncode != 0,
        reason="this user may not make containers",
    ),
]


def test_they_build_everything_once(tmp_path):
    (tmp_path / "kernels.yaml").write_text(KERNELS.replace("NUMBER", "3"))
    number = "import os; print(os.getpid(), flush=True); from pydotcompute.cli import main; raise SystemExit(main())"
    command = [*CONTAINER, sys.executable, "-c", number, "build", "-C", str(tmp_path), "-j", "1", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": PACKAGES}, **pipes) for _ in range(2)]
    told = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    numbers, answers = zip(*(out.split("\n", 1) for out, _ in told), strict=True)
    assert numbers[0] == numbers[1] and sorted(json.loads(text)["built"] for text in answers) == [0, 2]
    cache = Path(tmp_path, "build", "cache")
    assert [f for f in verify(str(cache)) if f.fault] == [] and not list(cache.rglob(".new*"))


def test_without_locks_one_waits_for_the_other_whose_process_it_cannot_see(tmp_path):
    (tmp_path / "number").write_text("0")
    command = [sys.executable, "-c", WITHOUT_LOCKS, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    holder = subprocess.Popen([*command, "wait"], **pipes)
    assert holder.stdout.readline() == "held\n"
    other = subprocess.Popen([*CONTAINER, *command], **pipes)
    time.sleep(2)
    assert other.poll() is None and (tmp_path / "lock.held").exists(), "it waits"
    holder.communicate("", timeout=60)
    told, _ = other.communicate(timeout=60)
    assert f"waiting for process {holder.pid} on " in told and (tmp_path / "number").read_text() == "2"
