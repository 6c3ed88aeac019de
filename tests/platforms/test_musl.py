"""Objects for Linux under musl: they name nothing of a C library that glibc alone has, and run there with threads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pydotcompute.targets.cpu.compiler import kernel_ir, objects
from pydotcompute.targets.cpu.entry import entry_ir
from pydotcompute.targets.cpu.lowering import lower
from tests.targets.cpu.compiled import tree_of

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
MUSL = Path("/usr/lib/x86_64-linux-musl")


@pytest.fixture(scope="module")
def made():
    tree = tree_of(
        "for i in grid(n):\n    s = x[i]\n    for k in range(50):\n        s = sin(s) + tanh(x[i])\n    out[i] = s",
        "(x: float64[n]) -> (out: float64[n])", types="",
    )
    entries = {"linux": entry_ir(tree.parameters, tree.symbols)}
    return dict(objects("f", kernel_ir(lower(tree), "f.py"), ["cpu:x86-64-v3", "cpu:aarch64"], entries))


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu:aarch64"])
def test_no_library_and_no_version_is_named(made, target):
    import lief

    elf = lief.ELF.parse(list(made[target]))
    assert not list(elf.libraries) and not list(elf.symbols_version_requirement)
    assert {s.name for s in elf.imported_symbols} <= {
        "pthread_create", "pthread_join", "pthread_self", "pthread_attr_init", "pthread_attr_setstacksize",
        "pthread_attr_destroy", "pthread_attr_setdetachstate", "clock_gettime", "getpid", "syscall", "memcpy", "memset",
        "malloc", "free",
    }  # fmt: skip


@pytest.mark.skipif(not (MUSL / "Scrt1.o").exists(), reason="needs musl-dev")
def test_it_runs_there(made, tmp_path):
    (tmp_path / "kernel.so").write_bytes(made["cpu:x86-64-v3"])
    zig = [sys.executable, "-m", "ziglang"]
    compiled = [*zig, "cc", "-target", "x86_64-linux-musl", "-D_GNU_SOURCE", "-fPIC", "-fno-sanitize=all", "-c"]
    subprocess.run([*compiled, HERE / "musl_caller.c", "-o", "caller.o"], cwd=tmp_path, check=True)
    linked = [*zig, "ld.lld", "-pie", "--export-dynamic", "-dynamic-linker", "/lib/ld-musl-x86_64.so.1"]
    objects = [MUSL / "Scrt1.o", MUSL / "crti.o", "caller.o", MUSL / "libc.so", MUSL / "crtn.o"]
    subprocess.run([*linked, *objects, "-o", "caller"], cwd=tmp_path, check=True)
    done = subprocess.run(["./caller", "./kernel.so"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split() == [b"0", b"3"]  # status, threads made
    x = np.arange(200_000) / 1000.0
    s = x
    for _ in range(50):
        s = np.sin(s) + np.tanh(x)
    np.testing.assert_allclose(np.frombuffer(done.stdout), s, 1e-9)
