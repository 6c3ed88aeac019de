"""What is in a shared object: the same bytes each time, two exports, no needs but libc's; and errors that say where."""

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.targets.cpu.compiled import agree, compiled, kernel, load, tree_of

from pydotcompute.targets.cpu import compiler as cpu, link
from pydotcompute.targets.cpu.undefined import undefined_symbols
from pydotcompute.targets.cpu.lowering import lower
from pydotcompute.errors import CompilationError
from pydotcompute.ir.tree import Call, Parallel, Store

ROOT = str(Path(__file__).parents[3])
SCRIPT = """
import hashlib, os, sys
sys.path.insert(0, {root!r})
os.chdir(sys.argv[1])
from tests.targets.cpu.compiled import compiled, tree_of
rows = "for r in blocks(rows):\\n    out[r] = sum(exp(x[r, c]) for c in threads(n))"
targets = ["cpu:x86-64-v2", "cpu:x86-64-v4"]
trees = [
    tree_of(rows, "(x: T[..., n]) -> (out: T[...])"),
    tree_of("for i in grid(size):\\n    out[i] = x[i] * 2 + 1"),
]
for tree in trees if sys.argv[2] == "forward" else trees[::-1]:
    for target, code in sorted(compiled(tree, *targets, file=sys.argv[1] + "/f.py").items()):
        print(len(tree.body[0].body), target, hashlib.sha256(code).hexdigest())
"""


def test_the_same_bytes_in_any_process_folder_and_order(tmp_path):
    running = []
    for folder, order in (("here", "forward"), ("there", "backward")):
        (tmp_path / folder).mkdir()
        command = [sys.executable, "-c", SCRIPT.format(root=ROOT), str(tmp_path / folder), order]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    said = {tuple(sorted(process.communicate()[0].splitlines())) for process in running}
    assert len(said) == 1 and len(said.pop()) == 4


