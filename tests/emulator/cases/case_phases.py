"""Kernels of several phases and with scratch of the call: their launches, what captures keep, calls from the cache."""

import textwrap

import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute.backends.cuda.launch_cache import MOST_LAUNCHES
from pydotcompute.builder.build import Project, Request, build

KERNELS = """
    version: 1
    targets: ["cuda:compute_80"]
    kernels:
      steps:
        signature: "(x: T[n], steps: int64) -> (out: T[n], total: T) temp (q: T[n], seen: int64[2] = 0)"
        types: {T: [float32]}
        body: |
          for i in grid(n):
              q[i] = x[i]
          scale = T(1)
          for t in range(steps):
              for i in grid(n - 1):
                  out[i + 1] = q[i] + t
              scale = scale * 2 + T(seen[0])
              for i in grid(n - 1):
                  q[i + 1] = out[i + 1]
          out[0] = scale
          total[()] = sum(q[i] for i in grid(n))
      halved:
        signature: "(x: float32[n], most: float32) -> (out: float32[n], turns: int64)"
        body: |
          for i in grid(n):
              out[i] = x[i]
          k = 0
          while max(out[i] for i in grid(n)) > most:
              for i in grid(n):
                  out[i] /= 2
              k += 1
          turns[()] = k
      kept:
        signature: "(x: float32[n]) -> (out: float32[<= n: count], count: int64 = 0)"
        body: |
          for i in grid(n):
              if x[i] > 0:
                  out[atomic_add(count, 1)] = x[i]
      window:
        signature: "(x: float32[n], low: float32, high: float32, k: int32 = 0) -> (out: float32[n])"
        requires: ["low < high", "0 <= k < n"]
        body: |
          for i in grid(n):
              out[i] = min(max(x[k], low), high)
      reversed_sum:
        signature: "(x: float32[n]) -> (out: float32[n]) temp (q: float32[n] = 3)"
        body: |
          for i in grid(n):
              out[i] = x[n - 1 - i] + q[i]
"""


@pytest.fixture(scope="module")
def phases(tmp_path_factory):
    root = tmp_path_factory.mktemp("phases")
    (root / "kernels.yaml").write_text(textwrap.dedent(KERNELS))
    project = Project(str(root), lambda line: None)
    names = ("halved", "kept", "reversed_sum", "steps", "window")
    _, outcome = build(project, Request(names, ("cuda:compute_80",), False, 1, True), lambda event: None)
    assert not outcome.failed
    return pydotcompute.load(str(root))


def expected(x, steps):
    q = x.copy()
    for t in range(steps):
        q[1:] = q[:-1] + np.float32(t)
    out = q.copy()
    out[0] = 2.0**steps
    return out, q.sum(dtype="f8")


@pytest.mark.parametrize("n, steps", [(5, 0), (300, 1), (300, 4), (1, 2)])
def test_phases(phases, backend, draw, served, n, steps):
    x = draw(n)
    moved = backend.to_device(x)
    for call in range(4):  # the third is served from the cache, unless its launches are too many
        _machine.devices[0].launched.clear()
        out, total = phases.steps(moved, steps)
        wanted, summed = expected(x, steps)
        if steps:
            np.testing.assert_array_equal(backend.to_host(out), wanted)
        np.testing.assert_allclose(float(total.get()), summed, 1e-4, 1e-4)
        loops = [entry for entry, _ in _machine.devices[0].launched]
        assert len(loops) == len(set(loops)) + max(steps - 1, 0) * (3 if n > 1 else 1)
        assert served.count == max(call - 1, 0) * (len(loops) <= MOST_LAUNCHES)


def test_control_that_waits(phases, backend, draw):
    """What the device has computed decides how often; a graph cannot wait."""
    x, side = np.abs(draw(100)) * 50, cupy.cuda.Stream(non_blocking=True)
    moved = backend.to_device(x)
    turns = int(np.ceil(np.log2(x.max() / 3)))
    for _ in range(3):
        out, count = phases.halved(moved, 3.0)
        assert int(count.get()) == turns
        np.testing.assert_array_equal(out._elements(), x / np.float32(2**turns))
    which = phases.halved.which(moved, 3.0)
    assert which.waits and "waits for the device" in str(which)
    assert not phases.steps.which(moved, 3).waits
    with side:
        side.begin_capture()
        with pytest.raises(RuntimeError, match="halved waits for what it computes .* is capturing a graph"):
            phases.halved(moved, 3.0)
        side.end_capture()


@pytest.mark.parametrize("before", [0, 3])
def test_phases_in_a_graph_may_be_launched_again(phases, backend, draw, served, before):
    x, side = draw(100), cupy.cuda.Stream(non_blocking=True)
    moved, out, total = backend.to_device(x), cupy.empty(100, "f4"), cupy.empty((), "f4")
    with side:
        for _ in range(before):
            phases.steps(moved, 3, out, total)
        side.synchronize()
        side.begin_capture()
        phases.steps(moved, 3, out, total)
        graph = side.end_capture()
        held = [cupy.zeros(4096, "u1") for _ in range(8)]
        for _ in range(2):
            graph.launch(side)
            side.synchronize()
    assert bool(served.count) == bool(before)
    np.testing.assert_array_equal(out._elements(), expected(x, 3)[0])
    assert not any(h._elements().any() for h in held)
    assert not _machine.devices[0].fault


@pytest.mark.parametrize("before", [0, 3])
def test_scratch_of_a_captured_call_is_its_own(phases, backend, draw, served, before):
    x, side = draw(1000), cupy.cuda.Stream(non_blocking=True)
    moved, out = backend.to_device(x), cupy.empty(1000, "f4")
    with side:
        for _ in range(before):
            phases.reversed_sum(moved, out)
        side.synchronize()
        side.begin_capture()
        phases.reversed_sum(moved, out)
        graph = side.end_capture()
        held = [cupy.zeros(4096, "u1") for _ in range(8)]
        for _ in range(2):
            graph.launch(side)
            side.synchronize()
    assert bool(served.count) == bool(before)
    np.testing.assert_array_equal(out._elements(), x[::-1] + np.float32(3))
    assert not any(h._elements().any() for h in held)


def test_outputs_as_long_as_a_count_says(phases, backend, draw):
    """The call waits for the count, each time; a graph cannot."""
    side = cupy.cuda.Stream(non_blocking=True)
    for n in (100, 300, 300, 300, 40):
        x = draw(n)
        out, count = phases.kept(backend.to_device(x))
        assert out.shape == (int(count.get()),) == ((x > 0).sum(),)
        np.testing.assert_array_equal(np.sort(out._elements()), np.sort(x[x > 0]))
    assert phases.kept.which(backend.to_device(x)).waits
    with side:
        side.begin_capture()
        with pytest.raises(RuntimeError, match="kept waits for what it computes to know how long its outputs are"):
            phases.kept(backend.to_device(x))
        side.end_capture()


def test_a_call_from_the_cache_keeps_what_scalars_are_required_to_be(phases, backend, served):
    x = backend.to_device(np.arange(5, dtype="f4"))
    for _ in range(3):
        assert backend.to_host(phases.window(x, 1.0, 2.0, 3)).tolist() == [2] * 5
    assert served.count == 1
    for broken, said in ((2.0, 2.0, 3), "low < high"), ((1.0, 2.0, 5), "0 <= k and k < n"), ((1.0, 2.0, -1), "0 <= k"):
        for _ in range(3):
            with pytest.raises(ValueError, match=f"window: requires {said}"):
                phases.window(x, *broken)
    assert backend.to_host(phases.window(x, -1.0, 0.5, 4)).tolist() == [0.5] * 5
