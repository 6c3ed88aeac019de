"""Versions without imports: what is found agrees with what the tools say of themselves."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import pydotcompute
from pydotcompute.builder.code import PACKAGE, code_files, versions
from pydotcompute.targets.base import BOUNDS
from pydotcompute.targets.cpu.target import processor
from pydotcompute.targets.registry import get, own_names
from pydotcompute.targets.tools import NOT_INSTALLED, package_version


def test_the_versions_are_those_that_are_installed():
    found = versions("cpu")
    for tool in ("numba", "llvmlite", "numpy"):
        assert found[tool] == version(tool)
    assert found["linker"] == f"ziglang {version('ziglang')}"
    assert found["python"] == f"{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags}"


def metadata_version(names):
    for name in names:
        try:
            return version(name.replace("_", "-"))
        except PackageNotFoundError:
            pass
    return NOT_INSTALLED


def test_every_tool_of_cuda_is_found_exactly_where_it_is_installed():
    found = versions("cuda")
    expected = {tool: metadata_version(names) for tool, names in get("cuda").distributions.items()}
    assert {tool: found[tool] for tool in expected} == expected


def test_what_is_not_installed_is_a_value_too(monkeypatch):
    assert package_version("no_such_distribution") == NOT_INSTALLED
    monkeypatch.setattr("pydotcompute.targets.tools.installed", dict)
    assert versions("cpu")["numba"] == version("numba")  # found the slow way


def test_a_system_linker_is_known_by_what_it_says_of_itself(tmp_path):
    linker = tmp_path / "my-linker"
    linker.write_text("#!/bin/sh\necho my linker 1.2\necho more\n")
    linker.chmod(0o755)
    assert versions("cpu", str(linker))["linker"] == f"{linker}: my linker 1.2"
    assert "FileNotFoundError" in versions("cpu", "no-such-linker")["linker"]


KERNELS = """
  counted:
    signature: "(k: int64[n], x: float64[n]) -> (out: float64[n])"
    body: |
      for i in grid(n):
          if 0 <= k[i] < n:
              atomic_add(out, k[i], x[i] ** 0.5)

  mean:
    signature: "(x: strided float32[..., n]) -> (out: float32[...])"
    requires: ["n > 0"]
    body: |
      for r in blocks(rows):
          out[r] = sum(x[r, c] for c in threads(n)) / n
"""
RAW = """
  raw:
    signature: "(x: float32[n]) -> (out: float32[n])"
    launch: {block: 64, grid: "(n + 63) // 64"}
    body: |
      i = cuda.grid(1)
      if i < x.shape[0]:
          out[i] = x[i]
"""
IMPORTED = """
import sys
from pydotcompute import declare
from pydotcompute.targets.base import Clock, Job
from pydotcompute.targets.registry import get, raw_modules
root, *targets = sys.argv[1:]
target = get(targets[0])
for kernel in declare.load(root).kernels.values():
    for specialisation in kernel.specialisations:
        rendered = declare.render(kernel, specialisation, target.name, root, raw_modules())
        if target.refusal(kernel, specialisation, rendered):
            continue
        for name in targets:
            answer = target.compile(Job(kernel, specialisation, rendered, (name,), root + "/rendered"), Clock())
            assert not answer.failures, answer.failures
            assert all(0 < made.seconds < 600 for made in answer.artifacts.values())
