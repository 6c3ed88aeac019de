"""The shaded relief: its picture, and what it says where there can be none."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("matplotlib", reason="the elevation model comes with it")

from pydotcompute.examples import hillshade  # noqa: E402


def test_the_picture_is_written(standard_kernels, tmp_path, capsys):
    assert hillshade.main(["-o", str(tmp_path / "relief.png")]) == 0
    assert (tmp_path / "relief.png").read_bytes().startswith(b"\x89PNG")
    assert "344 x 403 cells" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_told_in_one_line(standard_kernels, tmp_path, capsys):
    picture = tmp_path / "none" / "relief.png"
    assert hillshade.main(["-o", str(picture)]) == 1
    assert capsys.readouterr() == ("", f"{picture}: No such file or directory\n")


def test_kernels_that_are_not_built_are_told_in_one_line(unbuilt):
    command = [sys.executable, "-m", "pydotcompute.examples.hillshade"]
    done = subprocess.run(command, cwd=unbuilt, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(rf"this installation has no kernels of its own: there is no {unbuilt}.*\n", done.stderr)
