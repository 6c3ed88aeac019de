"""A bundle as a package: what it exports and says of itself, and what type checkers are told, held to real calls."""

import json
import pydoc
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pydotcompute.cache.writer import read_manifest
from pydotcompute.cli import main

from .conftest import build

HEAD = """\
from typing import cast
from typing_extensions import assert_type
import numpy as np
from numpy.typing import NDArray
import pydotcompute
import declared
from mylib.kernels import Any as shift, full, saxpy, span
f4: NDArray[np.float32] = np.arange(4, dtype=np.float32)
f8: NDArray[np.float64] = np.arange(4, dtype=np.float64)
i4: NDArray[np.int32] = np.arange(4, dtype=np.int32)
u1: NDArray[np.uint8] = np.arange(4, dtype=np.uint8)
lib = cast(declared.Library, pydotcompute.load("."))
"""
RIGHT = {
    "saxpy(1.0, f4, f4)": "NDArray[np.float32]",
    "saxpy(1, f8, y=f8, out=f8 + 1)": "NDArray[np.float64]",
    "saxpy(np.float64(2), f4, f4, None)": "NDArray[np.float32]",
    "saxpy(np.int8(2), f4, f4, backend='cpu')": "NDArray[np.float32]",
    "lib.saxpy(1.0, f4, f4)": "NDArray[np.float32]",
    "full(3, 1.0)": "NDArray[np.float64]",
    "full(3, 1)": "NDArray[np.float32]",
    "full(np.int32(3), True)": "NDArray[np.float32]",
    "full(3, np.float32(1))": "NDArray[np.float32]",
    "full(3, np.float64(1))": "NDArray[np.float64]",
    "full(4, 1.0, f4.copy())": "NDArray[np.float32]",
    "shift(i4, np.True_)": "None",
    "shift(i4, True, STEP=3)": "None",
    "span(u1)": "tuple[np.uint8, np.uint8, NDArray[np.complex64]]",
    "saxpy.which(1.0, f4, f4).target": "str | None",
    "saxpy.doc": "str",
}
WRONG = {
    "saxpy(1.0, f4, f8)": TypeError,
    "saxpy(1.0, i4, i4)": TypeError,
    "saxpy(1.0, f4, f4, out=f8)": TypeError,
    "saxpy(1.0, f4)": TypeError,
    "saxpy('1', f4, f4)": TypeError,
    "saxpy(1j, f4, f4)": TypeError,
    "saxpy(1.0, f4, f4, ouh=f4)": TypeError,
    "saxpy(1.0, [1.0], f4)": TypeError,
    "lib.saxpy(1.0, i4, i4)": TypeError,
    "full(3.0, 1.0)": TypeError,
    "shift(i4, 2)": TypeError,
    "shift(i4, True, STEP=4)": ValueError,
    "span(f4)": TypeError,
}


@pytest.fixture
def names(project, monkeypatch):
    """What HEAD binds."""
    monkeypatch.syspath_prepend(str(project / "lib"))
    monkeypatch.chdir(project)
    found: dict = {}
    exec(HEAD.replace("import declared\n", "").replace("declared.Library", "object"), found)
    yield found
    for name in [name for name in sys.modules if name.split(".")[0] == "mylib"]:
        del sys.modules[name]


def checked(project, statements):
    """Line of HEAD and the statements → what mypy says of it, of the stubs too."""
    program = project / "lib" / "program.py"
    program.write_text(HEAD + "\n".join(statements) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py", "declared.pyi", "mylib"]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=300)
    assert not done.stderr, done.stderr
    lines = [line.partition(": error: ") for line in done.stdout.splitlines() if ": error: " in line]
    return {place: message for place, _, message in lines}


def kind(value):
    """A value's type, as an annotation says it."""
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(kind, value))}]"
    if isinstance(value, np.ndarray):
        return f"NDArray[np.{value.dtype.name}]"
    return f"np.{value.dtype.name}" if isinstance(value, np.generic) else "None"


@pytest.mark.slow
def test_mypy_takes_what_calls_take_and_knows_what_comes_back(project, names):
    for call, result in RIGHT.items():
        value = eval(call, names)
        assert kind(value) == result or result.startswith("str") and isinstance(value, str), call
    # what has no result is no value for mypy
    statements = [call if result == "None" else f"assert_type({call}, {result})" for call, result in RIGHT.items()]
    assert checked(project, statements) == {}


@pytest.mark.slow
def test_mypy_refuses_what_calls_refuse(project, names):
    for call, error in WRONG.items():
        with pytest.raises(error):
            eval(call, names)
    first = HEAD.count("\n") + 1
    assert set(checked(project, WRONG)) == {f"program.py:{first + k}" for k in range(len(WRONG))}


