"""Calls that go to a vendor's function instead of the artifact: which, when, with what results, and who says so.

The kernels here add 1 to the product that they should compute, so that a result tells who served the call.
"""

import textwrap

import numpy as np
import pytest

import pydotcompute
from pydotcompute import declare
from pydotcompute.artifact.dimensions import Operation
from pydotcompute.cli import main
from pydotcompute.errors import DeclarationError, KernelNotBuiltError

TARGET = "cpu:x86-64-v2"
DECLARATION = """\
version: 1
targets: [cpu:x86-64-v2]
kernels:
  apply:
    signature: "(w: T[n, d], x: T[d]) -> (product: T[n])"
    types: {T: [float32, float64]}
    vendor: {call: matmul, when: n * d >= LEAST}
    params: {LEAST: [64, 1000]}
    body: |
      for r in blocks(n):
          product[r] = 1 + sum(w[r, c] * x[c] for c in threads(d))
  always:
    signature: "(a: float64[..., m, k], b: float64[..., k, n]) -> (out: float64[..., m, n])"
    vendor: {call: matmul}
    body: |
      for r, i, j in grid(rows, m, n):
          s = 1.0
          for p in range(k):
              s += a[r, i, p] * b[r, p, j]
          out[r, i, j] = s
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("vendor")
    (root / "kernels.yaml").write_text(DECLARATION)
    assert main(["build", "-C", str(root), "-j", "1"]) == 0
    return root


@pytest.fixture
def lib(project):
    return pydotcompute.load(project, strict=True)


def drawn(n, d, dtype):
    rng = np.random.default_rng(n + d)
    return rng.random((n, d)).astype(dtype), rng.random(d).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n, d", [(63, 1), (8, 8), (1, 64), (9, 7), (200, 30)])
def test_just_the_declared_sizes_are_handed_on(lib, dtype, n, d):
    w, x = drawn(n, d, dtype)
    expected = w @ x + (n * d < 64)
    close = dict(rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(lib.apply(w, x), expected, **close)
    for give in (lambda out: lib.apply(w, x, out), lambda out: lib.apply(w, x, product=out)):
        out = np.full(n, np.nan, dtype)
        assert give(out) is out
        np.testing.assert_allclose(out, expected, **close)
    class_of_its_own = type("Own", (np.ndarray,), {})  # which the native entry point leaves to Python
    np.testing.assert_allclose(lib.apply(w.view(class_of_its_own), x), expected, **close)
    np.testing.assert_allclose(lib.apply(x=x, w=w), expected, **close)
    np.testing.assert_allclose(lib.apply(w, x, LEAST=1000), w @ x + (n * d < 1000), **close)
    found = lib.apply.which(w, x)
    assert (found.vendor, found.target) == (("numpy.matmul", None) if n * d >= 64 else ("", TARGET))
    if found.vendor:
        said = f"[T={dtype},LEAST=64] for {TARGET}: numpy.matmul is declared to be faster where n * d >= LEAST"
        assert str(found).startswith(f"apply[T={dtype},LEAST=64] is served by numpy.matmul\n  not {said}")


def test_without_a_condition_every_call_is(lib):
    for shape in [(1, 1, 1), (3, 2, 5), (0, 4, 2), (4, 0, 2)]:
        m, k, n = shape
        a, b = np.random.default_rng(0).random((2, 3, m, k)), np.random.default_rng(1).random((2, 3, k, n))
        np.testing.assert_array_equal(lib.always(a, b), a @ b)
        np.testing.assert_array_equal(lib.always(a[0, 0], b[0, 0]), a[0, 0] @ b[0, 0])
        assert lib.always.which(a, b).vendor == "numpy.matmul"


def test_a_pinned_target_means_its_own_code(project):
    lib = pydotcompute.load(project, target=TARGET)
    w, x = drawn(20, 30, "float64")
    np.testing.assert_allclose(lib.apply(w, x), w @ x + 1)
    np.testing.assert_allclose(lib.always(w, w.T.copy()), w @ w.T + 1)
    assert lib.apply.which(w, x).target == TARGET and lib.apply.which(w, x).vendor == ""


def test_the_rules_of_a_call_hold_all_the_same(lib):
    w, x = drawn(20, 30, "float64")
    with pytest.raises(ValueError, match="'x' \\(shape \\(20,\\)\\)|'x' has d = 20"):
        lib.apply(w, np.zeros(20))
    with pytest.raises(TypeError, match="both are T"):
        lib.apply(w, x.astype("float32"))
    with pytest.raises(ValueError, match="share memory"):
        lib.always(w[:20, :20].copy(), y := np.ones((20, 20)), y)
    with pytest.raises(ValueError, match="C-contiguous"):
        lib.apply(w[:, ::-1], x)


def test_what_is_not_built_is_not_served(tmp_path, project):
    (tmp_path / "kernels.yaml").write_text(DECLARATION)
    assert main(["build", "always", "-C", str(tmp_path), "-j", "1"]) == 0
    w, x = drawn(20, 30, "float64")
    lib = pydotcompute.load(tmp_path)
    assert lib.always(w, w.T.copy()).shape == (20, 20)
    assert lib.apply.which(w, x).vendor == "" and "pydotcompute build apply" in lib.apply.which(w, x).missing
    with pytest.raises(KernelNotBuiltError, match="pydotcompute build apply"):
        lib.apply(w, x)


def test_another_condition_makes_the_artifacts_stale(tmp_path, capsys):
    (tmp_path / "kernels.yaml").write_text(DECLARATION)
    assert main(["build", "always", "-C", str(tmp_path), "-j", "1"]) == 0
    changed = DECLARATION.replace("vendor: {call: matmul}", "vendor: {call: matmul, when: m > 3}")
    (tmp_path / "kernels.yaml").write_text(changed)
    capsys.readouterr()
    assert main(["build", "always", "-C", str(tmp_path), "--check"]) == 1
    captured = capsys.readouterr()
    assert 'vendor: {"call":"matmul"} → {"call":"matmul","when":[">",["m",3]]}' in captured.out + captured.err


@pytest.mark.parametrize(
    "signature, vendor, message",
    [
        ("(w: T[n, d], x: T[d]) -> (y: T[n])", "{call: matmull}", "a function of NumPy and CuPy, found 'matmull'"),
        ("(w: T[n, d], x: T[d]) -> (y: T[n])", "{when: n > 3}", "call"),
        ("(w: T[n, d], x: T[d]) -> (y: T[n])", "{call: matmul, when: n * k > 3}", "'k'"),
        ("(w: T[n, d], x: T[d]) -> (y: T[n])", "{call: matmul, when: n * d}", "not a condition"),
        ("(w: T[n, d], x: T[n]) -> (y: T[d])", "{call: matmul}", "these arguments are not those of matmul"),
        ("(w: T[n, d], x: T[d], s: T) -> (y: T[n])", "{call: matmul}", "these arguments are not those of matmul"),
        ("(x: T[d], w: T[d, n]) -> (y: T[n], z: T[n])", "{call: matmul}", "these arguments are not those of matmul"),
        ("(w: T[..., n, d], x: T[d]) -> (y: T[..., n])", "{call: matmul}", "these arguments are not those of matmul"),
        ("(w: T[n, d], x: float64[d]) -> (y: T[n])", "{call: matmul}", "these arguments are not those of matmul"),
        ("(a: T[n], x: T[n]) -> (y: T)", "{call: matmul}", "these arguments are not those of matmul"),
    ],
)
def test_what_a_declaration_cannot_say(tmp_path, signature, vendor, message):
    text = f"""
        version: 1
        kernels:
          product:
            signature: "{signature}"
            types: {{T: [float32]}}
            vendor: {vendor}
            body: |
              for i in grid(3):
                  continue
        """
    (tmp_path / "kernels.yaml").write_text(textwrap.dedent(text).lstrip())
    with pytest.raises(DeclarationError) as caught:
        declare.load(tmp_path)
    assert message in caught.value.message and caught.value.at.line == 6


@pytest.mark.parametrize(
    "signature",
    [
        "(x: T[d], w: T[d, n]) -> (y: T[n])", "(a: T[m, 4], b: T[4, n]) -> (y: T[m, n])",
        "(a: T[n, n], b: T[n, n]) -> (c: T[n, n])",
    ],  # fmt: skip
)
def test_what_it_can(tmp_path, signature):
    (tmp_path / "kernels.yaml").write_text(
        f'version: 1\nkernels:\n  k:\n    signature: "{signature}"\n    types: {{T: [float32]}}\n'
        "    vendor: {call: matmul, when: 3 < n, on_device: n < 5}\n    body: |\n      for i in grid(3):\n          continue\n"
    )
    when, on_device = Operation("<", (3, "n")), Operation("<", ("n", 5))
    assert declare.load(tmp_path).kernels["k"].vendor == {"call": "matmul", "when": when, "on_device": on_device}
