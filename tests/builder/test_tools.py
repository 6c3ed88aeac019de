"""Versions without imports: what is found agrees with what the tools say of themselves."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import pydotcompute
from pydotcompute.builder.tools import (
    NOT_INSTALLED, PACKAGE, TOOLS, code_digest, code_files, package_version, processor, versions,
)  # fmt: skip


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
    expected = {tool: metadata_version(names) for tool, names in TOOLS["cuda"].items()}
    assert {tool: found[tool] for tool in expected} == expected


def test_what_is_not_installed_is_a_value_too(monkeypatch):
    assert package_version("no_such_distribution") == NOT_INSTALLED
    monkeypatch.setattr("pydotcompute.builder.tools.installed", dict)
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
import os, sys
from pydotcompute import declare
from pydotcompute.builder.compilers import compile_job
from pydotcompute.builder.jobs import Job
root, *targets = sys.argv[1:]
backend = targets[0].partition(":")[0]
for kernel in declare.load(root).kernels.values():
    for specialisation in kernel.specialisations:
        rendered = declare.render(kernel, specialisation, backend, root)
        for target in targets:
            answer = compile_job(Job(kernel, specialisation, rendered, (target,), root + "/rendered"))
            assert not answer.failures, answer.failures
print(*[m.__file__ for n, m in list(sys.modules.items()) if n.partition(".")[0] == "pydotcompute"], sep="\\n")
"""


@pytest.mark.parametrize(
    "backend, targets", [("cpu", ["cpu:x86-64-v2", "cpu:x86-64-v3+bounds"]), ("cuda", ["cuda:compute_80", "cuda:sm_75"])]
)
def test_the_code_of_a_backend_is_all_that_its_jobs_import(fresh, backend, targets):
    """But for what runs the jobs, and words for the user."""
    with open(fresh / "kernels.yaml", "a") as file:
        file.write(KERNELS + (RAW if backend == "cuda" else ""))
    command = [sys.executable, "-c", IMPORTED, str(fresh), *targets]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported = {os.path.relpath(path, PACKAGE) for path in done.stdout.split()}
    rest = imported - set(code_files(backend))
    assert len(imported) > 60
    assert {path for path in rest if not path.startswith(("builder/", "cache/"))} <= {
        "__init__.py", "errors.py", "runtime/__init__.py"
    }  # fmt: skip
    assert PACKAGE == os.path.dirname(pydotcompute.__file__)


def test_a_folder_that_is_new_counts_for_every_backend_and_a_targets_own_for_that_one(monkeypatch, tmp_path):
    for path in ("ir/tree.py", "targets/cuda/emit.py", "targets/cpu/emit.py", "targets/llvm/emit.py", "cli/x.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    monkeypatch.setattr("pydotcompute.builder.tools.PACKAGE", str(tmp_path))
    assert code_files("cpu") == ["ir/tree.py", "targets/cpu/emit.py", "targets/llvm/emit.py"]
    assert code_files("cuda") == ["ir/tree.py", "targets/cuda/emit.py", "targets/llvm/emit.py"]


def test_a_digest_changes_with_the_files_of_its_backend_alone(monkeypatch, tmp_path):
    import shutil

    copy = tmp_path / "pydotcompute"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr("pydotcompute.builder.tools.PACKAGE", str(copy))

    def digests():
        code_digest.cache_clear()
        return {backend: code_digest(backend) for backend in ("cpu", "cuda")}

    first = digests()
    changed = {}
    for name in (
        "targets/cpu/lowering.py", "targets/cuda/lowering.py", "ir/tree.py", "interpreter/execute.py", "cli/build.py", "declare/signatures.py",
        "declare/fills.py", "builder/cuda_job.py", "builder/compilers.py", "builder/report.py", "abi.py",
    ):  # fmt: skip
        with open(copy / name, "a") as file:
            file.write("# more\n")
        second = digests()
        changed[name] = {backend for backend in first if first[backend] != second[backend]}
        first = second
    code_digest.cache_clear()
    assert changed == {
        "targets/cpu/lowering.py": {"cpu"}, "targets/cuda/lowering.py": {"cuda"}, "ir/tree.py": {"cpu", "cuda"},
        "interpreter/execute.py": set(), "cli/build.py": set(), "declare/signatures.py": {"cpu", "cuda"},
        "declare/fills.py": {"cpu", "cuda"}, "builder/cuda_job.py": {"cuda"}, "builder/compilers.py": {"cpu", "cuda"},
        "builder/report.py": set(), "abi.py": {"cpu", "cuda"},
    }  # fmt: skip


def test_the_processor_is_described_by_its_features():
    words = processor().split()
    assert "?" not in words and "sse2" in words
