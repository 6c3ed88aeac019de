"""Calls of several launches that are like earlier ones: what is launched without the rules is what these would launch."""

import textwrap

import cupy
import numpy as np
import pytest
import torch
from cupy import _machine

import pydotcompute
from pydotcompute.backends.cuda.launch_cache import MOST_LAUNCHES
from pydotcompute.builder.build import Project, Request, build

KERNELS = """
    version: 1
    targets: ["cuda:compute_80"]
    kernels:
      mixed:
        signature: "(x: float32[n], w: float32, k: int64, h: float16) -> (out: float32[n], total: float32)"
        body: |
          for i in grid(n):
              out[i] = w * x[i] + h
          m = k * 10
          for t in range(k):
              for i in grid(min(t, n)):
                  out[i] = out[i] + t + m
          if k > 2 and n > 4:
              for i in grid(n - 1):
                  out[i + 1] = w
          total[()] = sum(out[i] for i in grid(n))
      picked:
        signature: "(x: float32[m], k: int64[n]) -> (out: float32[n])"
        body: |
          for i in grid(n):
              out[i] = 1
          for i in grid(n):
              out[i] += x[k[i]]
          for i in grid(n):
              out[i] *= 2
      once_until:
        signature: "(x: float32[n], most: int32) -> (out: float32[n])"
        body: |
          for i in grid(n):
              out[i] = x[i]
          for t in range(most):
              if max(out[i] for i in grid(n)) > 3:
                  break
              for i in grid(n):
                  out[i] *= 2
      scaled:
        signature: "(x: float32[n], w: float32, h: float16) -> (out: float32[n])"
        body: |
          for i in grid(n):
              out[i] = w * x[i]
          for i in grid(n):
              out[i] += h
      counted:
        signature: "(x: int32[n], k: int64) -> (out: int32[n])"
        body: |
          for i in grid(n):
              t = local((k,), int32)
              for j in range(k):
                  t[j] = x[i] + j
              out[i] = sum(t[j] for j in range(k))
"""
NAMES = ("counted", "mixed", "once_until", "picked", "scaled")
PICKED = r"kernels.yaml:24:\d+: index 7 is outside x, which has 3"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("programs")
    (root / "kernels.yaml").write_text(textwrap.dedent(KERNELS))
    request = Request(NAMES, ("cuda:compute_80",), False, 1, True)
    _, outcome = build(Project(str(root), lambda line: None), request, lambda event: None)
    assert not outcome.failed
    return str(root)


@pytest.fixture
def lib(built, monkeypatch):
    """Whose kernels nobody has called."""
    monkeypatch.setattr("pydotcompute.runtime.library._open", {})
    return pydotcompute.load(built)


def mixed(x, w, k, h):
    out = np.float32(w) * x + np.float32(h)
    for t in range(k):
        out[:t] += t + 10 * k
    if k > 2 and len(x) > 4:
        out[1:] = w
    return out, out.sum(dtype="f8")


def launched():
    """The entries since this was asked last."""
    entries = [entry for entry, _ in _machine.devices[0].launched]
    _machine.devices[0].launched.clear()
    return entries


def test_sizes_and_the_scalars_that_decide_are_looked_at(lib, backend, draw, served):
    x = {n: draw(n) for n in (7, 3, 0)}
    moved, before, launches = {n: backend.to_device(a) for n, a in x.items()}, {}, {}
    calls = [(7, 2), (7, 2), (7, 3), (7, 2), (7, 3), (3, 3), (7, 3), (3, 3), (3, 3), (7, 0), (7, 0), (7, 0), (0, 2)]
    for turn, (n, k) in enumerate([*calls, (0, 2), (0, 2), (7, 2), (7, np.int64(2)), (7, 2)]):
        served.count, w, h = 0, 0.5 + turn, 1.0 + turn  # which no form is known by
        out, total = lib.mixed(moved[n], w, k, h)
        wanted, summed = mixed(x[n], w, int(k), h)
        np.testing.assert_allclose(backend.to_host(out), wanted, 1e-5, 1e-5)
        np.testing.assert_allclose(float(total.get()), summed, 1e-5, 1e-5)
        form = n, k, type(k)
        assert served.count == (before.get(form, 0) >= 2), (turn, form)
        before[form] = before.get(form, 0) + 1
        entries = launched()
        assert launches.setdefault(form, entries) == entries
    assert len(set(map(len, launches.values()))) == 5, launches


