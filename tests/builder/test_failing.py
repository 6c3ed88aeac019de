"""Whatever operation on files fails, and wherever memory ends: every command does its work or says what is wrong, what the
cache holds is whole, and the next build makes the rest.

PYDOTCOMPUTE_FILE_FAULTS=1 has a fault at each operation of each command, N at one in N.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHARE = os.environ.get("PYDOTCOMPUTE_FILE_FAULTS", "")


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    library = str(tmp_path_factory.mktemp("failing") / "failing.so")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-fno-sanitize=all"]
    subprocess.run([*compiler, "-o", library, str(HERE / "failing.c")], check=True)
    return {**os.environ, "LD_PRELOAD": library}


def run(environment, *arguments):
    program = [sys.executable, str(HERE / "failing.py"), *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    *wrong, last = done.stdout.splitlines()
    print(last)
    assert wrong == []
    return int(last.split()[0])


@pytest.mark.slow
def test_operations_on_files_that_fail(failing, tmp_path):
    assert run(failing, tmp_path, SHARE or 53, "files") > 70


@pytest.mark.slow
def test_no_more_memory(failing, tmp_path):
    assert run(failing, tmp_path, SHARE and 8 * int(SHARE) or 101, "memory") > 50