@pytest.mark.slow
def test_arrays_on_a_device_are_taken_where_there_are_artifacts_for_one(project):
    from pydotcompute.cache import manifest
    from pydotcompute.packaging.stubs import stub

    place = manifest.find(str(project))
    record = manifest.kernel_record(manifest.read(*place), "saxpy", *place)
    of_device = {
        label: s._replace(artifacts=(*s.artifacts, s.artifacts[0]._replace(target="cuda:compute_80")))
        for label, s in record.specialisations.items()
    }
    (project / "lib" / "device.pyi").write_text(stub([record._replace(specialisations=of_device)]))
    statements = [
        "import device, typing",
        "class Tensor:",
        "    __cuda_array_interface__: dict[str, typing.Any] = {}",
        "device.saxpy(1.0, Tensor(), Tensor()), device.saxpy(1.0, f4, f4)",
        "saxpy(1.0, Tensor(), Tensor())",
        "device.saxpy(1.0, Tensor(), f4)",
    ]
    first = HEAD.count("\n") + 1
    assert set(checked(project, statements)) == {f"program.py:{first + 4}", f"program.py:{first + 5}"}


@pytest.mark.slow
def test_the_package_describes_itself(names):
    import mylib.kernels

    assert dir(mylib.kernels) == ["Any", "full", "saxpy", "span"] and not hasattr(mylib.kernels, "nope")
    assert mylib.kernels.__doc__.startswith("Compiled kernels: Any, full, saxpy, span.")
    shown = pydoc.render_doc(names["saxpy"], renderer=pydoc.plaintext)
    assert shown.split("\n\n", 1)[1] == (
        "saxpy(a, x, y, out=None)\n    a * x + y\n    \n    saxpy(a: T, x: T[...], y: T[...]) -> (out: T[...])\n"
        "      T: float32, float64\n    \n"
        "    Outputs that are not given are allocated; what is returned are the outputs.\n"
    )
    assert "STEP=2 (the default) or 3\n  requires n % 2 == 0" in names["shift"].__doc__
    assert "saxpy(a, x, y, out=None)\n        a * x + y" in pydoc.render_doc(mylib.kernels, renderer=pydoc.plaintext)
    with pytest.raises(ImportError, match="kernels has no kernel 'saxpi'; did you mean 'saxpy'"):
        from mylib.kernels import saxpi  # noqa: F401
    everything: dict = {}
    exec("from mylib.kernels import *", everything)
    assert everything["full"](2, 1.0).tolist() == [1.0, 1.0]


@pytest.mark.slow
def test_a_bundle_inside_a_zip_file_is_refused_as_that(project, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "library"), "zip", project / "lib")
    program = "import sys; sys.path.insert(0, sys.argv[1]); from mylib.kernels import saxpy"
    done = subprocess.run([sys.executable, "-c", program, archive], capture_output=True, text=True, cwd=tmp_path)
    told = f"{archive}: no kernels are read from inside a zip file; unpack it, or install with pip what is in it"
    assert told in done.stderr.splitlines()[-1] and "NotImported" in done.stderr


def test_a_bundle_says_what_it_was_made_from(project, capsys):
    folder = project / "lib" / "mylib" / "kernels"
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {
        "__init__.py", "__init__.pyi", "py.typed", "manifest.json", "metadata.json", "objects", "records",
    }  # fmt: skip
    data = json.loads((folder / "metadata.json").read_text())
    manifest = read_manifest(str(folder))[0]["kernels"]
    found = {(a["kernel"], a["specialization"], a["target"]): a["key"] for a in data["artifacts"]}
    assert found == {
        (kernel, label, target): entry["key"]
        for kernel, header in manifest.items()
        for label, specialisation in header["specializations"].items()
        for target, entry in specialisation["artifacts"].items()
    }
    whole = [{**data["fields"], **a["fields"]} for a in data["artifacts"]]
    assert all({"source", "signature", "tool numba", "tool llvmlite", "target", "kernel"} <= set(f) for f in whole)
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for a in data["artifacts"] for digest in a["sources"].values())
    capsys.readouterr()
    assert main(["cache", "show", "saxpy", "T=float64", "-C", str(folder), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["artifacts"]
    assert shown["fields"] == next(f for f in whole if f["kernel"] == "saxpy" and "float64" in f["types"])
    text = "".join(path.read_text() for path in folder.iterdir() if path.is_file())
    assert str(project) not in text


def test_stubs_go_to_a_stub_file(tmp_path):
    (tmp_path / "kernels.yaml").write_text("version: 1\nkernels: {}\n")
    done = build(tmp_path, "--stubs", "kernels.py")
    assert done.returncode == 2 and "'kernels.py' is no stub file: name one that ends in .pyi" in done.stderr
