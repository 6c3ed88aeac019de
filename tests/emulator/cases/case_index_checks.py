"""An index outside of its array on a device: what is raised, by which next call, and what is whole."""

import textwrap
import threading

import cupy
import numpy as np
import pytest
from cupy import _machine

import pydotcompute
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.builder.build import Project, Request, build

KERNELS = """
    version: 1
    targets: ["cuda:compute_80"]
    kernels:
      pick:
        signature: "(x: float32[m], k: int64[n]) -> (out: float32[n])"
        body: |
          for i in grid(n):
              out[i] = x[k[i]]
      total:
        signature: "(x: float32[m], k: int64[n]) -> (out: float32)"
        body: |
          out[()] = sum(x[k[i]] for i in grid(n))
      follow:
        signature: "(next: int64[n], k: int64) -> (out: int64[n] = -1)"
        body: |
          for i in grid(n):
              out[i + k] = next[i]
          while out[0] < 0:
              for i in grid(n):
                  out[i] += next[i]
      twice:
        signature: "(x: float32[n]) -> (out: float32[n])"
        body: |
          for i in grid(n):
              out[i] = 2 * x[i]
"""
PLACE = r"kernels.yaml:9:22: index 7 is outside x, which has 3"


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    root = tmp_path_factory.mktemp("checks")
    (root / "kernels.yaml").write_text(textwrap.dedent(KERNELS))
    wanted = Request(("pick", "total", "follow", "twice"), ("cuda:compute_80",), False, 1, True)
    _, outcome = build(Project(str(root), lambda line: None), wanted, lambda event: None)
    assert not outcome.failed
    return pydotcompute.load(str(root))


@pytest.fixture
def given(backend):
    return lambda *k: (backend.to_device(np.arange(3, dtype="f4")), backend.to_device(np.array(k)))


@pytest.fixture
def told(lib, given):
    """A call that will have met an index that is outside."""

    def call(count=1):
        for _ in range(count):
            lib.pick(*given(0, 7, 2))

    return call


def overwrite(array, values):
    """Write to an array that a graph reads."""
    source = cupy.array(np.array(values))
    cupy.cuda.runtime.memcpyAsync(array.data.ptr, source.data.ptr, source.nbytes, 3, 0)
    cupy.cuda.Stream.null.synchronize()


def test_a_call_does_not_wait(lib, told, given, backend):
    told()
    assert _machine.devices[0].waiting  # nothing has been looked at yet
    with pytest.raises(IndexError, match=PLACE):
        backend.synchronize()
    assert backend.to_host(lib.pick(*given(2, 1))).tolist() == [2, 1]
    lib.raise_faults()


@pytest.mark.parametrize("raising", ["to_host", "raise_faults", "call", "other kernel"])
@pytest.mark.parametrize("count", [1, 4])
def test_who_raises(lib, told, given, backend, raising, count):
    """From the third call on they are served from the launch cache."""
    good = lib.pick(*given(1, 1, 1))
    told(1)
    if count > 1:  # by calls that fault, of which each would raise the one before once that is done
        with pytest.raises(IndexError, match=PLACE):
            lib.raise_faults()
        for _ in range(count - 2):
            lib.pick(*given(0, 1, 2))
        told(1)
    if raising in ("call", "other kernel"):
        cupy.cuda.Stream.null.synchronize()  # which cannot raise ours
    with pytest.raises(IndexError, match=PLACE):
        if raising == "to_host":
            backend.to_host(lib.twice(given(0)[0]))
        elif raising == "raise_faults":
            lib.raise_faults()
        elif raising == "call":
            lib.pick(*given(0, 1, 2))
        else:
            lib.twice(given(0)[0])
    lib.raise_faults()  # said once
    assert backend.to_host(good).tolist() == [1, 1, 1]
    assert backend.to_host(lib.pick(*given(2, 2, 2))).tolist() == [2, 2, 2]


def test_the_first_fault_is_told_and_the_rest_is_done(lib, given, backend):
    out = backend.to_device(np.full(4, 9, "f4"))
    lib.pick(*given(0, 7, 2, -1), out)
    with pytest.raises(IndexError, match=r"index (7|-1) is outside x, which has 3"):
        backend.synchronize()
    assert backend.to_host(out).tolist() in ([0, 0, 2, 0], [0, 9, 2, 9])


def test_of_a_reduction(lib, given, backend):
    for _ in range(4):
        assert float(backend.to_host(lib.total(*given(0, 1, 2)))) == 3
    lib.total(*given(0, 7, 2))
    with pytest.raises(IndexError, match="kernels.yaml:13:.*index 7 is outside x"):
        lib.raise_faults()
    assert float(backend.to_host(lib.total(*given(2, 2)))) == 4


def test_the_host_does_not_follow_for_ever(lib, backend):
    ones = backend.to_device(np.ones(4, "i8"))
    assert backend.to_host(lib.follow(ones, 0)).tolist() == [1] * 4
    with pytest.raises(IndexError, match="index 4 is outside out"):
        lib.follow(backend.to_device(np.zeros(4, "i8")), 1)
    lib.raise_faults()


def test_a_graph_tells_whenever_it_is_launched(lib, given, backend):
    arrays, side = given(0, 1, 2), cupy.cuda.Stream(non_blocking=True)
    out = backend.to_device(np.zeros(3, "f4"))
    lib.pick(*arrays, out)
    with side:
        side.begin_capture()
        lib.pick(*arrays, out)
        total = lib.total(*arrays)
        lib.raise_faults()  # does not wait while a stream captures
        graph = side.end_capture()
    graph.launch(side)
    lib.raise_faults()
    assert float(backend.to_host(total, stream=side)) == 3
    for _ in range(2):
        overwrite(arrays[1], [0, 7, 2])
        graph.launch(side)
        with pytest.raises(IndexError, match="index 7 is outside x"):
            lib.raise_faults()
        overwrite(arrays[1], [0, 1, 2])
        graph.launch(side)
        lib.raise_faults()
        assert backend.to_host(out).tolist() == [0, 1, 2] and float(backend.to_host(total)) == 3


def test_each_device_has_its_own(lib, given, backend):
    other = CUDABackend(device_id=1)
    x, k = other.to_device(np.arange(3, dtype="f4")), other.to_device(np.array([7]))
    lib.pick(x, k)
    backend.synchronize()
    assert backend.to_host(lib.pick(*given(1))).tolist() == [1]
    with pytest.raises(IndexError, match=PLACE):
        other.synchronize()
    lib.pick(x, k)
    with pytest.raises(IndexError, match=PLACE):
        lib.raise_faults()


def test_of_many_threads_one_raises_it(lib, told):
    told()
    cupy.cuda.Stream.null.synchronize()
    raised = []

    def look():
        try:
            lib.raise_faults()
        except IndexError:
            raised.append(1)

    threads = [threading.Thread(target=look) for _ in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert raised == [1]