def test_numba_itself_works_afterwards():
    """What the front end sets up is its own: a function with reference counts compiles and runs in the same process."""
    code = f"""
import sys
sys.path.insert(0, {ROOT!r})
from tests.targets.cpu.compiled import compiled, tree_of
compiled(tree_of("for i in grid(size):\\n    out[i] = x[i]"), "cpu:x86-64-v2")
import numba
@numba.njit
def f(n):
    return [float(i) for i in range(n)]
assert f(3) == [0.0, 1.0, 2.0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def code():
    tree = tree_of("for i in grid(size):\n    out[i] = exp(x[i])")
    targets = ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:native")
    return compiled(tree, *targets, file="/somewhere/f.py")


def test_no_paths_names_or_needs(code):
    for target, object_ in code.items():
        assert set(undefined_symbols(object_)) <= {
            "pthread_create", "pthread_join", "pthread_self", "pthread_attr_init", "pthread_attr_setstacksize",
            "pthread_attr_destroy", "pthread_attr_setdetachstate", "clock_gettime", "getpid", "syscall", "memset", "memcpy",
            "malloc", "free",
        }, target  # fmt: skip
        for word in (b"somewhere", b"numba", b"compute", b"/tmp", b"exp"):
            assert word not in object_, (target, word)
    assert b"\x62" in code["cpu:x86-64-v4"]  # EVEX
    library = load(code["cpu:x86-64-v3"])
    assert library.run and library.threads


def test_an_unknown_target_is_refused():
    tree = tree_of("for i in grid(size):\n    out[i] = x[i]")
    with pytest.raises(CompilationError, match="no CPU target 'cpu:x86-64-v9': there are cpu:x86-64, "):
        compiled(tree, "cpu:x86-64-v9")


def test_a_refusal_of_the_compiler_names_the_users_line():
    tree = tree_of("for i in grid(size):\n    t = x[i]\n    out[i] = exp(t)")
    main = tree.main
    store = main.body[1]
    wrong = replace(store, value=Call("nonesuch", store.value.arguments, "float32", at=store.value.at))
    broken = replace(tree, body=(replace(main, body=(main.body[0], wrong)),))
    assert isinstance(main, Parallel) and isinstance(store, Store)
    with pytest.raises(CompilationError, match=r"kernels\.yaml:9:11: Numba refused `out\[i\] = exp\(t\)`") as caught:
        compiled(broken, "cpu:x86-64-v3")
    assert "nonesuch_float32" in str(caught.value)


def test_a_linker_of_ones_own():
    tree = tree_of("for i in grid(size):\n    out[i] = x[i]")
    text = cpu.kernel_ir(lower(tree), "f.py")
    named = "f for cpu:x86-64-v2: the linker {}: `{}`, as the setting 'linker' says (PYDOTCOMPUTE_LINKER, or pyproject.toml)\n"
    for linker, told in (
        (" ".join(link.command()), ""), ("false", f"{named.format('failed', 'false')}it says nothing, and returns 1"),
        ("nope --fast", f"{named.format('cannot be run (No such file or directory)', 'nope --fast')}set it to a command"),
    ):  # fmt: skip
        ((_, made),) = cpu.objects("f", text, ["cpu:x86-64-v2"], linker=linker)
        if told:
            assert isinstance(made, CompilationError) and str(made).startswith(told)
        else:
            assert load(made).run


def test_code_that_needs_a_library_is_refused():
    text = textwrap.dedent("""
        declare double @sin(double)
        define i32 @run(ptr %words) {
          %x = load double, ptr %words
          %y = call double @sin(double %x)
          store double %y, ptr %words
          ret i32 0
        }
    """)
    with pytest.raises(CompilationError, match="f for cpu:x86-64-v3: the code needs sin, which no artifact may"):
        cpu.emit_object(text, "cpu:x86-64-v3", "f")


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_code_that_llvm_breaks_is_made_without_vectors_of_straight_code(monkeypatch, failures):
    """Which LLVM sometimes uses before it makes them. Its verifier says so; what emits the code would abort."""
    verify, seen = llvm.ModuleRef.verify, []

    def broken(module):
        seen.append(str(module))
        if len(seen) in (2, 4)[:failures]:  # after the passes, of the first and the second time
            raise RuntimeError("Instruction does not dominate all uses!")
        verify(module)

    body = [f"a{k} = x[{k}] * 3" for k in range(8)] + [f"out[{k}] = a{k}" for k in range(8)]
    tree = tree_of("\n".join(body), "(x: T[8]) -> (out: T[8])")
    monkeypatch.setattr(llvm.ModuleRef, "verify", broken)
    text = cpu.kernel_ir(lower(tree), "f.py")
    if failures == 2:
        with pytest.raises(CompilationError, match="f for cpu:x86-64-v3: LLVM refused the code\nInstruction does not"):
            cpu.emit_object(text, "cpu:x86-64-v3", "f")
        return
    assert cpu.emit_object(text, "cpu:x86-64-v3", "f")
    assert ["fmul <8 x float>" in module for module in seen] == [False, True, False, False][: 2 + 2 * failures]


@pytest.mark.parametrize("flags", ["contract", "", "nnan, ninf, nsz", "fast", "reassoc, arcp, afn, contract"])
def test_fastmath_flags(flags):
    k = kernel("for i in grid(size):\n    out[i] = x[i] * 2 + sqrt(x[i]) / 3", extra=f"fastmath: [{flags}]")
    x = np.random.default_rng(0).random(99).astype("f4")
    agree(k, {"size": 99}, 1, 1e-6, x=x, out=np.zeros(99, "f4"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("level", ["v2", "v3"])
def test_fma_rounds_once_at_every_level(dtype, level):
    k = kernel(
        "for i in grid(n):\n    out[i] = fma(x[i], y[i], z[i])",
        f"(x: {dtype}[n], y: {dtype}[n], z: {dtype}[n]) -> (out: {dtype}[n])",
        types="",
        target=f"cpu:x86-64-{level}",
    )
    rng = np.random.default_rng(0)
    bits = np.uint32 if dtype == "float32" else np.uint64
    x, y, z = (rng.integers(0, np.iinfo(bits).max, 3000, bits, endpoint=True).view(dtype) for _ in range(3))
    a, b = (rng.normal(size=3000).astype(dtype) for _ in range(2))
    near = (-(a.astype("g") * b)).astype(dtype)  # the sum cancels all but the last bits
    tiny = np.finfo(dtype).tiny
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny / 2, np.finfo(dtype).max, 1.0], dtype)
    sx, sy, sz = (v.reshape(-1) for v in np.meshgrid(special, special, special))
    x, y, z = (
        np.concatenate([x, a, sx, a * tiny]),
        np.concatenate([y, b, sy, b]),
        np.concatenate([z, near, sz, near * tiny]),
    )
    agree(k, {"n": len(x)}, 1, None, x=x, y=y, z=z, out=np.zeros_like(x))
