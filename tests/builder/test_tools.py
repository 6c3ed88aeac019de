"""Versions without imports: what is found agrees with what the tools say of themselves."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

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


def test_the_code_of_a_backend_is_all_that_a_compilation_imports_of_lower_and_compile():
    program = (
        "import sys, pydotcompute.lower.frontend, pydotcompute.lower.races, pydotcompute.lower.cpu,"
        "pydotcompute.compile.cpu, pydotcompute.compile.entry, pydotcompute.compile.namespace\n"
        "print(*[m.__file__ for n, m in sys.modules.items()"
        "        if n.startswith(('pydotcompute.lower', 'pydotcompute.compile'))], sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {os.path.relpath(path, PACKAGE) for path in done.stdout.split()}
    assert len(imported) > 20 and imported <= set(code_files("cpu"))
    assert PACKAGE == os.path.dirname(pydotcompute.__file__)


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
    for name in ("lower/cpu.py", "lower/cuda.py", "lower/tree.py", "lower/interpret.py", "cli/build.py"):
        with open(copy / name, "a") as file:
            file.write("# more\n")
        second = digests()
        changed[name] = {backend for backend in first if first[backend] != second[backend]}
        first = second
    code_digest.cache_clear()
    assert changed == {
        "lower/cpu.py": {"cpu"}, "lower/cuda.py": {"cuda"}, "lower/tree.py": {"cpu", "cuda"},
        "lower/interpret.py": set(), "cli/build.py": set(),
    }  # fmt: skip


def test_the_processor_is_described_by_its_features():
    words = processor().split()
    assert "?" not in words and "sse2" in words