def test_scalars_that_do_not_fit_are_refused_as_the_rules_do(lib, backend, draw, served):
    """Also where nothing is launched that would get them."""
    for n in (5, 0):
        x = backend.to_device(draw(n))
        for _ in range(3):
            lib.scaled(x, 1.0, 1.0)
        served.count = 0
        for w, h, dtype in (1e300, 1.0, "float32"), (1.0, 1e6, "float16"):
            with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
                lib.scaled(x, w, h)
        launched()
        lib.scaled(x, float("inf"), 1.0)
        assert served.count == 1 and len(launched()) == (2 if n else 0)


def test_of_many_launches_none_are_kept(lib, backend, draw, served):
    x = draw(50)
    for turn, k in enumerate((8, 40, 8, 40, 8, 40, 8)):
        served.count = 0
        launched()
        out, _ = lib.mixed(backend.to_device(x), 2.0, k, 0.0)
        assert (len(launched()) <= MOST_LAUNCHES) == (k == 8) and served.count == (k == 8 and turn >= 4)
        np.testing.assert_allclose(backend.to_host(out), mixed(x, 2.0, k, 0.0)[0], 1e-5, 1e-5)


def test_what_is_read_on_the_way_decides_in_each_call(lib, backend, served):
    """Of one form of call, once more and less is launched; where nothing is read, it is served like others."""
    for value, wanted in ((1.0, 4.0), (1.0, 4.0), (1.0, 4.0), (5.0, 5.0), (0.5, 4.0), (0.5, 4.0)):
        out = lib.once_until(backend.to_device(np.full(5, value, "f4")), 9)
        assert backend.to_host(out).tolist() == [wanted] * 5
    assert not served.count
    for _ in range(3):
        assert backend.to_host(lib.once_until(backend.to_device(np.full(5, 7, "f4")), 0)).tolist() == [7] * 5
    assert served.count == 1


def test_a_fault_in_the_second_launch(lib, backend, served):
    """What follows it in the call does nothing that lasts, and the next call raises it."""
    x = backend.to_device(np.arange(3, dtype="f4"))
    good, wrong = backend.to_device(np.array([0, 1, 2])), backend.to_device(np.array([0, 7, 2]))
    out = backend.allocate(3)
    for _ in range(4):
        assert backend.to_host(lib.picked(x, good, out)).tolist() == [2, 4, 6]
    lib.picked(x, wrong, out)
    assert served.count == 3
    cupy.cuda.Stream.null.synchronize()
    assert out._elements().tolist() in ([1, 1, 3], [1, 1, 1])
    with pytest.raises(IndexError, match=PICKED):
        lib.picked(x, good, out)
    assert backend.to_host(lib.picked(x, good, out)).tolist() == [2, 4, 6] and served.count == 4


def test_a_graph_has_scratch_of_its_own(lib, backend, draw, served):
    x, side = draw(50), cupy.cuda.Stream(non_blocking=True)
    moved, out, total = backend.to_device(x), cupy.empty(50, "f4"), cupy.empty((), "f4")
    with side:
        for _ in range(3):
            lib.mixed(moved, 2.0, 1, 1.0, out, total)
        side.synchronize()
        side.begin_capture()
        lib.mixed(moved, 3.0, 1, 2.0, out, total)
        graph = side.end_capture()
        assert served.count == 2
        held = [cupy.zeros(4096, "u1") for _ in range(8)]
        for _ in range(2):
            graph.launch(side)
            side.synchronize()
    wanted, summed = mixed(x, 3.0, 1, 2.0)
    np.testing.assert_allclose(out._elements(), wanted, 1e-5, 1e-5)
    np.testing.assert_allclose(float(total.get()), summed, 1e-5, 1e-5)
    assert not any(h._elements().any() for h in held) and not _machine.devices[0].fault


def test_tensors(lib, draw):
    x, out, total = torch.Tensor(draw(9)), torch.Tensor(np.zeros(9, "f4")), torch.Tensor(np.zeros((), "f4"))
    asked = []
    for k in (1, 1, 1, 1, 3, 3, 3, 1):
        before, w = torch.Tensor.asked, float(len(asked))
        assert lib.mixed(x, w, k, 1.0, out, total) == (out, total)
        asked.append(torch.Tensor.asked > before)
        np.testing.assert_allclose(out.numpy(), mixed(x.numpy(), w, k, 1.0)[0], 1e-5, 1e-5)
    assert asked == [True, True, True, False, True, True, False, False]  # the first call of all is that of any arrays


def test_scratch_as_large_as_a_scalar_says(lib, backend, served):
    for k in (3, 3, 3, 200, 200, 200, 3):
        out = lib.counted(backend.to_device(np.arange(5, dtype="i4")), k)
        assert backend.to_host(out).tolist() == [k * i + k * (k - 1) // 2 for i in range(5)]
    assert served.count == 3 and not _machine.devices[0].fault
