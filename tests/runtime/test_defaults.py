"""Scalar arguments with defaults: every way of leaving them out, natively and by the rules, and what is declared
wrongly."""

import inspect
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import pydotcompute
from pydotcompute import DeclarationError, declare

DECLARATION = """
    version: 1
    targets: [cpu:x86-64]
    kernels:
      blend:
        signature: "(x: T[n], a: T = 2, b: float64 = -0.5, k: int64 = 3, on: bool = True) -> (out: T[n])"
        types: {T: [float32, float64]}
        body: |
          for i in grid(n):
              out[i] = a * x[i] + T(b) * T(k) if on else x[i]
        reference: np.where(on, a * x + b * k, x)
      ramp:
        signature: "(start: T, n: int64 = 4) -> (out: T[n])"
        types: {T: [float64, int64]}
        body: |
          for i in grid(n):
              out[i] = start + T(i)
      named:
        signature: "(self: float64[n], seed: int64 = 1, order: int64 = 2) -> (out: float64[n])"
        body: |
          for i in grid(n):
              out[i] = self[i] + float64(10 * seed + order)
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "kernels.yaml").write_text(textwrap.dedent(DECLARATION))
    command = [sys.executable, "-m", "pydotcompute", "build", "-C", str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pydotcompute.load(root)


def blend(x, a=2, b=-0.5, k=3, on=True):
    return (a * x + x.dtype.type(b) * x.dtype.type(k)).astype(x.dtype) if on else x


@pytest.mark.slow
@pytest.mark.parametrize("native", [True, False])
def test_what_is_left_out_has_its_default(lib, native, monkeypatch):
    x = np.arange(5, dtype="f4")
    call = lib.blend if native else lib.blend._dispatcher.call
    if native:
        lib.blend(x), lib.blend(x.astype("f8"))  # the first call goes by the rules
        monkeypatch.setattr(type(lib.blend._dispatcher), "checked", lambda *a, **k: pytest.fail("not native"))
    for args, kwargs in (
        ((), {}), ((3,), {}), ((3, 1.5), {}), ((3, 1.5, 7), {}), ((3, 1.5, 7, False), {}), ((), {"k": 1}),
        ((4.0,), {"on": False}), ((), {"b": 0.25, "a": 1}),
    ):  # fmt: skip
        assert call(x, *args, **kwargs).tolist() == blend(x, *args, **kwargs).tolist()
    out = np.empty_like(x)
    assert call(x, out=out) is out and out.tolist() == blend(x).tolist()
    assert call(x.astype("f8")).dtype == np.float64


@pytest.mark.slow
def test_a_default_may_be_a_dimension(lib):
    assert lib.ramp(1.5).tolist() == [1.5, 2.5, 3.5, 4.5] and lib.ramp(7, 2).tolist() == [7, 8]
    assert lib.ramp.python(1.5, order="random", seed=3).tolist() == [1.5, 2.5, 3.5, 4.5]


@pytest.mark.slow
def test_arguments_that_are_called_as_what_methods_take(lib):
    zero = np.zeros(1)
    for call in (lib.named, lib.named._dispatcher.call, lib.named.python):
        assert call(self=zero, seed=5, order=3) == [53] and call(zero, seed=5) == [52] and call(zero) == [12]
    assert lib.named.which(self=zero, seed=5).artifact is not None


@pytest.mark.slow
def test_signatures_and_mistakes(lib):
    assert lib.blend.signature == "(x: T[n], a: T = 2, b: float64 = -0.5, k: int64 = 3, on: bool = True) -> (out: T[n])"
    assert str(inspect.signature(lib.blend)) == "(x, a=2, b=-0.5, k=3, on=True, out=None)"
    with pytest.raises(TypeError, match="blend is missing argument 'x'"):
        lib.blend()
    with pytest.raises(TypeError, match=r"blend takes 1 to 6 arguments \(x, a, b, k, on, out\), got 7"):
        lib.blend(*range(7))


def declared(tmp_path, signature):
    (tmp_path / "kernels.yaml").write_text(
        f'version: 1\nkernels:\n  k:\n    signature: "{signature}"\n    body: |\n      for i in grid(n):\n'
        "          out[i] = x[i]\n"
    )
    return declare.load(tmp_path)


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("(a: float32 = 1, x: float32[n]) -> (out: float32[n])", "'x' has no default, and 'a' before it has one"),
        ("(x: float32[n] = 1) -> (out: float32[n])", "an array has no default"),
        ("(x: float32[n], a: uint8 = 300) -> (out: float32[n])", "uint8 cannot hold the default 300"),
        ("(x: float32[n], a: int64 = 1.5) -> (out: float32[n])", "int64 cannot hold the default 1.5"),
        ("(x: float32[n], a: float32 = b) -> (out: float32[n])", "expected a number after '=', found 'b'"),
    ],
)  # fmt: skip
def test_defaults_that_cannot_be(tmp_path, signature, told):
    with pytest.raises(DeclarationError) as found:
        declared(tmp_path, signature)
    assert told in str(found.value)
