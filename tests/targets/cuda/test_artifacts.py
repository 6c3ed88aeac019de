"""PTX and cubins as artifacts: what they say, for which architectures, the same bytes everywhere; what is refused."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.targets.cuda.cuda_support import ROOT
from tests.targets.cuda.cuda_support import build, loop

from pydotcompute.targets.cuda import (
    compiler as cuda, nvvm as cuda_nvvm, ptxas as cuda_ptxas, toolchain as cuda_toolchain,
)  # fmt: skip
from pydotcompute.targets.cuda.entry_point import EntryPoint
from pydotcompute.errors import CompilationError, CompilerNotInstalledError, DeclarationError
from pydotcompute.targets.cuda.lowering import lower
from pydotcompute.artifact.remedies import install

SAXPY = """
    from numba import cuda

    @cuda.jit(device=True)
    def axpy(a, x, y):
        return a * x + y

    def saxpy(n, a, x, y):
        i = cuda.grid(1)
        if i < n:
            y[i] = axpy(a, x[i], y[i])
"""


def compiled(arch):
    """SAXPY as PTX."""
    return cuda_nvvm.compile_raw(textwrap.dedent(SAXPY), "/some/where/saxpy.py", ENTRY, arch)


ENTRY = EntryPoint("saxpy", ("int64", "float32", "float32*", "float32*"), (False, False, True, False), 128)


def test_a_python_function_becomes_canonical_ptx():
    ptx = compiled("80")
    assert ptx.startswith(".version 8.8\n.target sm_80\n")
    assert re.findall(r"\.visible \.entry (\w+)\(", ptx) == ["saxpy"]
    assert re.findall(r"\.param (\.\w+)", ptx) == [".u64", ".f32", ".u64", ".u64"]
    for unwanted in ("NumbaEnv", "/some/where", ROOT, "Build ID", "extern"):
        assert unwanted not in ptx
    assert ".maxntid 128" in ptx


def test_the_ptx_version_is_the_lowest_that_code_and_target_allow():
    floors = {"50": "4.0", "75": "6.3", "80": "7.0", "90": "7.8", "100": "8.6", "120": "8.7"}
    for arch, floor in floors.items():
        ptx = compiled(arch)
        lowered, version, resources = cuda_ptxas.lowered(ptx, arch)
        assert version == floor and lowered.startswith(f".version {floor}\n") and resources["saxpy"].registers > 4
        # One step lower is not accepted.
        lower = cuda_ptxas.VERSIONS[cuda_ptxas.VERSIONS.index(floor) - 1]
        with pytest.raises(CompilationError):
            cuda_ptxas.assemble(cuda_ptxas.with_version(lowered, lower), arch) if floor != "4.0" else _raise()
    # Code that needs more than its target does: an instruction of PTX 7.1.
    newer = ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    newer += "\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n"
    newer += "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, 1;\n\tmbarrier.init.shared.b64 [%rd1], %r1;\n\tret;\n}\n"
    assert cuda_ptxas.lowered(newer, "80")[1] == "7.0"
    newest = newer.replace("mbarrier.init.shared.b64 [%rd1], %r1", "stackrestore.u64 %rd1")
    assert cuda_ptxas.lowered(newest, "80")[1] == "7.3"


def _raise():
    raise CompilationError("there is nothing lower")


def test_resources_are_read_from_ptxas():
    built = loop(
        "(x: float32[m, n]) -> (out: float32[m])",
        "for r in blocks(m):\n    t = shared((100,), float64)\n    for c in threads(100):\n        t[c] = x[r, c]\n"
        "    out[r] = sum(t[99 - c] for c in threads(100))",
    )
    used = built.meta["resources"]["k"]
    assert used["shared"] >= 800 and 8 <= used["registers"] <= 64 and used["spill_stores"] == 0
    text = """
        ptxas info    : Compiling entry function 'k' for 'sm_90'
        ptxas info    : Function properties for k
            72 bytes stack frame, 96 bytes spill stores, 108 bytes spill loads
        ptxas info    : Used 24 registers, used 1 barriers, 1040 bytes smem, 376 bytes cmem[0]
    """
    assert cuda_ptxas.report(text) == {"k": cuda_ptxas.Resources(24, 1040, 72, 96, 108)}


CROWDED = "for i in grid(n):\n" + "\n".join(f"    v{k} = x[i + {k}]" for k in range(40)) + "\n" + "\n".join(
    f"    out[i, {k}] = " + " + ".join(f"v{j} * v{(j + k) % 40}" for j in range(40)) for k in range(2)
)  # fmt: skip


def test_a_budget_that_is_broken_fails_the_build():
    signature = "(x: float32[m], n: int64) -> (out: float32[n, 2])"
    with pytest.raises(
        CompilationError, match=r"k for sm_80: k needs \d+ registers a thread, and launch.registers allows 16"
    ):
        loop(signature, CROWDED, "launch: {block: 256, registers: 16}")
    assert loop(signature, CROWDED, "launch: {block: 256, registers: 255, spills: 0}")


def test_architectures_are_the_toolchains():
    known = cuda_toolchain.architectures()
    assert {"75", "80", "86", "89", "90", "90a", "100", "120"} <= set(known)
    assert cuda_toolchain.parse_target("cuda:sm_90a") == ("sm", "90a")
    for target in ("cuda:sm_35", "cuda:compute_110", "cuda:sm_81"):
        with pytest.raises(DeclarationError, match=f"`{target}`: the installed CUDA toolchain .* does not know"):
            cuda_toolchain.parse_target(target)
    with pytest.raises(DeclarationError, match="is not a CUDA target"):
        cuda_toolchain.parse_target("cuda:turing")


def test_what_was_made_for_another_architecture_is_refused():
    ptx = compiled("80")
    with pytest.raises(CompilationError, match="made code for sm_80 where sm_90 was asked for"):
        cuda_nvvm.canonical(ptx, "90")


PROGRAM = """
    import hashlib, sys
    sys.path.insert(0, sys.argv[1])
    from tests.targets.built import loop
    body = "for r in blocks(m):\\n    s = sum(x[r, c] for c in threads(n))\\n"
    body += "    for c in threads(n):\\n        out[r, c] = exp(x[r, c]) / s"
    for target in ("cuda:compute_80", "cuda:sm_75", "cuda:sm_90"):
        made = loop(target, "(x: T[m, n]) -> (out: T[m, n])", body, "types: {T: [float64]}")
        print(hashlib.sha256(made.data).hexdigest())
