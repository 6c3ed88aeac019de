"""What the README shows works, word for word."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", TEXT, re.S)[1]


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


@pytest.mark.parametrize("name", re.findall(r"`(?:python )?(benchmarks/\w+\.py)", TEXT))
def test_each_named_benchmark_exists(name):
    assert (ROOT / name).is_file()
