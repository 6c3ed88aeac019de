"""Arrays from each backend to each other, among them one from outside with just the seven members of the interface."""

import itertools

import numpy as np
import pytest

from pydotcompute import get_backend
from pydotcompute.backends import Backend, backend_of, register_backend, to_backend, unregister_backend
from tests.targets.opencl import run as opencl
from tests.targets.webgpu import run as webgpu

X = np.arange(12, dtype=np.float32).reshape(3, 4)
MISSING = {"opencl": opencl.missing, "webgpu": webgpu.missing}
NAMES = ("cpu", "opencl", "webgpu", "pool", "plain")


class Beads:
    def __init__(self, values):
        self.values = values


class Plain(Backend):
    """An abacus: what the interface asks for, and no more."""

    name = "plain"
    is_available = True

    def compile_kernel(self, func, signature):
        return func

    def allocate(self, shape, dtype=np.float32):
        return Beads(np.zeros(shape, dtype))

    def to_device(self, data):
        return Beads(data.copy())

    def to_host(self, data):
        if not isinstance(data, Beads):
            raise TypeError(f"the backend 'plain' has beads, got {type(data).__name__}")
        return data.values.copy()

    def synchronize(self):
        pass


@pytest.fixture
def plain():
    register_backend("plain", Plain)
    yield get_backend("plain")
    unregister_backend("plain")


@pytest.mark.slow
@pytest.mark.parametrize("source, target", list(itertools.permutations(NAMES, 2)))
def test_both_ways(source, target, pool, plain):
    for name in (source, target):
        if reason := MISSING.get(name, str)():
            pytest.skip(reason)
    here = to_backend(X, source)
    there = to_backend(here, target)
    assert backend_of(here).name == source and backend_of(there).name == target
    assert to_backend(there, target) is there and to_backend(there, get_backend(target)) is there
    back = to_backend(to_backend(there, source), "cpu")
    assert isinstance(back, np.ndarray) and back.dtype == X.dtype
    np.testing.assert_array_equal(back, X)
    np.testing.assert_array_equal(get_backend(source).to_host(here), X)  # the source is as it was


def test_a_backend_with_just_its_seven_members(plain):
    there = to_backend(X[:, ::2], "plain")
    assert isinstance(there, Beads) and backend_of(there) is plain and to_backend(there, "plain") is there
    np.testing.assert_array_equal(to_backend(there, "cpu"), X[:, ::2])
    for wrong in ([1.0], "x", None):
        with pytest.raises(TypeError, match="is not an array of any backend in use"):
            to_backend(wrong, "cpu")