print(*[m.__file__ for n, m in list(sys.modules.items()) if n.partition(".")[0] == "pydotcompute"], sep="\\n")
print(*[n for n in sys.modules if n.startswith("numba.")], sep="\\n", file=sys.stderr)
"""
# What Numba's own targets load for arrays, text and lists, and take longer to than a few kernels to compile.
UNUSED = {
    "cpu": {"numba.np.arraymath", "numba.np.linalg", "numba.cpython.unicode", "numba.cpython.randomimpl"},
    "cuda": {"numba.cuda.np.arraymath", "numba.cuda.cpython.unicode", "numba.cuda.libdevicedecl"},
}


@pytest.mark.parametrize("backend", UNUSED)
def test_declared_kernels_need_little_of_numba(fresh, backend):
    if missing := get(backend).missing():
        pytest.skip(missing)
    with open(fresh / "kernels.yaml", "a") as file:
        file.write(KERNELS)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(fresh), get(backend).default], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split())
    assert "numba.core.types" in loaded and not UNUSED[backend] & loaded


@pytest.mark.parametrize("backend", own_names())
def test_the_code_of_a_target_is_all_that_its_jobs_import(fresh, backend):
    """But for what carries the jobs, and words for the user: no byte of an artifact depends on those."""
    with open(fresh / "kernels.yaml", "a") as file:
        file.write(KERNELS + RAW)
    names = [get(backend).default, *([get(backend).default + BOUNDS] if get(backend).has_bounds else [])]
    command = [sys.executable, "-c", IMPORTED, str(fresh), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = {os.path.relpath(path, PACKAGE) for path in done.stdout.split()}
    rest = imported - {os.path.relpath(path, PACKAGE) for _, path in code_files(backend)}
    # whoever looks for the modules of raw bodies asks every target
    rest -= {f"targets/{name}/{file}" for name in own_names() for file in ("__init__.py", "target.py")}
    assert len(imported) > 50
    others = {f"targets/{name}/{file}.py" for name in own_names() for file in ("__init__", "target")}
    assert {path for path in rest - others if not path.startswith("cache/")} <= {"__init__.py", "errors.py"}
    assert os.path.dirname(pydotcompute.__file__) == PACKAGE


def test_a_digest_changes_with_the_files_of_its_target_alone(monkeypatch, tmp_path):
    copy = tmp_path / "pydotcompute"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "from pydotcompute.builder.code import code_digest\n"
        "from pydotcompute.targets.registry import own_names\n"
        "print(*[f'{name} {code_digest(name)}' for name in own_names()], sep='\\n')"
    )

    def digests():
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return dict(line.split() for line in done.stdout.splitlines())

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    first = digests()
    changed = {}
    for name in (
        "targets/cpu/lowering.py", "targets/cuda/lowering.py", "targets/llvm/operations.py", "ir/tree.py",
        "declare/signatures.py", "declare/fills.py", "artifact/abi.py", "targets/base.py", "interpreter/execute.py",
        "builder/report.py", "cli/build.py",
    ):  # fmt: skip
        with open(copy / name, "a") as file:
            file.write("# more\n")
        second = digests()
        changed[name] = {backend for backend in first if first[backend] != second[backend]}
        first = second
    every = set(first)
    assert changed == {
        "targets/cpu/lowering.py": {"cpu"}, "targets/cuda/lowering.py": {"cuda"},
        "targets/llvm/operations.py": {"cpu", "cuda"}, "ir/tree.py": every, "declare/signatures.py": every,
        "declare/fills.py": every, "artifact/abi.py": every, "targets/base.py": every,
        "interpreter/execute.py": set(), "builder/report.py": set(), "cli/build.py": set(),
    }  # fmt: skip


def test_the_processor_is_described_by_its_features():
    words = processor().split()
    assert "?" not in words and "sse2" in words


def test_so_is_one_of_aarch64(tmp_path):
    text = """\
processor	: 0
BogoMIPS	: 243.75
Features	: fp asimd atomics
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
CPU revision	: 1

processor	: 1
Features	: fp
"""
    path = tmp_path / "cpuinfo"
    told = []
    for features in ("fp asimd atomics", "atomics asimd fp", "fp asimd atomics sve"):
        path.write_text(text.replace("fp asimd atomics", features))
        told.append(processor.__wrapped__(str(path), "aarch64"))
    assert told[0] == told[1] == "0x41 8 0x3 0xd0c 1 asimd atomics fp"
    assert told[2] != told[0]


COMPILED = """
import sys
from pydotcompute import declare
from pydotcompute.targets.base import Clock, Job
from pydotcompute.targets.registry import get
root, absent, name = sys.argv[1:]
sys.modules[absent] = None  # as if it were not there
target = get(name)
kernel = declare.load(root).kernels["saxpy"]
specialisation = kernel.specialisations[0]
rendered = declare.render(kernel, specialisation, target.name, root)
try:
    target.compile(Job(kernel, specialisation, rendered, (name,), root + "/rendered"), Clock())
except ImportError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("backend", own_names())
def test_a_compiler_without_a_part_of_its_own_says_what_to_install(fresh, backend):
    """What is missing of others is to be installed; what is missing of ours is a fault of ours."""

    def said(absent):
        command = [sys.executable, "-c", COMPILED, str(fresh), absent, get(backend).default]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wanted = r"CompilerNotInstalledError: building needs llvmlite(\.\w+)?, which is not installed: pip install "
    assert re.match(wanted if "llvmlite" in get(backend).distributions else "$", said("llvmlite"))
    ours = said("pydotcompute.frontend.scope")
    assert ours.startswith("ModuleNotFoundError: ") and "pydotcompute.frontend.scope" in ours
