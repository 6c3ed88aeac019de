"""Bundles that releases of this package have written, kept for ever: what becomes of each in this one.

Until 0.1.0 is out its folder is replaced when the format or the calling convention changes: `pydotcompute build
--bundle` of the declarations in its metadata.json. Afterwards none is touched, and what this release no longer reads
moves from SERVED to the refusals.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import pydotcompute
from pydotcompute.cache.layout import READ_SINCE
from pydotcompute.cli import main

RELEASED = Path(__file__).parent / "released"
SERVED = ("0.1.0",)


def test_every_one_is_looked_at():
    assert sorted(SERVED) == sorted(path.name for path in RELEASED.iterdir())
    for release in SERVED:
        version = json.loads((RELEASED / release / "manifest.json").read_text())["version"]
        assert READ_SINCE[version] <= release


@pytest.mark.parametrize("release", SERVED)
def test_its_kernels_compute_what_they_did(release):
    lib = pydotcompute.load(RELEASED / release)
    assert list(lib) == ["rows", "saxpy"]
    for dtype in ("float32", "float64"):
        x = np.arange(7, dtype=dtype)
        assert lib.saxpy.which(2.0, x, x).target == "cpu:x86-64-v2"
        np.testing.assert_array_equal(lib.saxpy(2.0, x, x), 3 * x)
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(lib.rows(x, np.array([2, 0])), x[[2, 0]])
    with pytest.raises(IndexError, match=f"{RELEASED}/{release}: kernels.yaml:17:25: index 3 of axis 0 is outside x, which has 3"):
        lib.rows(x, np.array([3]))


@pytest.mark.parametrize("release", SERVED)
def test_it_has_no_holes_and_says_what_it_was_made_from(release, capsys):
    assert main(["check", "--bundle", str(RELEASED / release), "--require", "cpu:x86-64-v2"]) == 0
    capsys.readouterr()
    assert main(["explain", "saxpy", "-C", str(RELEASED / release), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["artifacts"]
    assert len(rows) == 4 and all(row["fields"]["kernel"] == "saxpy" for row in rows)


def test_one_of_a_later_release_is_refused_by_name(tmp_path):
    folder = tmp_path / "bundle"
    shutil.copytree(RELEASED / SERVED[-1], folder)
    manifest = folder / "manifest.json"
    later = max(READ_SINCE) + 1
    manifest.write_text(manifest.read_text().replace(f'"version":{max(READ_SINCE)}', f'"version":{later}'))
    with pytest.raises(pydotcompute.KernelNotBuiltError, match=f"has format version {later}, this program reads"):
        pydotcompute.load(folder)
