"""What the README shows works, word for word."""

import pathlib
import re
import subprocess
import sys

import pytest

from pydotcompute.bench import SUBJECTS

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.S)[1]


@pytest.mark.slow
def test_the_example_builds_checks_and_runs(tmp_path):
    (tmp_path / "kernels.yaml").write_text(block("yaml"))
    (tmp_path / "program.py").write_text(block("python"))
    commands = [line[2:].split() for line in block("console").splitlines()]
    assert [words[0] for words in commands] == ["pydotcompute", "pydotcompute"]
    for words in commands:
        done = subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "[ 0.  3.  6.  9. 12.]"
    assert second.startswith("[ 0.  3.  6.  9. 12.] cpu:x86-64-v")


def test_the_picture_shows_every_folder():
    folders = {path.parent.name for path in (ROOT / "pydotcompute").glob("*/__init__.py")}
    assert folders == set(re.findall(r"(?:│ |^  |  )(\w+)/  ", TEXT.partition("## The architecture")[2], re.M))


def test_each_named_measurement_exists():
    named = set(re.findall(r"`pydotcompute bench --subject (\S+)`", TEXT))
    assert named and named <= set(SUBJECTS)


PATHS = re.findall(r"`((?:tests|targets|ir|templates|\.ci)/[\w./]+)`", TEXT)


@pytest.mark.parametrize("path", PATHS)
def test_each_named_path_exists(path):
    """But for a folder that stands for any target's."""
    assert path == "targets/NAME" or (ROOT / path).exists() or (ROOT / "pydotcompute" / path).exists()
