"""A project from its declaration to calls: what the build half makes, the run half runs."""

import subprocess
import sys

import numpy as np
import pytest

import pydotcompute
from pydotcompute import DeclarationError, KernelNotBuiltError

DECLARATION = """
version: 1
targets: [cpu:x86-64]
kernels:
  gather:
    doc: x[index]
    signature: "(x: T[n], index: int64[m]) -> (out: T[m])"
    types: {T: [float32, float64]}
    body: |
      for i in grid(m):
          out[i] = x[index[i]]
  pick:
    signature: "(x: float64[n], k: uint64, converted: bool) -> (out: float64)"
    body: |
      if converted:
          out[()] = x[int64(k)]
      else:
          out[()] = x[k]
  scale:
    signature: "(x: inout strided float32[...], a: float32) -> ()"
    body: |
      for i in grid(size):
          x[i] *= a
  diff:
    signature: "(x: strided T[..., n]) -> (out: T[..., n - 1])"
    types: {T: [float32]}
    requires: ["n > 0"]
    body: |
      for r in blocks(rows):
          for c in threads(n - 1):
              out[r, c] = x[r, c + 1] - x[r, c]
  tiled:
    signature: "(x: broadcast float32[...], y: broadcast float32[...]) -> (out: float32[...], peak: float32)"
    params: {TILE: [4, 8]}
    body: |
      m = -inf
      for i in grid(size):
          out[i] = x[i] * TILE + y[i]
          m = max(m, x[i])
      peak[()] = m
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "kernels.yaml").write_text(DECLARATION)
    for options in ([], ["gather", "diff", "--bounds"]):
        command = [sys.executable, "-m", "pydotcompute", "build", "-C", str(root), "-t", "cpu:x86-64", *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def lib(project):
    return pydotcompute.load(project, strict=True)


def doors(kernel):
    """A kernel from its first call on, its Python path, and the interpreter."""
    return kernel, kernel, kernel._dispatcher.call, kernel.python


def test_gather(lib):
    x, index = np.arange(12.0), np.array([3, 1, 11, 3])
    for call in doors(lib.gather):
        assert call(x, index).tolist() == [3, 1, 11, 3]
        assert call(x.astype("f4"), index).dtype == "f4"
        assert call(x, index[:0]).shape == (0,)


def test_scale_in_place_through_a_view(lib):
    for call in doors(lib.scale):
        x = np.arange(24, dtype="f4").reshape(4, 6)
        wanted = x.copy()
        wanted[::2, ::-3] *= 2
        assert call(x[::2, ::-3], 2.0) is None
        np.testing.assert_array_equal(x, wanted)


def test_diff_of_any_view(lib):
    x = np.arange(24, dtype="f4").reshape(2, 3, 4) ** 2
    for call in doors(lib.diff):
        for view in (x, x.transpose(2, 0, 1), x[:, ::-1, ::2], x[0, 0], x[:0]):
            np.testing.assert_array_equal(call(view), np.diff(view, axis=-1))
        with pytest.raises(ValueError, match="diff: requires n > 0, got n = 0"):
            call(x[:, :, :0])


def test_params_broadcasting_and_several_outputs(lib):
    x, y = np.arange(6, dtype="f4").reshape(2, 1, 3), np.arange(4, dtype="f4")[:, None]
    for call in doors(lib.tiled):
        for tile in (4, 8):
            out, peak = call(x, y, TILE=tile)
            np.testing.assert_array_equal(out, x * np.float32(tile) + y)
            assert type(peak) is np.float32 and peak == 5
        given = np.zeros((2, 4, 3), "f4"), np.zeros((), "f4")
        out, peak = call(x, y, *given)
        assert out is given[0] and peak is given[1] and peak == 5
        assert call(x[:0], y)[1] == -np.inf


def test_native_entries_serve_all_of_these(lib):
    x = np.arange(6, dtype="f4")
    lib.gather(x, np.array([1])), lib.scale(x, 1.0), lib.diff(x), lib.tiled(x, x), lib.pick(np.ones(1), 0, True)  # the first calls
    for name in lib:
        assert type(lib[name].func).__name__ == "builtin_function_or_method"
    assert lib.diff.func(x).shape == (5,) and lib.scale.func(x, 1.0) is None


def test_an_index_outside_is_told(project):
    """By the native entry, the Python path and the interpreter, whatever the outputs are."""
    x, out = np.arange(12.0), np.zeros(2)
    for target in ("cpu:x86-64", "cpu:x86-64+bounds"):
        for call in doors(pydotcompute.load(project, target=target).gather):
            assert call(x, np.array([3, 1])).tolist() == [3, 1]
            for index in (12, -1, 2**40, -(2**63)):
                for outputs in ((), (out,)):
                    with pytest.raises(IndexError) as caught:
                        call(x, np.array([3, index]), *outputs)
                    assert str(caught.value).startswith(f"{project}/kernels.yaml:11:")
                    assert str(caught.value).endswith(f": index {index} is outside x, which has 12")
    references = sys.getrefcount(out)
    gather, index = pydotcompute.load(project).gather, np.array([3, 12])
    for _ in range(100):
        with pytest.raises(IndexError):
            gather(x, index, out)
    assert sys.getrefcount(out) == references


def test_an_index_of_uint64_is_told_as_it_was_given(lib):
    """Not as the int64 that it is looked up by; but one that the program converts is what that gives."""
    x = np.arange(12.0)
    for call in doors(lib.pick):
        assert call(x, 3, False) == call(x, 3, True) == 3
        for k in (12, 2**64 - 1, 2**63):
            for converted, index in ((False, k), (True, k - 2**64 if k >= 2**63 else k)):
                with pytest.raises(IndexError, match=f": index {index} is outside x, which has 12$"):
                    call(x, k, converted)


def test_a_build_with_bounds_is_another_target(project):
    checked = pydotcompute.load(project, target="cpu:x86-64+bounds")
    assert checked.diff(np.zeros((2, 3), "f4")).shape == (2, 2)
    with pytest.raises(KernelNotBuiltError) as caught:
        checked.scale(np.zeros(3, "f4"), 1.0)
    assert str(caught.value) == (
        "scale is not built for cpu:x86-64+bounds (cpu:x86-64: the target cpu:x86-64+bounds is pinned); "
        f"run: pydotcompute build scale -t cpu:x86-64 --bounds -C {project}"
    )


def test_checked_bounds_name_the_template_that_was_included(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "shift.py").write_text("# moves\n\n\ndef get(x, i):\n    return x[i + 1]\n")
    (tmp_path / "templates" / "moved.py.j2").write_text(
        '{% include "shift.py" %}\n\ndef moved(x, out):\n    for i in grid(n):\n        out[i] = get(x, i)\n'
    )
    (tmp_path / "kernels.yaml").write_text(
        "version: 1\nkernels:\n  moved:\n    template: moved.py.j2\n"
        "    signature: '(x: float32[n]) -> (out: float32[n])'\n"
    )
    command = [sys.executable, "-m", "pydotcompute", "build", "--bounds", "-C", str(tmp_path), "-t", "cpu:x86-64"]
    subprocess.run(command, check=True, capture_output=True)
    moved = pydotcompute.load(tmp_path, target="cpu:x86-64+bounds").moved
    for call in (moved, moved.python):
        with pytest.raises(IndexError) as caught:
            call(np.zeros(3, "f4"))
        assert str(caught.value) == (
            f"{tmp_path}/templates/shift.py:5:14: index 3 is outside x, which has 3, in a helper "
            f"called on line 5 of {tmp_path}/templates/moved.py.j2"
        )


def test_the_interpreter_s_own_arguments(lib, tmp_path):
    x = np.arange(12.0)
    with pytest.raises(IndexError, match="kernels.yaml:11:.*index -1"):
        lib.gather.python(x, np.array([-1]))
    for order in ("reverse", "random"):
        assert lib.gather.python(x, np.array([2, 1]), order=order, seed=3).tolist() == [2, 1]
    with pytest.raises(ValueError, match="order must be 'forward', 'reverse' or 'random', got 'sideways'"):
        lib.gather.python(x, np.array([1]), order="sideways")


def test_python_refuses_sources_that_say_something_else(project, tmp_path):
    import shutil

    shutil.copytree(project, tmp_path / "copy")
    lib = pydotcompute.load(tmp_path / "copy")
    declaration = tmp_path / "copy" / "kernels.yaml"
    declaration.write_text(DECLARATION.replace("x: inout strided float32[...]", "x: inout float32[...]"))
    with pytest.raises(KernelNotBuiltError, match="no longer declares scale"):
        lib.scale.python(np.zeros(3, "f4"), 1.0)
    declaration.write_text(DECLARATION.replace("x: inout strided float32[...]", "x: inout float33[...]"))
    with pytest.raises(DeclarationError, match="unknown dtype"):
        lib.scale.python(np.zeros(3, "f4"), 1.0)
    assert lib.gather.python(np.arange(3.0), np.array([2])).tolist() == [2]  # another kernel's mistake is its own
    declaration.unlink()
    with pytest.raises(KernelNotBuiltError, match="scale.python needs the sources, and there is no "):
        lib.scale.python(np.zeros(3, "f4"), 1.0)
    assert lib.scale(np.zeros(3, "f4"), 1.0) is None
