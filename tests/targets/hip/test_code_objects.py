"""What code objects say of themselves, as AMD's loaders read it, is what calls rely on."""

import json
import shutil
import struct

import numpy as np
import pytest
from tests.targets.built import build, compiled, loop
from tests.targets.references import PROJECT, named

from pydotcompute import declare
from pydotcompute.artifact.signature import DTYPES
from pydotcompute.cli import main
from pydotcompute.errors import CompilationError
from pydotcompute.targets.hip import code_object, toolchain

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(toolchain.missing()), reason=toolchain.missing())]

ARCHITECTURES = ("gfx90a", "gfx942", "gfx1100")
MACHINES = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx1100": 0x41}  # EF_AMDGPU_MACH of LLVM's user guide
SIZES = {"bool": 1, "float16": 4, "bfloat16": 4}  # of scalars: those that are computed in float32 are given as such
every_architecture = pytest.mark.parametrize("arch", ARCHITECTURES)


@every_architecture
def test_it_is_for_its_gpu(arch):
    made = loop(f"hip:{arch}", "(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i]")
    assert code_object.metadata(made.data)["amdhsa.target"] == f"amdgcn-amd-amdhsa--{arch}"
    assert struct.unpack_from("<I", made.data, 48)[0] & 0xFF == MACHINES[arch]
    assert made.data[7:9] == bytes((64, 3))  # ELFOSABI_AMDGPU_HSA, code object V5


