"""Whatever becomes of the files of a project and its cache, every command does its work or says what is wrong: none
waits, none asks for all memory, no number is wrong, and what a build says it has made, calls.

PYDOTCOMPUTE_RANDOM_DAMAGES=N has N damages, and every kind of what is no file; BEGIN:END has those damages alone that
are drawn from these numbers. PYDOTCOMPUTE_EVERY_BYTE=1 changes each byte of a manifest.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "damage.py")
DAMAGES = os.environ.get("PYDOTCOMPUTE_RANDOM_DAMAGES", "")


def run(*arguments):
    done = subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    *wrong, last = done.stdout.splitlines()
    print(last)
    assert wrong == []
    return int(last.split()[0])


@pytest.mark.slow
def test_random_damages(tmp_path):
    begin, _, end = (DAMAGES or "50").rpartition(":")
    assert run(tmp_path, begin or 0, end) == int(end) - int(begin or 0)


@pytest.mark.slow
def test_what_is_no_file_in_the_place_of_each(tmp_path):
    assert run(tmp_path, "odd", 0, 7 if DAMAGES else 2) > 70


@pytest.mark.slow
def test_what_is_changed_by_hand_with_digests_that_fit(tmp_path):
    assert run(tmp_path, "records", 0, 1 if DAMAGES else 6) > 100


@pytest.mark.slow
def test_every_change_of_a_byte_of_a_manifest_is_found(tmp_path):
    assert run(tmp_path, "bytes", 0, 1 if os.environ.get("PYDOTCOMPUTE_EVERY_BYTE") else 61) > 300
