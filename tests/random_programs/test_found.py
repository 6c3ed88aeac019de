"""Programs that random ones led to, made small: each once failed to build, or was computed in two ways."""

from __future__ import annotations

import numpy as np
import pytest

import pydotcompute
from pydotcompute import declare
from pydotcompute.builder.build import Project, Request, build
from pydotcompute.targets.cpu import lowering as cpu
from pydotcompute.frontend import build as frontend
from pydotcompute.analysis import races

LEVELS = ("cpu:x86-64-v2", "cpu:x86-64-v3")

KERNELS = """\
version: 1
kernels:
  params_as_dims:
    signature: "(x: float32[n]) -> (out: float32[n, TILE], half: float32[n, TILE * 2 - n % 2])"
    params: {TILE: [3, 4]}
    body: |
      for i, c in grid(n, TILE):
          out[i, c] = x[i] + c
          half[i, c] = x[i] - c

  conditions_in_dims:
    signature: "(x: float32[n]) -> (out: float32[n, abs(n - 3) + 1], two: float32[n, n << 1 if n > 2 else 4])"
    body: |
      for i in grid(n):
          out[i, 0] = x[i]
          two[i, 1] = x[i]

  nothing_in_a_loop:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = x[i]
          for q in range(3):
              pass
          if x[i] > 0:
              pass
          else:
              out[i] = 1

  guards_on_views:
    signature: "(x: broadcast float32[...], y: broadcast int32[...], z: broadcast float64[...]) -> (out: float64[...])"
    body: |
      for i in grid(size):
          out[i] = (x[i - 1] if 0 <= i - 1 < size else x[i]) + y[i] * z[i]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    (folder / "kernels.yaml").write_text(KERNELS)
    opened = Project(str(folder), lambda line: None)
    plan, outcome = build(opened, Request(targets=LEVELS, keep_going=True), lambda event: None)
    assert not outcome.failed
    return folder


@pytest.fixture(params=LEVELS)
def lib(project, request):
    return pydotcompute.load(str(project), target=request.param)


def tree_of(project, name: str):
    kernel = declare.load(project).kernels[name]
    specialisation = kernel.specialisations[0]
    return races.check(
        frontend.build_tree(kernel, specialisation, declare.render(kernel, specialisation, "cpu", project))
    )


def test_params_as_dims(lib):
    x = np.arange(5, dtype=np.float32)
    for tile in (3, 4):
        out, half = lib.params_as_dims(x, TILE=tile)
        assert (out == x[:, None] + np.arange(tile, dtype=np.float32)).all()
        assert (
            half.shape == (5, 2 * tile - 1) and (half[:, :tile] == x[:, None] - np.arange(tile, dtype=np.float32)).all()
        )


@pytest.mark.parametrize("n", [2, 3, 7])
def test_conditions_in_dims(lib, n):
    x = np.arange(n, dtype=np.float32)
    out, two = lib.conditions_in_dims(x)
    assert out.shape == (n, abs(n - 3) + 1) and (out[:, 0] == x).all()
    assert two.shape == (n, 2 * n if n > 2 else 4) and (two[:, 1] == x).all()


def test_nothing_in_a_loop(lib):
    assert lib.nothing_in_a_loop(np.array([-1, 2, 0], np.float32)).tolist() == [1, 2, 1]


def test_guards_on_views_multiply_no_code(project, lib):
    """A body is written at most a few times, however many views and conditions it has."""
    assert cpu.lower(tree_of(project, "guards_on_views")).text.count("store(out") <= 8
    x, y, z = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(3, dtype=np.int32), np.ones((2, 1))
    shifted = np.concatenate([x.ravel()[:1], x.ravel()[:-1]]).reshape(2, 3)
    assert (lib.guards_on_views(x, y, z) == shifted + y * z).all()
