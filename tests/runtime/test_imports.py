"""What a program that calls a built kernel imports; and that nothing of the build half has to be installed."""

import subprocess
import sys
import textwrap

import pytest
from support import write_saxpy
from pydotcompute.artifact.remedies import install

BUILD_HALF = ("numba", "llvmlite", "jinja2", "yaml", "diskcache", "markupsafe", "ziglang", "cupy")
BUILD_ROOMS = ("declare", "ir", "frontend", "analysis", "interpreter", "targets", "jit", "builder", "check", "bench")
EXPENSIVE = ("hashlib", "_hashlib", "importlib.metadata", "dataclasses", "threading", "difflib", "tempfile", "sqlite3",
             "logging", "inspect", "subprocess")  # fmt: skip

USE = """
    import sys
    import numpy as np
    before = set(sys.modules)
    import pydotcompute
    if len(sys.argv) > 1:
        f = pydotcompute.load(sys.argv[1]).saxpy
        x = np.ones(1000, "f4")
        for _ in range(2):
            assert (f(2.0, x, x) == 3).all()
            assert (f(2.0, x.astype("f8"), x.astype("f8"), out=x.astype("f8")) == 3).all()
            assert (f(2.0, x, x, out=x) == 3).all()
            x = np.ones(1000, "f4")
            try:
                f(2.0, x, x[:3])
            except ValueError:
                pass
        assert f.which(2.0, x, x).target and list(pydotcompute.load(sys.argv[1])) == ["saxpy"] and f.specializations
        assert pydotcompute.get_backend("cpu").allocate(3).sum() == 0
    print(*sorted(set(sys.modules) - before))
"""


def run(program: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


ALLOWED_OURS = {
    "artifact", "artifact.abi", "artifact.dimensions", "artifact.dtypes", "artifact.identity", "artifact.machine",
    "artifact.remedies", "artifact.signature", "artifact.cpu_levels", "artifact.targets",
    "backends", "backends.base", "backends.cpu", "backends.cpu.backend",
    "backends.cpu.kernel", "backends.cpu.levels", "backends.cpu.loaded", "backends.cpu.native", "backends.cpu.pool",
    "backends.names", "cache",
    "cache.files", "cache.json_text", "cache.layout", "cache.manifest", "cache.objects", "cache.records",
    "cache.sealed", "cache.trust",
    "calls", "calls.arguments", "calls.arrays", "calls.foreign", "calls.scalars",
    "calls.settings", "calls.shapes", "calls.words", "devices", "devices.pinned",
    "devices.registry", "errors", "pydotcompute", "runtime", "runtime.choice", "runtime.dispatch",
    "runtime.kernel", "runtime.library", "runtime.origin",
}  # fmt: skip
ALLOWED_OTHERS = {
    "__future__",
    "json",
    "json.decoder",
    "json.encoder",
    "json.scanner",
    "_json",
    "_blake2", "_sha2",
    "_sha256",
    "fcntl",
}


def test_a_program_that_calls_a_kernel_imports_just_these(tmp_path):
    found = set(run(USE, write_saxpy(tmp_path)).split())
    ours = {m.removeprefix("pydotcompute.") for m in found if m.startswith("pydotcompute")}
    assert ours <= ALLOWED_OURS
    others = {m for m in found if not m.startswith("pydotcompute")}
    assert not others & {*BUILD_HALF, *EXPENSIVE}
    assert others <= ALLOWED_OTHERS


def test_importing_the_package_imports_nothing_else():
    assert run(USE).split() == ["__future__", "pydotcompute"]


def test_everything_works_with_the_build_half_blocked(tmp_path):
    block = f"import sys\nfor name in {BUILD_HALF!r}:\n    sys.modules[name] = None\n"
    for half in BUILD_ROOMS:
        block += f"sys.modules['pydotcompute.{half}'] = None\n"
    run(block + textwrap.dedent(USE), write_saxpy(tmp_path))


@pytest.mark.parametrize("name", ["yaml", "jinja2"])
def test_what_needs_the_build_half_names_the_extra(tmp_path, name):
    program = """
        import sys
        sys.modules[sys.argv[2]] = None
        import numpy as np, pydotcompute
        x = np.ones(3, "f4")
        kernel = pydotcompute.load(sys.argv[1]).saxpy
        assert (kernel(2.0, x, x) == 3).all()
        try:
            kernel.python(2.0, x, x)
        except pydotcompute.CompilerNotInstalledError as error:
            assert isinstance(error, ImportError)
            print(error, end="")
    """
    path = write_saxpy(tmp_path)
    (tmp_path / "kernels.yaml").write_text(
        "version: 1\nkernels:\n  saxpy:\n    signature: '(a: T, x: T[...], y: T[...]) -> (out: T[...])'\n"
        "    types: {T: [float32, float64]}\n    body: |\n      for i in grid(size):\n"
        "          {% if T %}out[i] = x[i]{% endif %}\n"
    )
    told = f"the interpreter needs {name}, which is not installed: {install('build', name)}"
    assert run(program, path, name) == told


def test_the_version_is_the_distribution_s():
    import tomllib
    from pathlib import Path

    import pydotcompute

    project = tomllib.loads((Path(pydotcompute.__file__).parents[1] / "pyproject.toml").read_text())
    assert pydotcompute.__version__ == project["project"]["version"]
    assert set(pydotcompute.__all__) <= set(dir(pydotcompute))
    for name in pydotcompute.__all__:
        assert getattr(pydotcompute, name) is not None