"""


def test_the_same_bytes_in_every_process_and_folder(tmp_path):
    found = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = [
            sys.executable,
            "-c",
            textwrap.dedent(PROGRAM),
            ROOT,
        ]
        environment = os.environ | {"PYTHONHASHSEED": str(number), "TMPDIR": str(folder)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    assert found[0] == found[1] and len(set(found[0])) == 3


BLOCKED = """
    import importlib.abc, sys

    class Blocked(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name.partition(".")[0] in ("numba_cuda", "nvidia", "cuda"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Blocked())
    from pydotcompute.targets.cuda import toolchain as cuda_toolchain
    from pydotcompute.errors import CompilerNotInstalledError
    print(*cuda_toolchain.missing())
    try:
        cuda_toolchain.require()
    except CompilerNotInstalledError as error:
        print(error)
"""


def test_missing_wheels_are_named_with_the_extra_that_brings_them():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(BLOCKED)], capture_output=True, text=True, cwd=ROOT)
    first, second = done.stdout.splitlines()
    assert first == "numba-cuda cuda-bindings nvidia-cuda-nvcc"
    assert second.startswith(
        "CUDA targets need numba-cuda, cuda-bindings, nvidia-cuda-nvcc, which are not installed here;"
    )
    assert install("build-cuda") in second


def test_a_numpy_that_the_compiler_does_not_work_with_is_named(monkeypatch):
    monkeypatch.setattr(np, "__version__", "2.5.0")
    with pytest.raises(CompilerNotInstalledError, match=r"CUDA targets need NumPy below 2\.5, .*; NumPy 2\.5\.0 is ins"):
        cuda_toolchain.require()


@pytest.mark.parametrize("wheel", ["nvidia.nvjitlink", "nvidia.cu13"])
def test_the_linker_comes_with_the_wheel_of_either_toolkit(wheel, monkeypatch):
    monkeypatch.setattr(cuda_toolchain, "_installed", {wheel}.__contains__)
    assert cuda_toolchain.has_linker()
    monkeypatch.setattr(cuda_toolchain, "_installed", {"nvidia"}.__contains__)
    assert not cuda_toolchain.has_linker()


def test_a_refusal_of_the_compiler_names_the_users_line(monkeypatch):
    built = loop("(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i] + 1")
    source = lower(built.tree)
    line = next(k for k, text in enumerate(source.text.splitlines(), 1) if "store(" in text)
    said = f'Failed in cuda mode pipeline\nFile "f.py", line {line}:'
    message = cuda.explained(said, source, "f.py", "k")
    assert re.match(
        r".*kernels\.yaml:8:\d+: the CUDA compiler refused `out\[i\] = x\[i\] \+ 1` \(lowered to `store", message
    )


def test_an_index_costs_no_more_than_it_must():
    """The loops of saxpy whose turns do four elements: nothing looks for negative indices."""
    built = build("""
        signature: "(a: T, x: T[n], y: T[n]) -> (out: T[n])"
        types: {T: [float32]}
        body: |
          for i in grid(n):
              out[i] = a * x[i] + y[i]
    """)
    loops = re.findall(r"\n\$L__BB0_(\d+):((?:(?!\n\$L).)*?\bbra\s+\$L__BB0_\1;)", built.ptx, re.S)
    bodies = [body for _, body in loops if body.count("st.global.f32") == 4 or "st.global.v4.f32" in body]
    assert len(bodies) == 2
    for body in bodies:
        assert len([line for line in body.splitlines() if line.strip()]) <= 24
        assert not re.search(r"selp|shr\.s64|setp\.lt\.s64 \t%p\d+, %rd\d+, 0", body)
