"""What a kernel for Metal cannot have is refused by name when it is built; what nothing here can run, when it is asked
for."""

import numpy as np
import pytest
from tests.targets.built import declaration, declared, loop

import pydotcompute
from pydotcompute.cli import main
from pydotcompute import discover_backends
from pydotcompute.errors import BackendNotAvailableError, DeclarationError
from pydotcompute.targets import registry
from pydotcompute.targets.base import Clock, Job

TARGET, NAME = registry.get("metal"), "metal:2.4"
GRID = "for i in grid(n):\n    "


def made(signature, body, *more):
    kernel, specialisation, rendered = declared(NAME, declaration(signature, body, *more))
    assert not TARGET.refusal(kernel, specialisation, rendered)
    return TARGET.compile(Job(kernel, specialisation, rendered, (NAME,), "/nowhere"), Clock())


MANY = [f"x{k}: float32[n]" for k in range(29)]
SUM = " + ".join(f"x{k}[i]" for k in range(29))


@pytest.mark.parametrize("signature, body, told", [
    ("(x: float32[n]) -> (out: float32[n])", f"{GRID}out[i] = float32(float64(x[i]) * 2)", "k computes in float64, which Metal does not have"),
    ("(x: int32[n]) -> (out: float32[n])", f"{GRID}out[i] = x[i] / 2", "computes in float64"),
    ("(n: int64) -> (out: int64 = 0)", f"{GRID}atomic_add(out, i)", "atomic updates of int64, which Metal does not have"),
    ("(n: uint64) -> (out: uint64 = 0)", f"{GRID}atomic_max(out, n)", "atomic updates of uint64"),
    (f"({', '.join(MANY)}, y: float32[n]) -> (out: float32[n])", f"{GRID}out[i] = y[i] + {SUM}", "k takes 32 buffers, and a kernel of Metal at most 31"),
    ("(x: float32[n], k: int32[n]) -> (out: float32[n])",  # 8 bytes of which are the votes after faults
     "for b in blocks(n):\n    s = shared((8192,), float32)\n    for t in threads(8192):\n        s[t] = x[k[b]]\n    out[b] = s[0]",
     "a block takes 32776 bytes of shared memory, and Metal has 32768"),
])  # fmt: skip
def test_what_there_is_not(signature, body, told, monkeypatch):
    monkeypatch.setattr(Job, "write", lambda *_: "")
    with pytest.raises(DeclarationError, match=told):
        made(signature, body)


def test_as_many_buffers_as_there_are(monkeypatch):
    """One of them has the scalars."""
    monkeypatch.setattr(Job, "write", lambda *_: "")
    answer = made(f"({', '.join(MANY)}) -> (out: float32[n])", f"{GRID}out[i] = {SUM}")
    assert "[[buffer(30)]]" in answer.artifacts[NAME].data.decode()


def test_dtypes():
    text = 'signature: "(x: T[n]) -> (out: T[n])"\ntypes: {T: [float16, bfloat16, complex64, uint64, bool, float64, complex128]}\n'
    text += "body: |\n  for i in grid(n):\n      out[i] = x[i]\n"
    refused = [TARGET.refusal(*declared(NAME, text, choice=k)) for k in range(7)]
    assert refused == [""] * 5 + ["float64 cannot be had on 'metal'", "complex128 cannot be had on 'metal'"]


def test_what_its_metadata_says():
    """Where a run half puts arguments; sums need a compiler that does not reassociate them."""
    body = "for r in blocks(n):\n    out[r] = sum(x[r, c] for c in threads(m)) * a"
    first, second = (loop(NAME, "(x: float32[n, m], a: float32, f: bool) -> (out: float32[n])", body) for _ in range(2))
    assert first.data == second.data and first.meta == second.meta
    assert first.meta["fast_math"] is False and first.meta["shared"] == 1024
    given = dict(zip(map(tuple, first.meta["arguments"]), first.meta["bindings"]["k"]))
    assert given["data", "x"] == 1 and given["data", "out"] == 2
    assert given["offset", "x"] == [0, 8] and given["scalar", "a"] == [8, 4] and given["scalar", "f"] == [12, 1]
    assert given["offset", "out"] == [16, 8] and given["symbol", "m"] == [32, 8] and first.meta["bytes"] == {"k": 40}
    assert b"#pragma METAL fp contract(off)" in first.data


def test_nothing_here_runs_it(tmp_path, capsys, monkeypatch):
    kernels = 'version: 1\ntargets: [metal:2.4]\nkernels:\n  twice:\n    signature: "(x: float32[n]) -> (out: float32[n])"\n'
    kernels += "    reference: 2 * x\n    body: |\n      for i in grid(n):\n          out[i] = 2 * x[i]\n"
    (tmp_path / "kernels.yaml").write_text(kernels)
    assert main(["build", "-C", str(tmp_path)]) == 0
    why = (
        "this version of pydotcompute has no Metal backend; it waits for a machine to be tried on: artifacts for metal:2.4 "
        "can be built, nothing here runs them; one may be brought by a package or by register_backend('metal', …)"
    )
    assert {info.name: info.error for info in discover_backends()}["metal"] == why
    with pytest.raises(BackendNotAvailableError) as caught:
        pydotcompute.load(tmp_path, target=NAME)
    assert str(caught.value) == f"target='metal:2.4': {why}"
    with pytest.raises(BackendNotAvailableError) as caught:
        pydotcompute.load(tmp_path).twice(np.ones(3, "f4"), backend="metal")
    assert str(caught.value) == why
    capsys.readouterr()
    assert main(["check", "-C", str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"not run  twice - metal:2.4: {why}\n"
    monkeypatch.setenv("PYDOTCOMPUTE_TARGET", NAME)
    assert main(["check", "-C", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"pydotcompute: PYDOTCOMPUTE_TARGET='metal:2.4': {why}\n"
    monkeypatch.delenv("PYDOTCOMPUTE_TARGET")
    assert main(["show", "twice", "-t", NAME, "--text", "-C", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "kernel void twice(constant twice_scalars &_given [[buffer(0)]]" in shown
    assert "out[i] = (2.0f * x[i]);" in shown.partition("kernels.yaml:9  out[i] = 2 * x[i]")[2]


def test_a_bare_name_and_another_version(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text('version: 1\ntargets: ["metal:3.0"]\nkernels: {}\n')
    assert registry.canonical("metal") == NAME
    assert main(["build", "-C", str(tmp_path)]) == 1
    assert "unknown target 'metal:3.0'" in capsys.readouterr().err
