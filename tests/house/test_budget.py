"""The table of tests/BUDGET.md has every folder of the suite, and its sum is what all may take; the fast set leaves no
folder out but those that need the whole repository built."""

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROWS = dict(re.findall(r"^\| ([\w, ]+) \| ([\d.]+) \|$", (TESTS / "BUDGET.md").read_text(), re.M))
FOLDERS = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
WHOLE = {"kernels", "operations"}  # every one of their tests builds the repository


def test_every_folder_has_its_budget():
    further = [name for name in ROWS if name not in FOLDERS]
    assert not FOLDERS - set(ROWS) and further == ["each further target or subject, at most one"]
    assert sum(map(float, ROWS.values())) <= 45


def test_the_fast_set_touches_every_folder():
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent)
    assert done.returncode == 0, done.stdout[-2000:]
    assert {line.split("/")[1] for line in done.stdout.splitlines() if line.startswith("tests/")} == FOLDERS - WHOLE