@pytest.mark.parametrize("dtype", DTYPES)
def test_arguments_lie_where_c_has_them(dtype):
    """Scalars of a dtype between those of others, arrays with and without a stride, a dimension."""
    signature = f"(a: bool, x: strided {dtype}[n], s: {dtype}, b: int8, m: int64) -> (out: {dtype}[n])"
    made = loop("hip:gfx90a", signature, "for i in grid(n):\n    out[i] = s if a and m > 2 and b > 1 else x[i]")
    (kernel,) = code_object.kernels(made.data).values()
    at = 0
    parameters = {p.name: p.dtype for p in made.specialisation.parameters}
    assert len(kernel.arguments) == len(made.meta["arguments"])
    for (kind, name, *part), one in zip(made.meta["arguments"], kernel.arguments, strict=True):
        size = 8 if kind != "scalar" else SIZES.get(of := parameters[name]) or np.dtype(of).itemsize // (2 if part else 1)
        at = -(-at // size) * size
        assert (one.offset, one.size) == (at, size), (kind, name)
        assert one.kind == ("global_buffer" if kind == "data" else "by_value")
        at += size
    assert kernel.kernarg >= at


def test_blocks_have_the_threads_of_their_launches():
    text = """
    signature: "(x: float32[n, k]) -> (out: float32[n], total: float32)"
    launch: {block: 512}
    body: |
      for r in blocks(n):
          out[r] = sum(x[r, c] for c in threads(k))
      s = float32(0)
      for i in grid(n):
          s += x[i, 0]
      total[()] = s
    """
    made = build("hip:gfx1100", text)
    found = code_object.kernels(made.data)
    assert {one["entry"] for one in made.meta["launches"]} == found.keys() and len(found) > 1
    for one in made.meta["launches"]:
        kernel = found[one["entry"]]
        assert one["block"] <= kernel.most_threads
        assert kernel.block == ((one["block"], 1, 1) if one.get("fixed") else ())
        assert kernel.lanes == 32
        assert made.meta["resources"][one["entry"]]["shared"] == kernel.shared
    assert max(kernel.shared for kernel in found.values()) == made.meta["shared"] > 0


ATOMICS = """
for b in blocks(n):
    t = shared((8,), {0})
    for c in threads(8):
        t[c] = x[c]
    for c in threads(k):
        atomic_add(t, c % 8, x[c])
        atomic_min(total, c % 8, x[c])
        atomic_max(most, c % 8, x[c])
    for c in threads(8):
        atomic_add(count, c, t[c])
"""


@every_architecture
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool" and "complex" not in d])
def test_atomics_of_every_dtype_are_assembled(arch, dtype):
    signature = f"(x: {dtype}[k], n: int64) -> (total: {dtype}[8] = 0, most: {dtype}[8] = 0, count: {dtype}[8] = 0)"
    made = loop(f"hip:{arch}", signature, ATOMICS.format(dtype), "requires: [\"k >= 8\"]")
    assert code_object.kernels(made.data)


CROWDED = "\n".join([
    "for i in grid(n):", *(f"    v{k} = x[i, {k}]" for k in range(66)),
    *(f"    out[i, {k}] = v{(k * 7 + 3) % 66} / v{k}" for k in range(66)),
])  # fmt: skip


def test_what_a_thread_may_take():
    def crowded(limits):
        signature = "(x: float64[n, 66]) -> (out: float64[n, 66])"
        return loop("hip:gfx90a", signature, CROWDED, f"launch: {{block: 1024{limits}}}")

    made = crowded("")
    used = made.meta["resources"]["k"]
    spilled = 4 * used["vector_spills"]
    assert spilled and used["private"] >= spilled and "k spills" in made.meta["note"]
    assert "note" not in crowded(f", registers: {used['vector_registers']}, spills: {spilled}").meta
    with pytest.raises(CompilationError, match=r"k - for gfx90a: k needs \d+ registers a thread, and launch.registers allows 2"):
        loop("hip:gfx90a", "() -> (out: float32[9])", "for i in grid(9):\n    out[i] = i", "launch: {block: 64, registers: 2}")
    with pytest.raises(CompilationError, match=f"k needs {spilled} bytes of spills a thread, and launch.spills allows 0"):
        crowded(", spills: 0")


def test_what_is_no_code_object():
    with pytest.raises(CompilationError, match="is no code object for AMD's GPUs"):
        code_object.kernels(b"\x7fELF" + bytes(100))


@pytest.mark.parametrize("name, label", [("softmax", "T=float32"), ("hillshade", "T=float64")])
def test_the_same_bytes_in_every_folder(name, label, tmp_path, monkeypatch):
    kernel, specialisation = named(name, label)
    rendered = declare.render(kernel, specialisation, "hip", PROJECT)
    first = compiled("hip:gfx942", kernel, specialisation, rendered)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    second = compiled("hip:gfx942", kernel, specialisation, rendered)
    assert first.data == second.data and first.meta == second.meta
    assert b"/tmp" not in first.data and str(tmp_path).encode() not in second.data


KERNELS = """\
version: 1
targets: ["hip:gfx1100"]
kernels:
  poly:
    signature: "(x: T[n]) -> (out: T[n])"
    types: {T: [float32]}
    body: |
      for i in grid(n):
          out[i] = 3 * x[i] * x[i] + 1
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("hip")
    (root / "kernels.yaml").write_text(KERNELS)
    assert main(["build", "-q", "-C", str(root)]) == 0
    return str(root)


def test_instructions_have_the_lines_of_their_source(project, capsys):
    assert main(["show", "poly", "-C", project, "--asm", "--json"]) == 0
    (stage,) = json.loads(capsys.readouterr().out)["stages"]
    assert stage["stage"] == "asm"
    for instruction in ("v_fma", "global_store_b32", "global_load_b32"):
        assert {x["line"] for x in stage["lines"] if instruction in x["text"]} == {9}, instruction
    assert main(["show", "poly", "-C", project, "--text"]) == 0
    assert "kernel void poly(" in capsys.readouterr().out


def test_what_its_loop_costs(project, capsys):
    assert main(["show", "poly", "-C", project, "--cost", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    text = json.dumps(told)
    assert '"loads": 4' in text and '"stores": 4' in text and '"fma": 1' in text


def test_it_is_built_and_cannot_be_checked_here(project, capsys):
    assert main(["build", "--check", "-C", project]) == 0
    capsys.readouterr()
    main(["check", "-C", project])
    said = "".join(capsys.readouterr())
    assert "hip:gfx1100" in said and "rocm" in said


def test_an_architecture_that_nobody_knows(project, capsys, tmp_path):
    shutil.copy(f"{project}/kernels.yaml", tmp_path)
    assert main(["build", "-C", str(tmp_path), "-t", "hip:gfx9ff"]) == 1
    assert "the clang of ziglang makes no code for gfx9ff; it knows gfx1010" in capsys.readouterr().err
    assert main(["build", "-C", str(tmp_path), "-t", "hip:sm_90"]) == 2
    assert "a HIP target is hip:gfxNNN" in capsys.readouterr().err
