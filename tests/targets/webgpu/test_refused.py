"""What a kernel for WebGPU cannot have is refused by name when it is built, or called."""

import numpy as np
import pytest
from tests.targets.built import declaration, declared, loop, marked

from pydotcompute.artifact.launch import MOST_INDEX
from pydotcompute.cli import main
from pydotcompute.errors import DeclarationError
from pydotcompute.targets import registry
from pydotcompute.targets.base import Clock, Job

TARGET = registry.get("webgpu")
here = pytest.mark.parametrize("target", [marked("webgpu")])


def written(folder, entry):
    (folder / "kernels.yaml").write_text(f"version: 1\ntargets: [webgpu]\nkernels:\n  k:\n{entry}")
    return str(folder)


@pytest.mark.parametrize("dtype, told", [
    ("float64", "float64 cannot be had on any of the targets: webgpu"),
    ("complex128", "complex128 cannot be had on any of the targets: webgpu"),
    ("int64", "arrays of int64 cannot be had on any of the targets: webgpu"),
    ("uint64", "arrays of uint64 cannot be had on any of the targets: webgpu"),
])  # fmt: skip
def test_arrays_of_64_bits(tmp_path, capsys, dtype, told):
    project = written(tmp_path, f'    signature: "(x: {dtype}[n]) -> (out: {dtype}[n])"\n    body: |\n      for i in grid(n):\n          out[i] = x[i]\n')
    assert main(["build", "-C", project]) == 1
    assert told in capsys.readouterr().err


def test_fastmath_that_forbids_to_contract(tmp_path, capsys):
    entry = '    signature: "(x: float32[n]) -> (out: float32[n])"\n    fastmath: []\n    body: |\n      for i in grid(n):\n          out[i] = x[i]\n'
    assert main(["build", "-C", written(tmp_path, entry)]) == 1
    said = capsys.readouterr().err
    assert "kernels.yaml:4:3: k: fastmath without contract" in said and "declare targets without webgpu" in said


def test_of_several_dtypes_those_are_built_that_there_are():
    text = 'signature: "(x: T[n]) -> (out: T[n])"\ntypes: {T: [float32, float64, int64]}\nbody: |\n  for i in grid(n):\n      out[i] = x[i]\n'
    refused = [TARGET.refusal(*declared("webgpu", text, choice=k)) for k in range(3)]
    assert refused == ["", "float64 cannot be had on 'webgpu'", "arrays of int64 cannot be had on 'webgpu'"]


@pytest.mark.parametrize("signature, body, told", [
    ("(x: float32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = float32(float64(x[i]) * 2)", "computes in float64"),
    ("(x: int32[n]) -> (out: float32[n])", "for i in grid(n):\n    out[i] = x[i] / 2", "computes in float64"),
    ("(n: int64) -> (out: int64 = 0)", "for i in grid(n):\n    atomic_add(out, i)", "atomic updates of int64"),
    ("(z: complex64[n]) -> (out: complex64[n])", "for i in grid(n):\n    scatter(out, i % 7, z[i])", "scatter of complex64"),
])  # fmt: skip
def test_what_computes_in_more_than_there_is(signature, body, told, tmp_path):
    kernel, specialisation, rendered = declared("webgpu", declaration(signature, body))
    with pytest.raises(DeclarationError, match=told):
        TARGET.compile(Job(kernel, specialisation, rendered, ("webgpu",), str(tmp_path)), Clock())


@here
def test_more_iterations_than_32_bits_count(target):
    counted = loop(target, "(n: int64) -> (out: int64)", "s = 0\nfor i in grid(n):\n    s += 1\nout[()] = s")
    assert counted.call(5) == 5 and counted.call(-3) == 0
    with pytest.raises(ValueError, match=f"n is {MOST_INDEX + 1}, and on WebGPU, which counts in 32 bits, at most {MOST_INDEX}"):
        counted.call(MOST_INDEX + 1)
    nested = loop(target, "(n: int64, m: int64) -> (out: int64)", "s = 0\nfor i, j in grid(n, m):\n    s += 1\nout[()] = s")
    assert nested.call(70, 9) == 630
    with pytest.raises(ValueError, match=r"n \* m is 10000000000"):
        nested.call(100_000, 100_000)


@here
def test_a_count_that_only_the_kernel_knows_is_told_as_a_fault(target):
    body = """
        for b in blocks(n):
            for t in threads(int64(k[b]) * 70000):
                out[b] = x[k[b]]
    """
    kernel = loop(target, "(x: float32[m], k: int32[n]) -> (out: float32[n] = 0)", body)
    x = np.arange(9, dtype="f4")
    assert (kernel.call(x, np.array([3, 0], "i4")) == [3, 0]).all()
    with pytest.raises(IndexError, match="a loop that goes round 2,800,000,000 times, and this device counts to"):
        kernel.call(x, np.array([3, 40000], "i4"))


def test_shared_arrays_take_four_bytes_an_element():
    body = "for b in blocks(1):\n    w = shared((9000,), int8)\n    for i in threads(9000):\n        w[i] = x[i]\n"
    body += "    for i in threads(9000):\n        y[i] = w[8999 - i]\n"
    built = loop("webgpu", "(x: int8[9000]) -> (y: int8[9000])", body)
    assert built.meta["shared"] >= 36000
