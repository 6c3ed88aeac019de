"""`pydotcompute bench --subject shipping`: wheels that are made, an environment that is measured, what pip cannot get."""

import json
import subprocess
import sys

import pytest

from pydotcompute.bench import shipping
from pydotcompute.bench.shipping_library import DTYPES, ELEMENTS, NAMES, kernels_yaml, numba_package
from pydotcompute.cli import main

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "mine"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["mine"]
"""


@pytest.mark.slow
def test_wheels_are_made_and_what_pip_cannot_get_is_said(capsys, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing is fetched by a test
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    targets = [word for target in ("cpu:x86-64-v2", "cpu:x86-64-v3@windows") for word in ("-t", target)]
    assert main(["bench", "--subject", "shipping", "--json", "--rounds", "1", *targets]) == 0
    first, library, *peers = json.loads(capsys.readouterr().out)["figures"]
    assert first["what"] == "init, then build" and first["s"] > 0 and 0.01 < first["wheel MB"] < 1
    assert (library["what"], library["artifacts"]) == ("20 kernels, what is asked for", 80)
    assert library["wheel MB"] > 2 * first["wheel MB"]
    assert [row["what"].rpartition(": ")[2] for row in peers] == [peer.name for peer in shipping.PEERS]
    assert all(row["note"].startswith("cannot be measured: ") and "numpy" in row["note"] for row in peers)


@pytest.mark.slow
def test_a_fresh_environment_has_what_is_installed_and_nothing_else(tmp_path, monkeypatch):
    """`once` is slower in its first process, and its wheel has a megabyte."""
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import os, sys, time\nmark = __file__ + '.seen'\nif not os.path.exists(mark):\n"
        "    open(mark, 'w').close(); time.sleep(1)\n"
        "assert not [name for name in sys.path if 'dist-packages' in name]\n"
        "for name in ('numpy', 'pydotcompute'):\n    try: __import__(name)\n    except ImportError: pass\n"
        "    else: raise AssertionError(name)\n"
    )
    (package / "data").write_bytes(bytes(1_000_000))
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    wheel = shipping.build_wheel(tmp_path)
    monkeypatch.setattr(shipping, "PEERS", (
        shipping.Peer("mine", "mine", (), "import mine"), shipping.Peer("gone", "", ("no-such-thing",), ""),
    ))  # fmt: skip
    monkeypatch.setattr(shipping, "fetched", lambda peer, house: [wheel] if peer.library else shipping.version("no-such-thing"))
    mine, gone = shipping.environments(str(tmp_path), wheel.parent, 1)
    assert mine["first call s"] > 1 > mine["next s"] and mine["s"] > 0 and mine["times"] == 1
    assert 1 < mine["installed MB"] < 1.1 and mine["download MB"] < 0.1
    assert "no-such-thing" in gone["note"] and not list(tmp_path.glob("mine0"))


@pytest.mark.slow
def test_both_libraries_compute_the_same(tmp_path):
    (tmp_path / "kernels.yaml").write_text(kernels_yaml().replace("kernels:", "targets: [cpu:x86-64-v3]\nkernels:", 1))
    assert main(["build", "-C", str(tmp_path), "-q"]) == 0
    numba_package(tmp_path / "looped")
    functions = (tmp_path / "looped" / "src" / "looped" / "kernels.py").read_text().replace("@njit(cache=True)\n", "")
    program = (
        "import sys; sys.modules['numba'] = type('', (), {'njit': None})\n" + functions + "\nimport pydotcompute\n"
        f"lib, rng = pydotcompute.load({str(tmp_path)!r}), np.random.default_rng(0)\n"
        f"for name in {NAMES!r}:\n    for dtype in {DTYPES!r}:\n"
        f"        shape = (50,) if name in {tuple(ELEMENTS)!r} else (5, 7)\n"
        "        x, y = (rng.uniform(0.5, 2, shape).astype(dtype) for _ in range(2))\n"
        "        np.testing.assert_allclose(getattr(lib, name)(x, y), globals()[name](x, y), rtol=1e-5, atol=1e-6)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_hatchling_is_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(shipping, "find_spec", lambda name: None)
    assert main(["bench", "--subject", "shipping"]) == 1
    assert "wheels are made by hatchling, which is not installed: " in capsys.readouterr().err
