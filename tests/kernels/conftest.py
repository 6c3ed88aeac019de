"""The repository's own kernels, built as a user builds them; with nothing changed since, that takes half a second."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built():
    done = subprocess.run(
        [sys.executable, "-m", "pydotcompute", "build", "-k", "-C", str(ROOT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return ROOT
