"""Libraries that installed packages bring, several side by side: by name from Python, and on the command line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pydotcompute
from pydotcompute.cli import main
from pydotcompute.errors import KernelNotBuiltError

pytestmark = pytest.mark.slow
X = np.arange(4, dtype=np.float32)


def bring(site: Path, bundle: Path | None, name: str, module: str, distribution: str = "", version: str = "1.0"):
    """Put a package with a bundle, and the metadata of its distribution, where an installer would."""
    distribution = distribution or name
    metadata = site / f"{distribution}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text(f"[pydotcompute.kernels]\n{name} = {module}\n")
    if bundle is not None:
        shutil.copytree(bundle, site.joinpath(*module.split(".")))


@pytest.fixture
def site(project, tmp_path, monkeypatch):
    folder = tmp_path / "site"
    bundle = project / "lib" / "mylib" / "kernels"
    bring(folder, bundle, "one", "one_lib.kernels")
    bring(folder, bundle, "two", "two_lib.fast", "two-dist", "2.5")
    bring(folder, None, "broken", "nowhere_at_all")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] in ("one_lib", "two_lib")]:
        del sys.modules[name]


def test_by_name(site):
    one, two = pydotcompute.library("one"), pydotcompute.library("two")
    assert one is not two and list(one) == list(two) == ["Any", "full", "saxpy", "span"]
    for library in (one, two):
        np.testing.assert_array_equal(library.saxpy(1.0, X, X), 2 * X)
    assert pydotcompute.library("one") is one and repr(one).startswith(f"<4 kernels of {site}/one_lib/kernels")
    pinned = pydotcompute.library("one", target="cpu:x86-64-v2", strict=True)
    assert pinned.saxpy.which(1.0, X, X).target == "cpu:x86-64-v2" and pinned is not one
    alone = pydotcompute.library("one", target="cpu:x86-64-v2")
    assert alone.saxpy.which(1.0, X, X).target == "cpu:x86-64-v2"
    assert pydotcompute.library("one", strict=True) is not one


def test_what_is_not_there(site):
    with pytest.raises(KernelNotBuiltError, match="library of kernels called 'onee'; did you mean 'one'"):
        pydotcompute.library("onee")
    with pytest.raises(KernelNotBuiltError, match="there are: .*one"):
        pydotcompute.library("quite another")
    with pytest.raises(KernelNotBuiltError, match="'broken' of broken 1.0 cannot be opened: .*No module named"):
        pydotcompute.library("broken")
    bring(site, None, "one", "one_lib.kernels", "rival")
    with pytest.raises(KernelNotBuiltError, match="(one 1.0 and rival 1.0|rival 1.0 and one 1.0) both bring"):
        pydotcompute.library("one")
    bring(site, None, "json", "json")
    with pytest.raises(KernelNotBuiltError, match="'json' of json 1.0"):
        pydotcompute.library("json")


def test_on_the_command_line(site, capsys):
    assert main(["cache", "list", "--installed", "saxpy", "full", "--json"]) == 0
    rows = [row for row in json.loads(capsys.readouterr().out)["artifacts"] if row["library"] in ("one", "two")]
    assert {(row["library"], row["distribution"], row["kernel"]) for row in rows} == {
        (library, title, kernel)
        for library, title in (("one", "one 1.0"), ("two", "two-dist 2.5")) for kernel in ("saxpy", "full")
    }  # fmt: skip
    assert main(["cache", "list", "--installed"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("one  ") == shown.out.count("two  ") == 7
    assert "the library 'broken' of broken 1.0 cannot be opened" in shown.err
    assert f"two: two-dist 2.5, in {site}/two_lib/fast\n" in shown.err and "broken: broken 1.0, not usable\n" in shown.err


def test_nothing_is_looked_for_before_it_is_asked_for():
    program = "import sys, pydotcompute; pydotcompute.library; print('importlib.metadata' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_explain_says_what_artifacts_were_made_from(site, capsys):
    said = []
    for place in (["--installed", "two"], ["-C", str(site / "two_lib" / "fast")]):
        assert main(["explain", "saxpy", "--fields", *place]) == 0
        said.append(capsys.readouterr().out)
        assert main(["explain", "saxpy", "-t", "cpu:x86-64-v2", "--json", *place]) == 0
        data = json.loads(capsys.readouterr().out)
        assert {row["target"] for row in data["artifacts"]} == {"cpu:x86-64-v2"}
        assert all(row["status"] == "current" and row["fields"]["kernel"] == "saxpy" for row in data["artifacts"])
    assert said[0] == said[1] and f"a bundle in {site}/two_lib/fast, made from " in said[0]
    assert "signature" in said[0] and "llvmlite" in said[0]
    assert main(["explain", "sxpy", "--installed", "two"]) == 2
    assert "no kernel 'sxpy' in" in capsys.readouterr().err
    assert main(["explain", "saxpy", "-t", "cpu:x86-64-v9", "--installed", "two"]) == 2
    assert "no target 'cpu:x86-64-v9' in" in capsys.readouterr().err
